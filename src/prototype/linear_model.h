// A linear model as prototype: a row is D features and a target, and belongs to the model that predicts its target
// best. Contract: "Linear models".
#pragma once

#include "core/distance.h"
#include "prototype/linear_solve.h"
#include "prototype/prototype.h"

#include <cmath>
#include <cstdint>

namespace manymeans {

/// Returns the target that a model, D coefficients and an intercept, predicts for a row.
inline double linear_prediction(const auto* x, const auto* model, int64_t features) {
  double p[8] = {};
  for (int64_t j = 0; j < features; ++j) {
    p[j % 8] = std::fma(static_cast<double>(model[j]), static_cast<double>(x[j]), p[j % 8]);
  }
  const double sum = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
  return sum + static_cast<double>(model[features]);
}

struct LinearModel {
  static constexpr std::string_view kName = "linear";
  static constexpr bool kEuclidean = false;
  static constexpr bool kLinear = true;
  static constexpr double kMaxResidual = 0x1p1000;  // what is no smaller counts as this

  static int64_t width(int64_t d) { return d; }  // D coefficients and the intercept
  /// Of each pair of values two: the product, and what it was rounded by.
  static int64_t terms(int64_t d) { return 2 * (ProductSums::count(d - 1) - 1); }
  static double distance(const auto* row, const auto* model, int64_t d) {
    const double residual = static_cast<double>(row[d - 1]) - linear_prediction(row, model, d - 1);
    const double squared = residual * residual;
    return squared < kMaxResidual ? squared : kMaxResidual;
  }
  static void row_terms(const auto* row, int64_t d, double weight, double* terms) {
    const auto value = [&](int64_t i) { return i == d ? 1.0 : static_cast<double>(row[i]); };
    for (int64_t i = 0; i < d; ++i) {
      for (int64_t j = i; j <= d; ++j) {
        const double product = value(i) * value(j);
        const double rest = std::fma(value(i), value(j), -product);
        const double weighted = weight * product;
        *terms++ = weighted;
        *terms++ = std::fma(weight, product, -weighted) + weight * rest;
      }
    }
  }
  /// The constant that is the row's target.
  static void prototype_of_row(const auto* row, int64_t d, auto* model) {
    for (int64_t j = 0; j + 1 < d; ++j) model[j] = 0;
    model[d - 1] = row[d - 1];
  }
  static void solve(const ClusterSums& sums, double* model);
  static double shift(const auto* before, const auto* after, int64_t width) {
    return canonical_distance(before, after, width);
  }
};

/// The exact sums of a cluster's products.
ProductSums product_sums(const ClusterSums& sums);

/// Returns bounds on the terms of rows, from the bounds of the columns without weights: contract, "Linear models".
ColumnScan product_bounds(const Input& input, const ColumnScan& columns);

/// Its table.
const Prototype& linear_model();

}  // namespace manymeans
