#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/optimal_1d.h>

#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/out_of_memory.h"
#include "core/threads.h"
#include "data/input.h"
#include "data/weight_range.h"
#include "engine/check_clusters.h"
#include "optimal/sorted_values.h"
#include "optimal/weighted_line.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

namespace manymeans {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The values of one row as points of one column.
struct OneRow {
  PointsView points;
  std::span<const double> weights;
};

void check_optimal_options(const Optimal1dOptions& options, int64_t n) {
  FitOptions fit;
  fit.k = options.k;
  check(fit);
  for (const int64_t k : options.k) check_clusters(k, n);
}

double squared(double x, double c) {
  const double t = x - c;
  return t * t;
}

// The clusters of one row. T: float or double.
template <class T>
class RowClusters {
 public:
  RowClusters(const OneRow& row, ThreadPool& pool)
      : row_(row), pool_(pool), input_(prepare_input(row.points, row.weights, pool)) {
    std::vector<T> space(static_cast<size_t>(row.points.n));
    sorted_ = sorted_values(std::span(rows_as(row.points, 0, row.points.n, space.data()), space.size()));
    line_.abort = pool.abort();
    const double to_integer = std::ldexp(1.0, input_.weight_shift);
    for (const SortedValue<T>& value : sorted_) {
      const auto weight = input_.weights.empty() ? int64_t{1} : static_cast<int64_t>(weight_of(value) * to_integer);
      if (weight == 0) continue;
      if (line_.values.empty() || line_.values.back() != static_cast<double>(value.value)) {
        line_.values.push_back(value.value);
        line_.weights.push_back(0);
      }
      line_.weights.back() += weight;
    }
  }

  int64_t distinct() const { return static_cast<int64_t>(line_.size()); }
  const Input& input() const { return input_; }
  /// Returns whether rounding moved values or centres of the last model from the optimum.
  bool rounded() const { return rounded_; }

  ModelResult solve(int64_t k) {
    ModelResult model;
    model.k_requested = k;
    model.k = std::min(k, distinct());
    model.init = "optimal";
    ends_ = optimal_parts(line_, static_cast<size_t>(model.k));
    label();
    find_centres(model);
    rounded_ = has_rounded_centres(model);
    if (!judge(model)) {
      model = continued(model);
      for (size_t i = 0; i < sorted_.size(); ++i) {
        rounded_ |= weight_of(sorted_[i]) > 0 && model.labels[static_cast<int64_t>(sorted_[i].row)] != labels_[i];
      }
      return model;
    }
    std::vector<uint32_t> labels(sorted_.size());
    for (size_t i = 0; i < sorted_.size(); ++i) {
      labels[sorted_[i].row] = labels_[i];
      ++model.counts[labels_[i]];
    }
    model.labels = Labels(row_.points.n, model.k);
    model.labels.write(0, row_.points.n, labels.data());
    model.iterations = 1;
    model.stop_reason = StopReason::kStrict;
    return model;
  }

  double bic(const ModelResult& model) const {
    if (model.k_requested >= distinct()) return kInfinity;
    double whole = 0;
    for (const double weight : model.weights) whole += weight;
    const auto n = static_cast<double>(row_.points.n), k = static_cast<double>(model.k);
    const double variance = model.inertia * (n / whole) / (n - k);
    double likelihood = -n / 2 * std::log(2 * std::numbers::pi * variance) - (n - k) / 2;
    for (const double weight : model.weights) {
      if (weight > 0) likelihood += n * (weight / whole) * std::log(weight / whole);
    }
    return k * 2 * std::log(n) - 2 * likelihood;
  }

 private:
  double weight_of(const SortedValue<T>& value) const {
    return input_.weights.empty() ? 1.0 : input_.weights[value.row];
  }

  // Values of weight zero get the label of the part before or at them; judge() corrects it.
  void label() {
    labels_.resize(sorted_.size());
    size_t at = 0;
    uint32_t part = 0;
    for (size_t i = 0; i < sorted_.size(); ++i) {
      while (at + 1 < line_.size() && static_cast<double>(sorted_[i].value) >= line_.values[at + 1]) ++at;
      while (at >= ends_[part]) ++part;
      labels_[i] = part;
    }
  }

  void find_centres(ModelResult& model) {
    Statistics statistics(model.k, 1, input_.limbs);
    const TermAdder adder(input_.columns[0]);
    const double to_integer = std::ldexp(1.0, input_.weight_shift);
    for (size_t i = 0; i < sorted_.size(); ++i) {
      const double weight = weight_of(sorted_[i]);
      adder.add(weight * static_cast<double>(sorted_[i].value), 1, statistics.row(labels_[i]));
      statistics.weights[labels_[i]] += static_cast<int64_t>(weight * to_integer);
    }
    model.prototypes =
        solve_prototypes(statistics, input_, Matrix(model.k, 1, prototype_type(row_.points.type)), pool_);
    model.counts.assign(static_cast<size_t>(model.k), 0);
    const int exponent = input_.weight_exponent - input_.weight_shift;
    for (const int64_t weight : statistics.weights) {
      model.weights.push_back(std::ldexp(static_cast<double>(weight), exponent));
    }
  }

