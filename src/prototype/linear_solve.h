// Weighted least squares from exact sums of products: contract, "Linear models".
#pragma once

#include "core/dyadic.h"
#include "data/linear_options.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// The exact sums over a cluster's rows of w' u_i u_j, where u are D features, the target and 1.
class ProductSums {
 public:
  explicit ProductSums(int64_t features) : features_(features), sums_(static_cast<size_t>(count(features))) {}

  /// How many sums there are: of all pairs i <= j of D + 2 values.
  static int64_t count(int64_t features) { return (features + 2) * (features + 3) / 2; }
  /// The place of the pair i <= j: row by row of an upper triangle. The last pair is 1 and 1, the weight.
  static int64_t place(int64_t features, int64_t i, int64_t j) { return i * (features + 2) - i * (i + 1) / 2 + j; }

  int64_t features() const { return features_; }
  Dyadic& operator()(int64_t i, int64_t j) { return sums_[static_cast<size_t>(place(features_, i, j))]; }
  const Dyadic& operator()(int64_t i, int64_t j) const { return sums_[static_cast<size_t>(place(features_, i, j))]; }

 private:
  int64_t features_;
  std::vector<Dyadic> sums_;
};

struct LinearFit {
  std::vector<double>
      coefficients;  ///< D; 0 for columns that are left out: all where one would exceed LinearOptions::largest
  double intercept = 0;
  std::vector<bool> kept;  ///< which columns have a coefficient of their own
};

/// v / w, from exact numbers of any size.
double ratio(const Dyadic& v, const Dyadic& w);

/// The least squares of one cluster that weighs something. O(D^3) binary64 operations and O(D^2) exact ones.
LinearFit solve_linear(const ProductSums& sums, const LinearOptions& options);

/// The exact sum of w' (y - b x - b_0)^2 for any model: D coefficients and an intercept.
Dyadic squared_residuals(const ProductSums& sums, std::span<const double> model);

/// What the errors of a cluster's coefficients depend on, in addition to its sums.
struct ErrorBasis {
  std::span<const double> origin;  ///< D: where the intercept is told, as an offset that is added to the features
  Dyadic squares;                  ///< squared_residuals()
  double weight;                   ///< of the cluster, in units in which a row has 1
};
/// The standard errors of D coefficients and the intercept: sqrt(squares / (weight - p) * (X^T X)^-1_jj), where p
/// columns are kept, the intercept included. NaN for columns that are left out, where p reaches the weight, and for a
/// ridge. Without an intercept X has no column of 1, and the intercept's error is that of the sum of b_j origin_j.
std::vector<double> standard_errors(const ProductSums& sums, const LinearOptions& options, const ErrorBasis& basis);

}  // namespace manymeans
