// Rounding a vector to fp16 by a warp, and what a rounded prototype's score can be off by.
#pragma once

#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/tensor/matrix_bounds.h"
#include "backend/cuda/tensor/matrix_pack.h"

#include <cuda_fp16.h>

#include <cstdint>

namespace manymeans::cuda {

constexpr double kMaxHalf = 65504;
constexpr double kMaxNorm = 0x1p62;  ///< the square stays below 2^126, within float32

/// The sums of squares of a HalfVector of d values, by eight neighbouring threads or more. V: the type in which they
/// are computed.
template <class V>
struct HalfSquares {
  V norm = 0, rest = 0, growth = 0;

  __device__ __forceinline__ void add(V y, V half, V steps) {
    const V off = y - half;
    norm = fma(y, y, norm);
    rest = fma(off, off, rest);
    growth = fma(steps * half, half, growth);
  }
  template <int kThreads>
  __device__ __forceinline__ void add_up() {
#pragma unroll
    for (int step = kThreads / 2; step > 0; step /= 2) {
      norm += __shfl_xor_sync(~0U, norm, step);
      rest += __shfl_xor_sync(~0U, rest, step);
      growth += __shfl_xor_sync(~0U, growth, step);
    }
  }
  /// Upper bounds. Sums have at most D / 8 + 8 roundings. y itself is rounded once. Squares below 2^-149 are lost in
  /// float32.
  __device__ __forceinline__ HalfVector roots(int64_t d) const {
    constexpr double kUnit = sizeof(V) == sizeof(float) ? 0x1p-23 : 0x1p-52;
    const double up = 1 + 0x1p-20 + static_cast<double>(d / 8 + 8) * kUnit;
    HalfVector vector;
    vector.norm = sqrt(static_cast<double>(norm)) * up + 0x1p-60;
    vector.rest = sqrt(static_cast<double>(rest)) * up + vector.norm * kUnit + 0x1p-60;
    vector.growth = sqrt(static_cast<double>(growth) / steps_with(0, d)) * up + 0x1p-60;
    return vector;
  }
};

/// Value j of a prototype of d values becomes fp16.
__device__ inline __half rounded_value(double y, int64_t j, int64_t d, HalfSquares<double>& squares) {
  const __half half = __double2half(fmin(fmax(y, -kMaxHalf), kMaxHalf));
  squares.add(y, static_cast<double>(__half2float(half)), steps_with(j, d));
  return half;
}

/// Stores a column's offset and bound, by one thread. `squares`: the sums of squares of its vector; `exists`: it is no
/// padding. Returns true if it can be screened.
__device__ inline bool store_bounds(const MatrixPackTask& task, int64_t column, bool exists,
                                    const HalfSquares<double>& squares) {
  const HalfVector vector = squares.roots(task.d);
  float offset = kNeverWins;
  MatrixBound bound{0, 0};
  const bool screenable = vector.norm < kMaxNorm;  // false for NaN
  if (exists && screenable) {
    offset = __double2float_rn(-squares.norm / 2);
    bound = matrix_bound(vector, task.d, task.frame.radius);
  }
  const_cast<float*>(task.columns.offsets)[column] = offset;
  const_cast<float*>(task.columns.slopes)[column] = __double2float_ru(bound.slope * task.bound_scale);
  const_cast<float*>(task.columns.errors)[column] = __double2float_ru(bound.error * task.bound_scale);
  return screenable;
}

/// A prototype's value in the screen's frame.
__device__ __forceinline__ double half_frame_value(const MatrixPackTask& task, double c, int64_t j) {
  return (c - task.frame.centre[j]) * task.frame.scale;
}

/// Prototype k of range r into its column `at`, or padding if there is no such prototype, by a warp.
__device__ inline void pack_column(const MatrixPackTask& task, unsigned r, int64_t at, int64_t k) {
  const PassRange range = task.ranges.at[r];
  const int64_t column = task.columns.ranges[r].first + at;
  auto* values = static_cast<__half*>(const_cast<void*>(task.columns.values)) + column * task.padded_columns;
  HalfSquares<double> squares;
  for (int64_t j = threadIdx.x % 32; j < task.padded_columns; j += 32) {
    const bool inside = k < range.k && j < task.d;
    const double c = inside ? prototype_value(range, task.ranges.float64, k * task.d + j) : 0;
    values[j] = rounded_value(inside ? half_frame_value(task, c, j) : 0, j, task.d, squares);
  }
  squares.add_up<32>();
  if (threadIdx.x % 32 != 0) return;
  if (!store_bounds(task, column, k < range.k, squares)) task.far[r] = 1;
  const_cast<uint32_t*>(task.columns.order)[column] = k < range.k ? static_cast<uint32_t>(k) : ~0U;
}

}  // namespace manymeans::cuda
