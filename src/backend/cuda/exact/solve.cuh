// A value of the prototypes from the statistics, for every kernel that solves.
#pragma once

#include "backend/cuda/device/limbs.cuh"
#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/exact/solve.h"

#include <cstdint>

namespace manymeans::cuda {

/// v * 2^e, rounded once: v is 0 or at least 2^-64, so the first product is exact.
__device__ inline double scaled_once(double v, int e) {
  if (e < -1000) {
    v = scaled_by_power(v, e + 1000);
    e = -1000;
  }
  return scaled_by_power(v, e);
}

/// The value of cluster k and column j, whatever it is where the cluster has no weight. Everything is loaded before
/// anything is looked at.
__device__ inline double solved_value(const SolveTask& task, const PassRange& range, long long weight, int64_t k,
                                      int64_t j) {
  const auto* sums = reinterpret_cast<const int64_t*>(range.sums) + k * task.limbs * task.d + j;
  const int shift = task.shifts[j];
  const double sum = device_rounded_sum(sums, task.limbs, task.bits, task.d);
  const double value = scaled_once(__ddiv_rn(sum, __ll2double_rn(weight)), shift);
  // + 0: no negative zeros.
  return task.ranges.float64 ? __dadd_rn(value, 0.0) : static_cast<double>(__fadd_rn(__double2float_rn(value), 0.0F));
}

/// A value of a prototype before an update, and after it.
struct SolvedValue {
  double before, after;

  __device__ double squared_shift() const {
    const double t = __dsub_rn(after, before);
    return __dmul_rn(t, t);
  }
};

/// Overwrites a value of the range's prototypes, unless the cluster has no weight, and keeps what it was.
__device__ inline SolvedValue solve_value(const SolveTask& task, const PassRange& range, int64_t k, int64_t j) {
  const int64_t at = k * task.d + j;
  const long long weight = range.weights[k];
  const double before = prototype_value(range, task.ranges.float64, at);
  const double solved = solved_value(task, range, weight, k, j);
  const double after = weight == 0 ? before : solved;
  auto* const prototypes = const_cast<void*>(range.prototypes);
  if (task.ranges.float64) {
    static_cast<double*>(range.before)[at] = before;
    static_cast<double*>(prototypes)[at] = after;
  } else {
    static_cast<float*>(range.before)[at] = static_cast<float>(before);
    static_cast<float*>(prototypes)[at] = static_cast<float>(after);
  }
  return {before, after};
}

}  // namespace manymeans::cuda
