// The matrix instruction of a warp, fp16 times fp16, added in float32; every device from compute capability 8.0 on has
// it.
#pragma once

#include <cstdint>

namespace manymeans::cuda {

/// Four 8 x 8 blocks of halves: a 16 x 16 left side, or two 8 x 16 right sides.
__device__ __forceinline__ void load_four_blocks(uint32_t (&to)[4], const void* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(from)))
               : "memory");
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
