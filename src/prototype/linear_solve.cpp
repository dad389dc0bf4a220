#include "prototype/linear_solve.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

namespace manymeans {
namespace {

// Half of an even exponent, so that 2^-2h brings the number into [1/4, 2).
int64_t half_exponent(const Dyadic& value) {
  return value.exponent() >> 1;
}

// M = W A - s s^T for the sums of products A and the sums s of a cluster of weight W. This is W^2 times the covariances
// of features and target. Without an intercept, A itself.
class CentredProducts {
 public:
  CentredProducts(const ProductSums& sums, const LinearOptions& options) : d_(sums.features()) {
    values_.reserve(static_cast<size_t>((d_ + 1) * (d_ + 2) / 2));
    const Dyadic& weight = sums(d_ + 1, d_ + 1);
    const Dyadic growth = Dyadic(1.0) + Dyadic(options.ridge);
    for (int64_t i = 0; i <= d_; ++i) {
      for (int64_t j = i; j <= d_; ++j) {
        Dyadic value = sums(i, j);
        if (options.intercept) value = weight * value - sums(i, d_ + 1) * sums(j, d_ + 1);
        if (i == j && i < d_ && options.ridge > 0) value = value * growth;
        values_.push_back(value);
      }
    }
    for (int64_t i = 0; i <= d_; ++i) scales_.push_back(-half_exponent((*this)(i, i)));
  }

  int64_t features() const { return d_; }
  const Dyadic& operator()(int64_t i, int64_t j) const {
    const auto [row, column] = std::minmax(i, j);
    return values_[static_cast<size_t>(row * (2 * d_ + 1 - row) / 2 + column)];
  }
  /// Binary exponents by which rows and columns are scaled.
  int64_t scale(int64_t i) const { return scales_[static_cast<size_t>(i)]; }
  double scaled(int64_t i, int64_t j) const { return (*this)(i, j).rounded(scale(i) + scale(j)); }
  /// The column does not vary; sums that were rounded may even be below zero.
  bool is_constant(int64_t i) const { return (*this)(i, i).is_zero() || (*this)(i, i).negative(); }

 private:
  int64_t d_;
  std::vector<Dyadic> values_;  // the upper triangle, row by row: half as much to keep in the first cache
  std::vector<int64_t> scales_;
};

// A lower triangle L with L L^T = the scaled matrix of the columns that are kept.
class Cholesky {
 public:
  Cholesky(const CentredProducts& products, int64_t d) {
    for (int64_t j = 0; j < d; ++j) {
      if (!products.is_constant(j)) add(products, j);
    }
  }

  const std::vector<int64_t>& kept() const { return kept_; }
  /// Solves L L^T x = x, in place; one value a kept column.
  void solve(std::vector<double>& x) const {
    const size_t count = kept_.size();
    for (size_t i = 0; i < count; ++i) {
      for (size_t p = 0; p < i; ++p) x[i] = std::fma(-rows_[i][p], x[p], x[i]);
      x[i] /= rows_[i][i];
    }
    for (size_t i = count; i-- > 0;) {
      for (size_t p = i + 1; p < count; ++p) x[i] = std::fma(-rows_[p][i], x[p], x[i]);
      x[i] /= rows_[i][i];
    }
  }

 private:
  void add(const CentredProducts& products, int64_t j) {
    std::vector<double> row;
    for (size_t i = 0; i < kept_.size(); ++i) {
      double value = products.scaled(kept_[i], j);
      for (size_t p = 0; p < i; ++p) value = std::fma(-rows_[i][p], row[p], value);
      row.push_back(value / rows_[i][i]);
    }
    const double diagonal = products.scaled(j, j);
    double pivot = diagonal;
    for (const double value : row) pivot = std::fma(-value, value, pivot);
    if (!(pivot > kMinPivot * diagonal)) return;
    row.push_back(std::sqrt(pivot));
    rows_.push_back(std::move(row));
    kept_.push_back(j);
  }

