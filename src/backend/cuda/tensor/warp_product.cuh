// The matrix instructions of a warp, fp16 or tf32, added in float32. Every device from compute capability 8.0 on has
// them.
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

/// Rounded to 11 bits, with float32's exponents.
__device__ __forceinline__ float to_tf32(float v) {
  uint32_t bits = 0;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
  return __uint_as_float(bits);
}

/// sums = a (16 x 8) times b (8 x 8) plus c.
__device__ __forceinline__ void multiply_tf32(float (&sums)[4], const float (&a)[4], float b0, float b1,
                                              const float* c) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, "
      "%12, %13};"
      : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

}  // namespace manymeans::cuda
