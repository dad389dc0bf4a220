// How the values of a row become integers in limbs, for every kernel that adds up clusters.
#pragma once

#include "backend/cuda/device/wide.cuh"
#include "backend/cuda/exact/accumulate.h"

#include <cstdint>

namespace manymeans::cuda {

/// 2^exponent of a column for scaled_term(), where a kernel keeps it; 0 where the columns have no `tops`.
__device__ __forceinline__ double top_of(const ColumnTerms& terms, int64_t j) {
  return terms.tops != nullptr ? terms.tops[j] : 0;
}

/// v * 2^exponent of column j, whose top_of() is `top`.
__device__ __forceinline__ double scaled_term(const ColumnTerms& terms, double v, double top, int64_t j) {
  return terms.tops != nullptr ? __dmul_rn(v, top) : scaled_by_power(v, terms.exponents[j]);
}

/// Calls add(g, part) for each limb of a scaled term, the highest first. Each remainder is exact; only the last limb
/// rounds. The parts of -y are the negated parts of y. kLimbs: terms.limbs if the compiler should know it, else 0.
template <int kLimbs, class Add>
__device__ __forceinline__ void split_term(const ColumnTerms& terms, double y, const Add& add) {
  const int limbs = kLimbs > 0 ? kLimbs : terms.limbs;
#pragma unroll(kLimbs > 0 ? kLimbs : 1)
  for (int g = limbs - 1; g > 0; --g) {
    const int64_t part = __double2ll_rz(y);
    add(g, part);
    y = __dmul_rn(__dsub_rn(y, __ll2double_rn(part)), terms.radix);
  }
  add(0, static_cast<int64_t>(__double2ll_rn(y)));
}

/// w' 2^shift of a row; `weights` may be null: all one.
__device__ __forceinline__ int64_t integer_weight(const double* weights, int shift, int64_t row) {
  return weights == nullptr ? 1 : __double2ll_rn(scaled_by_power(weights[row], shift));
}

__device__ __forceinline__ int64_t integer_weight(const AccumulateTask& task, int64_t row) {
  return integer_weight(task.points.weights, task.weight_shift, row);
}

}  // namespace manymeans::cuda
