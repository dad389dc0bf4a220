// How far a score of the tensor-core screen can be from the true one: docs/developer/screens.md, "Tensor cores".
#pragma once

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>

namespace manymeans::cuda {

/// Columns of a product, which is one step of a sum.
constexpr int64_t kStepColumns = 16;

/// Assumed error of a product of 16 columns, added to a sum: at most this many roundings of kProductUnit. The unit is
/// relative to the largest magnitude among the 16 products, the sum before and the sum after. `manymeans_screen_check`
/// looks for violations. `probed`: it has checked this kind of device.
constexpr int product_roundings(bool probed) {
  return probed ? 6 : 17;
}
constexpr double kProductUnit = 0x1p-22;

/// Errors that the epilogue adds: a column's place in the lowest bits, up to six of them, twice; the offset; upward
/// rounding; and some units to spare.
constexpr double kPlaceUnit = (2 * 63 + 8) * 0x1p-23 * (1 + 0x1p-7);

/// Roundings of a score of d columns, in all; the bound is this over one minus this.
__host__ __device__ inline double matrix_roundings(int64_t d, int of_product) {
  return static_cast<double>((d + kStepColumns - 1) / kStepColumns * of_product) * kProductUnit;
}

/// Returns true if d columns have a bound on any device: at a sum of roundings of 1 it is infinite, beyond that wrong.
inline bool matrix_bound_holds(int64_t d) {
  return matrix_roundings(d, product_roundings(false)) < 1;
}

/// The number of a score's steps whose sums contain column j.
__host__ __device__ inline double steps_with(int64_t j, int64_t d) {
  return static_cast<double>((d + kStepColumns - 1) / kStepColumns - j / kStepColumns);
}

/// A vector y that became y~ in fp16. All are rounded up.
struct HalfVector {
  double norm = 0;    ///< |y|
  double rest = 0;    ///< |y - y~|
  double growth = 0;  ///< the root of the mean, over all steps, of the squared norm of the part of y~ that is added up
};

/// How a row's radius follows from it: so that no part is wasted on a row of equal values with the usual r / n.
struct RadiusRule {
  double ratio = 1;         ///< times the norm
  double growth_ratio = 1;  ///< times the growth
  int of_product = product_roundings(false);

  RadiusRule() = default;
  RadiusRule(double usual, int roundings_of_product, int64_t d) : ratio(usual), of_product(roundings_of_product) {
    const double steps = steps_with(0, d);
    growth_ratio = ratio * std::sqrt(2 * steps / (steps + 1));
  }

  __host__ __device__ double radius_of(const HalfVector& row) const {
    return fmax(row.rest, fmax(ratio * row.norm, growth_ratio * row.growth) * (1 + 0x1p-50));
  }
};

struct MatrixBound {
  double slope;
  double error;
};

/// The bound of a column. Score and true score differ by at most m * slope + error, where m is the row's radius.
__host__ __device__ inline MatrixBound matrix_bound(const HalfVector& column, int64_t d, const RadiusRule& rule) {
  constexpr double kInflation = 1 + 0x1p-10;  // pays for every rounding of the bounds themselves
  const double roundings = matrix_roundings(d, rule.of_product);
  const double rounded = column.norm + column.rest;
  const double half = column.norm * column.norm / 2;
  const double canonical = (static_cast<double>(d) / 8 + 8) * 0x1p-52;
  const double of_rest = rounded * (1 + kPlaceUnit);
  const double of_norm = column.rest + rounded * kPlaceUnit;
  const double of_growth = column.growth * roundings / (1 - roundings);
  const double error = (kPlaceUnit + 0x1p-21 + static_cast<double>(d) * 0x1p-51) * half + canonical * 2 * half +
                       static_cast<double>(d + 32) * 0x1p-84;
  return {(of_rest + of_norm / rule.ratio + of_growth / rule.growth_ratio) * kInflation, error * kInflation};
}

/// A row's share of the margin is slack * n^2 + underflow: this is the slack.
inline double matrix_slack(int64_t d) {
  return 2 * (static_cast<double>(d) / 8 + 8) * 0x1p-52 * (1 + 0x1p-10);
}

}  // namespace manymeans::cuda
