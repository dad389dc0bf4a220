// Places of packed lines, and values of other types.
#pragma once

#include "product/cuda/packed_product.h"

#include <cstdint>

namespace manymeans::cuda {

/// The byte at which a chunk of a line begins, in its slice.
__device__ __forceinline__ int64_t unit_place(int32_t chunks, int32_t line, int64_t chunk) {
  return (int64_t{line / kBandLines} * chunks + chunk) * kBandBytes + line % kBandLines * kChunkBytes;
}

/// float16 as float32, exactly.
__device__ __forceinline__ float widened_half(uint16_t bits) {
  float value = 0;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

}  // namespace manymeans::cuda