  // Returns whether a centre differs from the mean of its part by more than the rounding to its type. The largest of
  // all values decides at which bit sums are rounded.
  bool has_rounded_centres(const ModelResult& model) const {
    constexpr double kSpread = 1e-6;  // of a part, which is less than its inertia shows
    size_t i = 0;
    for (size_t part = 0; part < ends_.size(); ++part) {
      const double first = line_.values[i], last = line_.values[ends_[part] - 1];
      double sum = 0, weight = 0;
      for (; i < ends_[part]; ++i) {
        sum += static_cast<double>(line_.weights[i]) * (line_.values[i] - first);
        weight += static_cast<double>(line_.weights[i]);
      }
      const double rounding = 4 * std::numeric_limits<T>::epsilon() * std::max(std::fabs(first), std::fabs(last));
      const double allowed = kSpread * (last - first) + rounding + std::numeric_limits<T>::denorm_min();
      const double centre = model.prototypes.at(static_cast<int64_t>(part), 0);
      if (std::fabs(centre - (first + sum / weight)) > allowed) return true;
    }
    return false;
  }

  // Labels values of weight zero, and computes the inertia. Returns false if some value of an optimal cluster has
  // another nearest centre: centres and distances are rounded.
  bool judge(ModelResult& model) {
    const std::span<const T> centres = std::as_const(model.prototypes).template values<T>();
    distances_.resize(sorted_.size());
    double farthest = 0;
    for (size_t i = 0; i < sorted_.size(); ++i) {
      const auto x = static_cast<double>(sorted_[i].value);
      uint32_t& own = labels_[i];
      const bool counts = weight_of(sorted_[i]) > 0;
      if (!counts && own + 1 < centres.size() && squared(x, centres[own + 1]) < squared(x, centres[own])) ++own;
      const double d2 = squared(x, centres[own]);
      if (own > 0 && squared(x, centres[own - 1]) <= d2) return false;
      if (own + 1 < centres.size() && squared(x, centres[own + 1]) < d2) return false;
      distances_[i] = d2;
      if (counts) farthest = std::max(farthest, d2);
    }
    const TermAdder adder(distance_format(input_, farthest));
    int64_t limbs[kDistanceLimbs] = {};
    for (size_t i = 0; i < sorted_.size(); ++i) {
      const double weight = weight_of(sorted_[i]);
      if (weight > 0) adder.add(weight * distances_[i], 1, limbs);
    }
    model.inertia = std::ldexp(rounded_sum(limbs, adder.format()), input_.weight_exponent - adder.format().shift);
    return true;
  }

  // The fit that begins with these centres.
  ModelResult continued(const ModelResult& begun) {
    FitOptions options;
    options.k = {begun.k};
    options.tol = 0;
    options.threads = 1;
    options.backend = "cpu";
    FitHooks hooks;
    hooks.initial = begun.prototypes.view();
    hooks.abort = pool_.abort();
    ModelResult model = std::move(fit(row_.points, row_.weights, options, hooks).models[0]);
    model.k_requested = begun.k_requested;
    model.init = begun.init;
    return model;
  }

  OneRow row_;
  ThreadPool& pool_;
  Input input_;
  std::vector<SortedValue<T>> sorted_;
  WeightedLine line_;
  std::vector<size_t> ends_;       // of the optimal parts of the line
  bool rounded_ = false;           // whether the last model has other parts or centres
  std::vector<uint32_t> labels_;   // of the sorted values
  std::vector<double> distances_;  // likewise, to their centres
};

class Problem {
 public:
  Problem(const PointsView& values, std::span<const double> weights, const Optimal1dOptions& options)
      : values_(values), weights_(weights), options_(options) {
    const auto rows = static_cast<size_t>(values.n);
    answer_.models.resize(rows);
    if (options.k.size() > 1) answer_.bic.resize(rows * options.k.size());
    warnings_.resize(rows);
    rounded_.resize(rows);
    errors_.resize(rows);
  }

