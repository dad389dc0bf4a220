// The matrix instruction of a warp, fp16 times fp16, added in float32; every device from compute capability 8.0 on has
// it.
#pragma once

#include "backend/cuda/runtime/ptx.cuh"

#include <cstdint>

namespace manymeans::cuda {

/// Four 8 x 8 blocks of halves: a 16 x 16 left side, or two 8 x 16 right sides.
__device__ __forceinline__ void load_four_blocks(uint32_t (&to)[4], const void* from) {
  load_blocks(to, shared_address(from));
}

/// sums += a (16 x 16) times b (16 x 8).
__device__ __forceinline__ void multiply_add(float* sums, const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace manymeans::cuda
