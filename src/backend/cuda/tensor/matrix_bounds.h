// How far a score of the tensor-core screen can be from the true one: docs/developer/screens.md, "Tensor cores".
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace manymeans::cuda {

/// Assumed error of a product of 16 columns, added to a sum: at most this many roundings of this unit. The unit is
/// relative to the largest magnitude among the 16 products, the sum before and the sum after. `manymeans_screen_check`
/// looks for violations.
constexpr int kProductRoundings = 17;
constexpr double kProductUnit = 0x1p-22;

/// Errors that the epilogue adds: a column's place in the lowest bits, up to six of them, twice; the offset; upward
/// rounding; and some units to spare.
constexpr double kPlaceUnit = (2 * 63 + 8) * 0x1p-23 * (1 + 0x1p-7);

/// Roundings of a score of d columns, in all; the bound is this over one minus this.
__host__ __device__ inline double matrix_roundings(int64_t d) {
  return static_cast<double>((d + 15) / 16 * kProductRoundings) * kProductUnit;
}

/// Returns true if d columns have a bound: at a sum of roundings of 1 it is infinite, and beyond that wrong.
inline bool matrix_bound_holds(int64_t d) {
  return matrix_roundings(d) < 1;
}

struct MatrixBound {
  double slope;
  double error;
};

/// The bound of a column. Score and true score differ by at most m * slope + error, where m >= r and m >= ratio * n.
/// Here r is the row's measured rounding, n its norm. `norm` = |z| and `rest` = |z - z~| of the column, rounded up.
__host__ __device__ inline MatrixBound matrix_bound(double norm, double rest, int64_t d, double ratio) {
  constexpr double kInflation = 1 + 0x1p-10;  // pays for every rounding of the bounds themselves
  const double roundings = matrix_roundings(d);
  const double sums = roundings / (1 - roundings) + kPlaceUnit;
  const double rounded = norm + rest;
  const double half = norm * norm / 2;
  const double canonical = (static_cast<double>(d) / 8 + 8) * 0x1p-52;
  const double of_rest = rounded * (1 + sums);
  const double of_norm = rest + rounded * sums;
  const double error = (kPlaceUnit + 0x1p-21 + static_cast<double>(d) * 0x1p-51) * half + canonical * 2 * half +
                       static_cast<double>(d + 32) * 0x1p-84;
  return {(of_rest + of_norm / ratio) * kInflation, error * kInflation};
}

/// A row's share of the margin is slack * n^2 + underflow: this is the slack.
inline double matrix_slack(int64_t d) {
  return 2 * (static_cast<double>(d) / 8 + 8) * 0x1p-52 * (1 + 0x1p-10);
}

}  // namespace manymeans::cuda
