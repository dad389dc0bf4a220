#include "regress/regression_summary.h"

#include "prototype/linear_model.h"
#include "prototype/linear_solve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>

namespace manymeans {
namespace {

ProductSums sums_of_cluster(const FinishedModel& model, int64_t k) {
  const Statistics& statistics = model.statistics;
  const int64_t weight = statistics.weights[static_cast<size_t>(k)];
  return product_sums({statistics.row(k), model.input.columns.data(), statistics.d, weight, static_cast<double>(weight),
                       model.input.weight_shift, nullptr, model.input.linear});
}

void add(const ProductSums& from, ProductSums& into) {
  for (int64_t i = 0; i < into.features() + 2; ++i) {
    for (int64_t j = i; j < into.features() + 2; ++j) into(i, j) = into(i, j) + from(i, j);
  }
}

// The weighted sum of squares of column i around its mean, times the weight.
Dyadic centred_square(const ProductSums& sums, int64_t i) {
  const int64_t one = sums.features() + 1;
  const Dyadic square = sums(one, one) * sums(i, i) - sums(i, one) * sums(i, one);
  return square.negative() ? Dyadic() : square;
}

std::vector<int64_t> columns_left_out(const ProductSums& sums, const LinearOptions& options) {
  const LinearFit fit = solve_linear(sums, options);
  std::vector<int64_t> left_out;
  for (size_t j = 0; j < fit.kept.size(); ++j) {
    if (!fit.kept[j]) left_out.push_back(static_cast<int64_t>(j));
  }
  return left_out;
}

// Finds what is wrong with the rows. A column is constant where its range says so, or the sums of the rows that weigh
// something. Sums that are 0 because the squares of tiny values underflow do not say so.
RowTroubles troubles_of(const Input& input, const ProductSums& all) {
  constexpr double kTiny = 0x1p-400;
  RowTroubles found;
  const size_t columns = input.minimum.size();
  found.all_equal = true;
  for (size_t j = 0; j < columns; ++j) {
    const double largest = std::max(std::fabs(input.minimum[j]), std::fabs(input.maximum[j]));
    const bool tiny = largest > 0 && largest <= kTiny;
    if (tiny) found.tiny.push_back(static_cast<int64_t>(j));
    found.constant_target =
        input.minimum[j] == input.maximum[j] || (!tiny && centred_square(all, static_cast<int64_t>(j)).is_zero());
    found.all_equal &= found.constant_target;
  }
  return found;
}

double r2_of(double inertia, double total) {
  if (total > 0) return 1 - inertia / total;
  return inertia == 0 ? 1 : 0;
}

// Says of a cluster's model how well it fits, and how sure its coefficients are.
void summarise_cluster(const FinishedModel& model, int64_t k, const ProductSums& sums, const FeatureUnits& units,
                       RegressionSummary& summary) {
  const int64_t d = sums.features(), one = d + 1;
  const Matrix& prototypes = model.member.prototypes;
  std::vector<double> own;
  for (int64_t j = 0; j <= d; ++j) own.push_back(prototypes.at(k, j));
  const Dyadic squares = squared_residuals(sums, own);
  const Dyadic around = centred_square(sums, d);
  const auto at = static_cast<size_t>(k);
  LinearCluster& cluster = summary.clusters[at];
  cluster.target_mean = ratio(sums(d, one), sums(one, one));
  cluster.deviation = std::sqrt(ratio(squares, sums(one, one)));
  if (!around.is_zero()) cluster.r2 = 1 - ratio(squares * sums(one, one), around);
  const double weight = std::ldexp(sums(one, one).rounded(), model.input.weight_exponent);
  std::vector<double> origin(static_cast<size_t>(d), 0.0);
  const bool scaled = !units.divisor.empty();
  for (size_t j = 0; scaled && j < origin.size(); ++j) origin[j] = units.offset[j] / units.divisor[j];
  std::vector<double> errors = standard_errors(sums, model.input.linear, {origin, squares, weight});
  for (size_t j = 0; scaled && j < origin.size(); ++j) errors[j] /= units.divisor[j];
  std::ranges::copy(errors, summary.standard_errors.values<double>().begin() + k * (d + 1));
}

// Of clusters whose coefficients are not all determined, and not for a reason that all rows share.
void add_warnings(const FinishedModel& model, SummarisedModel& result) {
  const int64_t needed = model.input.points.d - 1 + (model.input.linear.intercept ? 1 : 0);
  for (size_t k = 0; k < result.summary.left_out.size(); ++k) {
    if (model.statistics.weights[k] == 0) continue;
    const int64_t rows = model.statistics.counts[k];
    std::vector<int64_t> own;
    std::ranges::set_difference(result.summary.left_out[k], result.rows.dependent, std::back_inserter(own));
    if (rows < needed) {
      result.few_rows.push_back(fmt::format("model {}: cluster {} has {} rows, fewer than its {} coefficients",
                                            model.member.title(), k, rows, needed));
    } else if (!own.empty()) {
      result.own_columns.push_back(
          fmt::format("model {}: cluster {} has no coefficients for the columns {} (counted from 0), which are "
                      "constant there, combinations of others, or would need a coefficient or an intercept too large "
                      "for {}",
                      model.member.title(), k, listed(own), name_of(model.member.prototypes.type())));
    }
  }
}

// n and s in the weights' own units.
double bic_of(const FinishedModel& model, double n) {
  const ModelResult& result = model.member.result;
  const auto d = static_cast<double>(model.input.points.d - 1 + (model.input.linear.intercept ? 1 : 0));
  const auto k = static_cast<double>(result.k);
  const double parameters = k * (d + 1) - 1;
  return n * (std::log(2 * std::numbers::pi * result.inertia / n) + 1) + parameters * std::log(n);
}

}  // namespace

std::string listed(const std::vector<int64_t>& columns) {
  constexpr size_t kMax = 10;
  const std::string text = fmt::format("{}", fmt::join(std::span(columns).first(std::min(kMax, columns.size())), ", "));
  return columns.size() <= kMax ? text : fmt::format("{} and {} more", text, columns.size() - kMax);
}

SummarisedModel summarise(const FinishedModel& model, const FeatureUnits& units) {
  const int64_t features = model.input.points.d - 1;
  const int64_t k = model.statistics.k;
  SummarisedModel result;
  RegressionSummary& summary = result.summary;
  summary.gate.means = Matrix(k, features, DataType::kFloat64);
  summary.gate.weights = model.member.result.weights;
  summary.clusters.resize(static_cast<size_t>(k));
  summary.standard_errors = Matrix(k, features + 1, DataType::kFloat64);
  std::ranges::fill(summary.standard_errors.values<double>(), std::numeric_limits<double>::quiet_NaN());
  ProductSums all(features);
  const int64_t one = features + 1;
  for (int64_t cluster = 0; cluster < k; ++cluster) {
    std::vector<int64_t>& left_out = summary.left_out.emplace_back();
    if (model.statistics.weights[static_cast<size_t>(cluster)] == 0) continue;
    const ProductSums sums = sums_of_cluster(model, cluster);
    left_out = columns_left_out(sums, model.input.linear);
    summarise_cluster(model, cluster, sums, units, summary);
    add(sums, all);
    const std::span<double> means = summary.gate.means.values<double>();
    for (int64_t j = 0; j < features; ++j) {
      means[static_cast<size_t>(cluster * features + j)] = ratio(sums(j, one), sums(one, one));
    }
  }
  const Dyadic weight = all(one, one);
  result.rows = troubles_of(model.input, all);
  const bool any_left_out = std::ranges::any_of(summary.left_out, [](const auto& columns) { return !columns.empty(); });
  LinearOptions any_size = model.input.linear;
  any_size.largest = std::numeric_limits<double>::infinity();
  if (any_left_out) result.rows.dependent = columns_left_out(all, any_size);
  add_warnings(model, result);
  for (int64_t j = 0; j < features; ++j) {
    const double deviation = std::sqrt(ratio(centred_square(all, j), weight * weight));
    summary.gate.scales.push_back(deviation > 0 ? deviation : 1);
  }
  const int exponent = model.input.weight_exponent;
  const double total = std::ldexp(ratio(centred_square(all, features), weight), exponent);
  summary.r2 = r2_of(model.member.result.inertia, total);
  summary.bic = bic_of(model, std::ldexp(weight.rounded(), exponent));
  if (!result.rows.constant_target && total == 0) {  // its squares have underflowed, or the weights are tiny
    summary.r2 = summary.bic = std::numeric_limits<double>::quiet_NaN();
  }
  constexpr double kExact = 1 - 1e-12;
  const std::vector<int64_t>& weights = model.statistics.weights;
  result.one_fits_all = summary.r2 >= kExact && weights.size() > 1 &&
                        std::ranges::count_if(weights, [](int64_t of_cluster) { return of_cluster > 0; }) == 1;
  return result;
}

}  // namespace manymeans
