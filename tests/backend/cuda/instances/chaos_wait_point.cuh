// The chaos build's wait_point(): a nap at random, so that warps meet in orders that they seldom meet in. CMake copies
// it to where it is found before src/backend/cuda/runtime/wait_point.cuh, and puts it before every file of device code,
// so that it takes the place of the barriers of blocks and warps too.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

/// One time in eight up to two microseconds, one time in 512 up to 65. Threads of a warp nap together, so that
/// instructions that a warp must do at once still are.
__device__ __forceinline__ void nap(uint32_t who) {
  uint32_t clock;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(clock)::"memory");
  const uint32_t bits = (clock ^ who) * 0x9e3779b1U;
  if (bits >> 29 != 0) return;
  const uint32_t longer = (bits >> 5 & 63) == 0 ? 5 : 0;
  asm volatile("nanosleep.u32 %0;" ::"r"((bits >> 16 & 0x7ff) << longer) : "memory");
}

__device__ __forceinline__ void wait_point() {
  nap(threadIdx.x / 32 * 0x85ebca6bU + blockIdx.x * 0xc2b2ae35U);
}

__device__ __forceinline__ void chaotic_block_barrier() {
  wait_point();
  __syncthreads();
  wait_point();
}

__device__ __forceinline__ int chaotic_block_or(int value) {
  wait_point();
  const int any = __syncthreads_or(value);
  wait_point();
  return any;
}

// Threads of a warp by themselves: what they share before it has to be waited for.
__device__ __forceinline__ void chaotic_warp_barrier(unsigned mask = 0xffffffffU) {
  nap(threadIdx.x * 0x85ebca6bU);
  __syncwarp(mask);
}

}  // namespace manymeans::cuda

#define __syncthreads() ::manymeans::cuda::chaotic_block_barrier()
#define __syncthreads_or(value) ::manymeans::cuda::chaotic_block_or(value)
#define __syncwarp(...) ::manymeans::cuda::chaotic_warp_barrier(__VA_ARGS__)
