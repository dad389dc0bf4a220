#include "founding/founding_check.h"

#include <manymeans/fit.h>
#include <manymeans/regress.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace manymeans::founding {
namespace {

long double value_at(const PointsView& matrix, int64_t row, int64_t column) {
  const int64_t index = row * matrix.d + column;
  return matrix.type == DataType::kFloat64 ? static_cast<const double*>(matrix.data)[index]
                                           : static_cast<const float*>(matrix.data)[index];
}

// Half a unit in the last place.
long double rounding_unit(DataType type) {
  return type == DataType::kFloat64 ? std::numeric_limits<double>::epsilon() / 2
                                    : std::numeric_limits<float>::epsilon() / 2;
}

long double squared_distance(const CheckedRun& run, int64_t row, int64_t prototype) {
  long double sum = 0;
  for (int64_t j = 0; j < run.points.d; ++j) {
    const long double difference = value_at(run.points, row, j) - value_at(run.before, prototype, j);
    sum += difference * difference;
  }
  return sum;
}

// Prediction minus target, and the sum of the magnitudes of its terms.
struct SignedResidual {
  long double value = 0, magnitude = 0;
};

SignedResidual residual_of(const CheckedRun& run, const PointsView& models, int64_t row, int64_t model) {
  const int64_t features = run.points.d - 1;
  SignedResidual sum{-value_at(run.points, row, features), std::fabs(value_at(run.points, row, features))};
  for (int64_t j = 0; j < features; ++j) {
    const long double term = value_at(models, model, j) * value_at(run.points, row, j);
    sum.value += term;
    sum.magnitude += std::fabs(term);
  }
  return sum;
}

// Each value of `exact` is the sum of a column over a cluster's rows; `magnitudes` are the sums of magnitudes.
struct ColumnSums {
  std::vector<long double> exact, magnitudes;
  std::vector<int64_t> counts;
};

ColumnSums sum_of_clusters(const CheckedRun& run) {
  const auto values = static_cast<size_t>(run.before.n * run.before.d);
  ColumnSums sums{std::vector<long double>(values), std::vector<long double>(values),
                  std::vector<int64_t>(static_cast<size_t>(run.before.n))};
  for (int64_t i = 0; i < run.points.n; ++i) {
    const int64_t label = run.labels[static_cast<size_t>(i)];
    ++sums.counts[static_cast<size_t>(label)];
    for (int64_t j = 0; j < run.points.d; ++j) {
      const auto index = static_cast<size_t>(label * run.points.d + j);
      sums.exact[index] += value_at(run.points, i, j);
      sums.magnitudes[index] += std::fabs(value_at(run.points, i, j));
    }
  }
  return sums;
}

// A division in OpenCL may be off by 2.5 units in the last place, which are 5 rounding errors.
constexpr int kRoundedDivision = 6;

int64_t wrong_means(const CheckedRun& run) {
  const ColumnSums sums = sum_of_clusters(run);
  const long double unit = rounding_unit(run.points.type);
  int64_t wrong = 0;
  for (int64_t c = 0; c < run.after.n; ++c) {
    const int64_t count = sums.counts[static_cast<size_t>(c)];
    for (int64_t j = 0; j < run.after.d; ++j) {
      const auto index = static_cast<size_t>(c * run.after.d + j);
      const long double after = value_at(run.after, c, j), before = value_at(run.before, c, j);
      const auto rows = static_cast<long double>(std::max<int64_t>(count, 1));
      const long double mean = count == 0 ? before : sums.exact[index] / rows;
      const long double bound = (rows + kRoundedDivision) * unit * sums.magnitudes[index] / rows;
      const bool kept = after == before && std::fabs(mean - before) <= run.threshold + bound;
      if (!kept && !(std::fabs(after - mean) <= bound)) ++wrong;
    }
  }
  return wrong;
}

// Sums over the rows of each cluster of feature times residual. They vanish for the least squares.
int64_t wrong_least_squares(const CheckedRun& run) {
  const int64_t features = run.points.d - 1;
  const auto values = static_cast<size_t>(run.after.n * features);
  std::vector<long double> slopes(values), magnitudes(values);
  std::vector<int64_t> counts(static_cast<size_t>(run.after.n));
  for (int64_t i = 0; i < run.points.n; ++i) {
    const int64_t label = run.labels[static_cast<size_t>(i)];
    ++counts[static_cast<size_t>(label)];
    const SignedResidual residual = residual_of(run, run.after, i, label);
    for (int64_t j = 0; j < features; ++j) {
      const auto index = static_cast<size_t>(label * features + j);
      slopes[index] += value_at(run.points, i, j) * residual.value;
      magnitudes[index] += std::fabs(value_at(run.points, i, j)) * residual.magnitude;
    }
  }
  int64_t wrong = 0;
  for (int64_t c = 0; c < run.after.n; ++c) {
    bool kept = true;
    for (int64_t j = 0; j < features; ++j) kept = kept && value_at(run.after, c, j) == value_at(run.before, c, j);
    const auto terms = static_cast<long double>(counts[static_cast<size_t>(c)] + 10 * features * features);
    for (int64_t j = 0; j < features && !kept; ++j) {
      const auto index = static_cast<size_t>(c * features + j);
      if (!(std::fabs(slopes[index]) <= terms * rounding_unit(run.points.type) * magnitudes[index])) ++wrong;
    }
  }
  return wrong;
}

// `is_tie(row, a, b)` says whether rounding errors explain why a program took a where b is the nearest.
template <class IsTie>
void compare_labels(const CheckedRun& run, const Labels& nearest, const IsTie& is_tie, RunVerdict& verdict) {
  for (int64_t i = 0; i < run.points.n; ++i) {
    const int64_t label = run.labels[static_cast<size_t>(i)], right = nearest[i];
    if (label == right) continue;
    const bool tie = label >= 0 && label < run.before.n && is_tie(i, label, right);
    ++(tie ? verdict.ties : verdict.labels_wrong);
  }
}

double largest_difference(const PointsView& a, const PointsView& b) {
  long double difference = 0, largest = 0;
  for (int64_t i = 0; i < a.n; ++i) {
    for (int64_t j = 0; j < a.d; ++j) {
      difference = std::max(difference, std::fabs(value_at(a, i, j) - value_at(b, i, j)));
      largest = std::max(largest, std::fabs(value_at(b, i, j)));
    }
  }
  return static_cast<double>(largest == 0 ? difference : difference / largest);
}

// The options that make the library do exactly the steps of a plain program.
template <class Options>
Options options_of(const CheckedRun& run, const std::string& backend) {
  Options options;
  options.k = {run.first.n};
  options.max_iter = run.iterations;
  options.stop = "strict";
  options.empty = EmptyPolicy::kKeep;
  options.backend = backend;
  return options;
}

double tolerance_of(const CheckedRun& run) {
  const long double rows_of_cluster = static_cast<long double>(run.points.n) / static_cast<long double>(run.first.n);
  const double error_of_mean = static_cast<double>(rows_of_cluster * rounding_unit(run.points.type));
  return (run.points.type == DataType::kFloat64 ? 1e-6 : 1e-3) + error_of_mean + 10 * run.threshold;
}

// The inertia of a long float32 run may differ by this share. Regression clustering has more optima close to each
// other.
constexpr double kMeansTolerance = 1e-3, kPlanesTolerance = 5e-2;

// Compares the last prototypes with the model that the library fitted.
void compare_runs(const CheckedRun& run, const ModelResult& fitted, double inertia, double inertia_tolerance,
                  RunVerdict& verdict) {
  verdict.difference = largest_difference(run.after, fitted.prototypes.view());
  verdict.tolerance = tolerance_of(run);
  verdict.inertia_difference = fitted.inertia == inertia ? 0 : std::fabs(inertia / fitted.inertia - 1);
  const bool same_inertia = run.points.type == DataType::kFloat32 && verdict.inertia_difference <= inertia_tolerance;
  verdict.went_apart = !(verdict.difference <= verdict.tolerance) && !same_inertia;
}

}  // namespace