  Optimal1d run() {
    ThreadPool pool(thread_count(options_.threads), options_.abort);
    pool.for_each_range(values_.n, 1, [&](int, int64_t row, int64_t) {
      try {
        solve(row);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kInterrupted) throw;
        errors_[static_cast<size_t>(row)] = std::current_exception();
      }
    });
    for (const std::exception_ptr& error : errors_) {
      if (error) std::rethrow_exception(error);
    }
    int64_t fewer = 0;
    for (const ModelResult& model : answer_.models) fewer += model.k < model.k_requested;
    answer_.rounded = std::ranges::count(rounded_, char{1});
    warn_of(fewer, "there are fewer distinct values than k; each has its own cluster");
    for (const auto& warning : warnings_) {
      if (warning) answer_.warnings.push_back(*warning);
    }
    warn_of(answer_.rounded,
            "rounding moves values or centres from the optimum: some values are far larger than others (cluster them "
            "apart), or values differ in their last bits only");
    return std::move(answer_);
  }

 private:
  void warn_of(int64_t rows, const char* text) {
    if (rows == 0) return;
    answer_.warnings.push_back((values_.n > 1 ? fmt::format("in {} of {} rows, ", rows, values_.n) : "") + text);
  }

  // Of a single row, values are rows of a column, as fit() calls them. Messages about others name row and column.
  OneRow checked(int64_t row, std::vector<std::byte>& space) const {
    const int64_t n = values_.d;
    const PointsView host = host_rows(values_, row, 1, space);
    OneRow one{{host.data, n, 1, values_.type}, weights_};
    if (std::ssize(weights_) != n && !weights_.empty())
      one.weights = weights_.subspan(static_cast<size_t>(row * n)).first(static_cast<size_t>(n));
    if (values_.n == 1) return one;
    std::vector<double> wide(static_cast<size_t>(n));
    widen(host.data, host.type, 0, n, wide.data());
    for (int64_t j = 0; j < n; ++j) check_value(wide[static_cast<size_t>(j)], row, j);
    for (size_t j = 0; j < one.weights.size(); ++j) {
      const double weight = one.weights[j];
      if (weight >= 0 && weight < kInfinity) continue;
      throw Error(ErrorCode::kBadData, "weights",
                  fmt::format("row {}, column {} has weight {}; weights must be finite and not negative", row + 1,
                              j + 1, weight));
    }
    return one;
  }

  void solve(int64_t row) {
    std::vector<std::byte> space;
    const OneRow one = checked(row, space);
    try {
      as_float_type(values_.type, [&]<class T>(T) {
        ThreadPool alone(1, options_.abort);
        RowClusters<T> clusters(one, alone);
        if (!one.weights.empty()) {
          warnings_[static_cast<size_t>(row)] = weight_warning(clusters.input(), smallest_weight(one.weights));
        }
        choose(row, clusters);
      });
    } catch (const Error& error) {
      const std::string what = error.what();
      const size_t text = what.find("] ");
      if (values_.n == 1 || text == std::string::npos) throw;
      throw Error(error.code(), what.substr(1, text - 1), fmt::format("row {}: {}", row + 1, what.substr(text + 2)));
    }
  }

  template <class T>
  void choose(int64_t row, RowClusters<T>& clusters) {
    ModelResult& best = answer_.models[static_cast<size_t>(row)];
    double lowest = kInfinity;
    for (size_t i = 0; i < options_.k.size(); ++i) {
      ModelResult model = clusters.solve(options_.k[i]);
      double bic = kInfinity;
      if (!answer_.bic.empty()) {
        bic = answer_.bic[static_cast<size_t>(row) * options_.k.size() + i] = clusters.bic(model);
      }
      if (i > 0 && (bic > lowest || (bic == lowest && model.k_requested >= best.k_requested))) continue;
      lowest = bic;
      best = std::move(model);
      rounded_[static_cast<size_t>(row)] = clusters.rounded();
    }
  }

  const PointsView& values_;
  std::span<const double> weights_;
  const Optimal1dOptions& options_;
  Optimal1d answer_;
  std::vector<std::optional<std::string>> warnings_;  // of each row, about its weights
  std::vector<char> rounded_;                         // of each row, whether rounding moved its answer
  std::vector<std::exception_ptr> errors_;            // of each row: the first row's is thrown, whoever came first
};

}  // namespace

Optimal1d optimal_1d(const PointsView& values, std::span<const double> weights, const Optimal1dOptions& options) {
  const FpEnvironmentGuard guard;
  check_shape(values, values.n);
  check_optimal_options(options, values.d);
  const auto given = std::ssize(weights);
  if (given != 0 && given != values.d && given != values.n * values.d) {
    throw Error(ErrorCode::kBadData, "weights",
                fmt::format("there are {} weights for {} rows of {} values; one for each value, or for each column, is "
                            "needed",
                            given, values.n, values.d));
  }
  await_points(values);
  return or_out_of_memory("optimal_1d", "cluster fewer rows at a time", [&] {
    Optimal1d found = Problem(values, weights, options).run();
    check_mapped(values.data);
    return found;
  });
}

}  // namespace manymeans
