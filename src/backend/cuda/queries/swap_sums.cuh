// Sums in the contract's order: one chain of additions, each rounded.
#pragma once

#include "backend/cuda/device/device_points.h"

#include <cstdint>

namespace manymeans::cuda {

__device__ __forceinline__ double weight_of(const DevicePoints& points, int64_t row) {
  return points.weights == nullptr ? 1.0 : points.weights[row];
}

// Returns sum + terms[0] + .. + terms[count - 1], added in order.
__device__ __forceinline__ double add_in_order(double sum, const double* terms, int count) {
  int i = 0;
  for (; i + 8 <= count; i += 8) {
#pragma unroll
    for (int l = 0; l < 8; ++l) sum = __dadd_rn(sum, terms[i + l]);
  }
  for (; i < count; ++i) sum = __dadd_rn(sum, terms[i]);
  return sum;
}

}  // namespace manymeans::cuda