RunVerdict& RunVerdict::operator+=(const RunVerdict& other) {
  labels_wrong += other.labels_wrong;
  ties += other.ties;
  means_wrong += other.means_wrong;
  difference = std::max(difference, other.difference);
  tolerance = std::max(tolerance, other.tolerance);
  inertia_difference = std::max(inertia_difference, other.inertia_difference);
  went_apart = went_apart || other.went_apart;
  judged = judged || other.judged;
  return *this;
}

bool RunVerdict::print(ResultLine& line) const {
  add_to(line);
  line.print();
  return right();
}

void RunVerdict::add_to(ResultLine& line) const {
  if (!judged) return line.add("check", "none");
  line.add("labels_wrong", labels_wrong);
  line.add("ties", ties);
  line.add("means_wrong", means_wrong);
  line.add("difference", difference);
  line.add("tolerance", tolerance);
  line.add("inertia_difference", inertia_difference);
}

RunVerdict check_kmeans(const CheckedRun& run, const std::string& backend) {
  RunVerdict verdict;
  if (backend == "none") return verdict;
  verdict.judged = true;
  PredictOptions options;
  options.backend = backend;
  const long double bound = static_cast<long double>(run.points.d + 3) * rounding_unit(run.points.type);
  const auto is_tie = [&](int64_t row, int64_t label, int64_t right) {
    const long double chosen = squared_distance(run, row, label), least = squared_distance(run, row, right);
    return chosen - least <= bound * (chosen + least);
  };
  compare_labels(run, predict(run.points, run.before, options).labels, is_tie, verdict);
  if (verdict.labels_wrong == 0) verdict.means_wrong = wrong_means(run);
  FitHooks hooks;
  hooks.initial = run.first;
  const FitResult fitted = fit(run.points, {}, options_of<FitOptions>(run, backend), hooks);
  options.inertia = true;
  compare_runs(run, fitted.models[0], predict(run.points, run.after, options).inertia, kMeansTolerance, verdict);
  return verdict;
}

RunVerdict check_regression(const CheckedRun& run, const std::string& backend) {
  RunVerdict verdict;
  if (backend == "none") return verdict;
  verdict.judged = true;
  PredictOptions options;
  options.backend = backend;
  const RegressionRows rows = RegressionRows::with_target(run.points);
  const long double bound = static_cast<long double>(run.points.d + 2) * rounding_unit(run.points.type);
  const auto is_tie = [&](int64_t row, int64_t label, int64_t right) {
    const SignedResidual chosen = residual_of(run, run.before, row, label),
                         least = residual_of(run, run.before, row, right);
    return std::fabs(chosen.value) - std::fabs(least.value) <= bound * (chosen.magnitude + least.magnitude);
  };
  compare_labels(run, regress_labels(rows, run.before, options).labels, is_tie, verdict);
  if (verdict.labels_wrong == 0) verdict.means_wrong = wrong_least_squares(run);
  if (run.kept_singular) return verdict;
  auto wanted = options_of<RegressOptions>(run, backend);
  wanted.intercept = false;
  wanted.swaps = 0;
  FitHooks hooks;
  hooks.initial = run.first;
  const RegressResult fitted = regress(rows, {}, wanted, hooks);
  options.inertia = true;
  compare_runs(run, fitted.fit.models[0], regress_labels(rows, run.after, options).inertia, kPlanesTolerance, verdict);
  return verdict;
}

}  // namespace manymeans::founding
