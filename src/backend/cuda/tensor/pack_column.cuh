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

/// A prototype of d values that several threads round: the squares of its HalfVector, added up, and then themselves.
struct RoundedVector : HalfVector {
  /// Value j becomes fp16.
  __device__ __half round(double y, int64_t j, int64_t d) {
    const double clamped = fmin(fmax(y, -kMaxHalf), kMaxHalf);
    const __half half = __double2half(clamped);
    const auto value = static_cast<double>(__half2float(half));
    const double off = y - value;
    norm = fma(y, y, norm);
    rest = fma(off, off, rest);
    growth = fma(steps_with(j, d) * value, value, growth);
    return half;
  }
  __device__ void add_up_warp() {
    norm = warp_sum(norm);
    rest = warp_sum(rest);
    growth = warp_sum(growth);
  }
  /// From the sums of squares. Upper bounds; D 2^-53 of the squares' sums is far below the factor, and the last term
  /// covers underflow.
  __device__ void finish(int64_t d) {
    norm = sqrt(norm) * (1 + 0x1p-20) + 0x1p-70;
    rest = sqrt(rest) * (1 + 0x1p-20) + norm * 0x1p-50;
    growth = sqrt(growth / steps_with(0, d)) * (1 + 0x1p-20) + 0x1p-70;
  }
};

/// Stores a column's offset and bound, by one thread. `squares`: the sums of squares of its vector; `exists`: it is no
/// padding. Returns true if it can be screened.
__device__ inline bool store_bounds(const MatrixPackTask& task, int64_t column, bool exists, RoundedVector squares) {
  const double half = squares.norm / 2;
  squares.finish(task.d);
  float offset = kNeverWins;
  MatrixBound bound{0, 0};
  const bool screenable = squares.norm < kMaxNorm;  // false for NaN
  if (exists && screenable) {
    offset = __double2float_rn(-half);
    bound = matrix_bound(squares, task.d, task.frame.radius);
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
  RoundedVector squares;
  for (int64_t j = threadIdx.x % 32; j < task.padded_columns; j += 32) {
    const bool inside = k < range.k && j < task.d;
    values[j] = squares.round(
        inside ? half_frame_value(task, prototype_value(range, task.ranges.float64, k * task.d + j), j) : 0, j, task.d);
  }
  squares.add_up_warp();
  if (threadIdx.x % 32 != 0) return;
  if (!store_bounds(task, column, k < range.k, squares)) task.far[r] = 1;
  const_cast<uint32_t*>(task.columns.order)[column] = k < range.k ? static_cast<uint32_t>(k) : ~0U;
}

}  // namespace manymeans::cuda
