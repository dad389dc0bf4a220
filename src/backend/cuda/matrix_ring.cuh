// What the two kernels of the tensor-core screen share: rings of buffers between the warp that copies and those that
// multiply.
#pragma once

#include "backend/cuda/ptx.cuh"

#include <cstdint>

namespace manymeans::cuda {

constexpr int kPanel = 64;           // halves in 128 bytes, what one swizzled row holds
constexpr int kGroup = 128;          // threads that issue a product together
constexpr int kMostShared = 232448;  // of a block on compute capability 9.0

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

// One group waits here until the other has come by.
constexpr int kMeeting = 1;  // a barrier; 0 is that of __syncthreads
__device__ __forceinline__ void await_meeting() {
  asm volatile("bar.sync %0, %1;" ::"n"(kMeeting), "n"(2 * kGroup) : "memory");
}
__device__ __forceinline__ void pass_meeting() {
  asm volatile("bar.arrive %0, %1;" ::"n"(kMeeting), "n"(2 * kGroup) : "memory");
}

// The buffer may be written again. What was read from it must have been used: no instruction here waits for loads.
__device__ __forceinline__ void release(uint64_t* barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) barrier_arrive(barrier);
}

}  // namespace manymeans::cuda