  std::vector<int64_t> kept_;
  std::vector<std::vector<double>> rows_;  // of L, each up to its diagonal
};

// Returns the coefficients of the kept columns: a first solution, and what its exact residuals add. Returns none if one
// of them gets larger than it may.
std::optional<std::vector<double>> refined_solution(const CentredProducts& products, const Cholesky& factor,
                                                    double largest) {
  const std::vector<int64_t>& kept = factor.kept();
  const int64_t d = products.features();
  const size_t count = kept.size();
  std::vector<double> b(count, 0.0);
  for (int step = 0; step <= kMaxRefinements; ++step) {
    const std::vector<double> before = b;
    std::vector<double> residuals;
    for (size_t i = 0; i < count; ++i) {
      DyadicDot rest(products(kept[i], d));
      for (size_t j = 0; j < count; ++j) rest.subtract(products(kept[i], kept[j]), b[j]);
      residuals.push_back(rest.sum().rounded(products.scale(kept[i]) + products.scale(d)));
    }
    factor.solve(residuals);
    for (size_t j = 0; j < count; ++j) {
      b[j] += std::ldexp(residuals[j], static_cast<int>(products.scale(kept[j]) - products.scale(d)));
      if (!(std::fabs(b[j]) <= largest)) return std::nullopt;
    }
    if (b == before) break;
  }
  return b;
}

// The mean of what the coefficients leave of the target.
double solved_intercept(const ProductSums& sums, const std::vector<double>& coefficients) {
  const int64_t d = sums.features();
  DyadicDot of_rest(sums(d, d + 1));
  for (int64_t j = 0; j < d; ++j) of_rest.subtract(sums(j, d + 1), coefficients[static_cast<size_t>(j)]);
  return ratio(of_rest.sum(), sums(d + 1, d + 1));
}

// A model without coefficients: all columns are left out.
LinearFit mean_of_target(const ProductSums& sums, const LinearOptions& options) {
  LinearFit fit;
  fit.coefficients.assign(static_cast<size_t>(sums.features()), 0.0);
  fit.kept.assign(static_cast<size_t>(sums.features()), false);
  if (options.intercept) fit.intercept = solved_intercept(sums, fit.coefficients);
  return fit;
}

// sqrt(v * factor), where v may be beyond the range of binary64.
double root(const Dyadic& v, double factor) {
  if (v.is_zero()) return 0;
  const int64_t even = v.exponent() / 2 * 2;
  return std::ldexp(std::sqrt(v.rounded(-even) * factor), static_cast<int>(even / 2));
}

}  // namespace

double ratio(const Dyadic& v, const Dyadic& w) {
  if (v.is_zero()) return 0;
  const int64_t v_shift = -v.exponent(), w_shift = -w.exponent();
  return std::ldexp(v.rounded(v_shift) / w.rounded(w_shift), static_cast<int>(w_shift - v_shift));
}

LinearFit solve_linear(const ProductSums& sums, const LinearOptions& options) {
  const int64_t d = sums.features();
  const CentredProducts products(sums, options);
  const Cholesky factor(products, d);
  const std::vector<int64_t>& kept = factor.kept();
  LinearFit fit = mean_of_target(sums, options);
  for (const int64_t j : kept) fit.kept[static_cast<size_t>(j)] = true;
  if (products.is_constant(d)) return fit;
  const std::optional<std::vector<double>> b = refined_solution(products, factor, options.largest);
  if (!b) return mean_of_target(sums, options);
  for (size_t i = 0; i < kept.size(); ++i) fit.coefficients[static_cast<size_t>(kept[i])] = (*b)[i];
  if (!options.intercept) return fit;
  fit.intercept = solved_intercept(sums, fit.coefficients);
  // A value that is not finite is too large, too.
  return std::fabs(fit.intercept) <= options.largest ? fit : mean_of_target(sums, options);
}

Dyadic squared_residuals(const ProductSums& sums, std::span<const double> model) {
  const auto d = static_cast<size_t>(sums.features());
  std::vector<double> factors;  // of the features, the target and 1
  for (size_t j = 0; j < d; ++j) factors.push_back(-model[j]);
  factors.push_back(1);
  factors.push_back(-model[d]);
  Dyadic total;
  for (size_t i = 0; i < d + 2; ++i) {
    DyadicDot row{Dyadic()};
    for (size_t j = 0; j < d + 2; ++j) {
      row.add(sums(static_cast<int64_t>(std::min(i, j)), static_cast<int64_t>(std::max(i, j))), factors[j]);
    }
    total = total + row.sum() * Dyadic(factors[i]);
  }
  return total.negative() ? Dyadic() : total;  // sums that were rounded
}

std::vector<double> standard_errors(const ProductSums& sums, const LinearOptions& options, const ErrorBasis& basis) {
  const int64_t d = sums.features(), one = d + 1;
  std::vector<double> errors(static_cast<size_t>(d + 1), std::numeric_limits<double>::quiet_NaN());
  const CentredProducts products(sums, options);
  const Cholesky factor(products, d);
  const std::vector<int64_t>& kept = factor.kept();
  const double freedom = basis.weight - static_cast<double>(kept.size()) - (options.intercept ? 1 : 0);
  if (options.ridge > 0 || !(freedom > 0)) return errors;
  const Dyadic& weight = sums(one, one);
  // The products are those of the features around their means, times the weight.
  const Dyadic squares = options.intercept ? basis.squares * weight : basis.squares;
  std::vector<double> middle;  // of the features from where the intercept is told, in the units of the scaled products
  for (size_t i = 0; i < kept.size(); ++i) {
    std::vector<double> column(kept.size(), 0.0);
    column[i] = 1;
    factor.solve(column);
    const auto scale = static_cast<int>(products.scale(kept[i]));
    errors[static_cast<size_t>(kept[i])] = std::ldexp(root(squares, column[i] / freedom), scale);
    const double mean = options.intercept ? ratio(sums(kept[i], one), weight) : 0;
    middle.push_back(std::ldexp(mean + basis.origin[static_cast<size_t>(kept[i])], scale));
  }
  std::vector<double> solved = middle;
  factor.solve(solved);
  double far = 0;
  for (size_t i = 0; i < kept.size(); ++i) far = std::fma(middle[i], solved[i], far);
  const double of_mean = options.intercept ? std::sqrt(ratio(basis.squares, weight) / freedom) : 0;
  const double of_slopes = root(squares, far / freedom);
  errors.back() = std::sqrt(of_mean * of_mean + of_slopes * of_slopes);
  return errors;
}

}  // namespace manymeans
