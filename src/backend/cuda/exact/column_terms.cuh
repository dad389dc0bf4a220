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

/// v * 2^-896 where T widens to float32, else v; with the sign bit flipped if `flipped` is 2^31. Integer operations: a
/// conversion to float64 has a quarter of their rate. Denormal numbers are right, too: an exponent of 0 stays 0.
template <class T>
__device__ __forceinline__ double narrowed(T v, uint32_t flipped) {
  if constexpr (sizeof(T) == sizeof(double)) {
    return __hiloint2double(static_cast<int>(static_cast<uint32_t>(__double2hiint(v)) ^ flipped), __double2loint(v));
  } else {
    const uint32_t bits = __float_as_uint(static_cast<float>(v));
    const auto high = static_cast<uint32_t>(static_cast<int32_t>(bits) >> 3) & 0x8fffffffU;
    return __hiloint2double(static_cast<int>(high ^ flipped), static_cast<int>(bits << 29));
  }
}

/// A narrowed() value times this factor is its scaled term, if terms.plain.
template <class T>
__device__ __forceinline__ double factor_of(const ColumnTerms& terms, int64_t j) {
  return sizeof(T) == sizeof(double) ? terms.tops[j] : terms.tops[j] * 0x1p896;
}

/// Calls add(g, part) for each limb of v * factor, the highest first. RNE(y) is in the lowest bits of y + 1.5 * 2^52
/// for |y| <= 2^51. Products and remainders are exact; only the last limb rounds.
template <int kLimbs, class Add>
__device__ __forceinline__ void split_rounded(const ColumnTerms& terms, double v, double factor, const Add& add) {
  constexpr double kBase = 0x1.8p52;
  const auto part_of = [](double based) { return __double_as_longlong(based) - __double_as_longlong(kBase); };
  const int limbs = kLimbs > 0 ? kLimbs : terms.limbs;
#pragma unroll(kLimbs > 0 ? kLimbs : 1)
  for (int g = limbs - 1; g > 0; --g) {
    const double based = __fma_rn(v, factor, kBase);
    add(g, part_of(based));
    v = __fma_rn(v, factor, __dsub_rn(kBase, based));
    factor = terms.radix;
  }
  add(0, part_of(__fma_rn(v, factor, kBase)));
}

/// Calls add(g, part) for each limb of y, a scaled term of any format. The parts of -y are the negated parts of y. All
/// kernels split terms alike: so a row that leaves takes away the limbs that it brought. kLimbs: terms.limbs if the
/// compiler should know it, else 0.
template <int kLimbs, class Add>
__device__ __forceinline__ void split_term(const ColumnTerms& terms, double y, const Add& add) {
  if (terms.bits <= kMaxRoundedBits) return split_rounded<kLimbs>(terms, y, 1.0, add);
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
