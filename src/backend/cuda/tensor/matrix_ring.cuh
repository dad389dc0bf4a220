// Rings of buffers between the warp that copies and those that multiply, for both kernels of the tensor-core screen.
#pragma once

#include "backend/cuda/runtime/ptx.cuh"
#include "backend/cuda/runtime/wait_point.cuh"
#include "backend/cuda/tensor/matrix_meeting.h"

#include <cstdint>

namespace manymeans::cuda {

// A position in a ring of buffers, and the parity of the phase it is in.
struct Ring {
  int at = 0;
  uint32_t parity = 0;

  template <int kLength>
  __device__ __forceinline__ void next() {
    if (++at == kLength) {
      at = 0;
      parity ^= 1;
    }
  }
};

// One group waits here until the other has come by, for each tile once: meeting_lag() says when that may be.
constexpr int kMeeting = 1;  // a barrier; __syncthreads has 0
__device__ __forceinline__ void await_meeting() {
  wait_point();
  asm volatile("bar.sync %0, %1;" ::"n"(kMeeting), "n"(2 * kWarpGroup) : "memory");
  wait_point();
}
__device__ __forceinline__ void pass_meeting() {
  wait_point();
  asm volatile("bar.arrive %0, %1;" ::"n"(kMeeting), "n"(2 * kWarpGroup) : "memory");
}

// The copy engine may write the buffer again, which only products have read, and wgmma_wait() has seen them end.
__device__ __forceinline__ void release_multiplied(uint64_t* barrier) {
  wait_point();
  __syncwarp();
  if (threadIdx.x % 32 == 0) barrier_arrive(barrier);
}

// Releases a buffer that threads have read too. Their loads go another way to shared memory than the copy engine's
// writes. Without a fence an arrival does not order both ways: a load may get what is written after it.
__device__ __forceinline__ void release_read(uint64_t* barrier) {
  fence_proxies();
  release_multiplied(barrier);
}

}  // namespace manymeans::cuda
