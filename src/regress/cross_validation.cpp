// R2 of predictions for rows that the models have not seen.
#include <manymeans/error.h>
#include <manymeans/regress.h>

#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/out_of_memory.h"
#include "core/random.h"
#include "data/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace manymeans {
namespace {

// The rows that a fold holds out, and the others.
struct Split {
  std::vector<int64_t> held_out, others;
};

Split split_rows(int64_t n, uint64_t seed, int64_t fold, int64_t folds) {
  Split split;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t u = random_u64(seed, static_cast<uint64_t>(i), 0, Purpose::kFoldOfRow);
    const bool held_out = random_below(u, static_cast<uint64_t>(folds)) == static_cast<uint64_t>(fold);
    (held_out ? split.held_out : split.others).push_back(i);
  }
  return split;
}

std::vector<double> chosen(std::span<const double> weights, const std::vector<int64_t>& rows) {
  std::vector<double> result;
  if (weights.empty()) return result;
  for (const int64_t row : rows) result.push_back(weights[static_cast<size_t>(row)]);
  return result;
}

// The last column, and the others as rows of their own.
std::vector<double> taken_target(Matrix& rows) {
  std::vector<double> target;
  const int64_t d = rows.columns() - 1;
  Matrix features(rows.rows(), d, rows.type());
  as_float_type(rows.type(), [&]<class T>(T) {
    const T* from = rows.values<T>().data();
    T* to = features.values<T>().data();
    for (int64_t i = 0; i < rows.rows(); ++i, from += d + 1, to += d) {
      std::copy_n(from, d, to);
      target.push_back(static_cast<double>(from[d]));
    }
  });
  rows = std::move(features);
  return target;
}

double weighted_squares(const std::vector<double>& target, const double* predicted, std::span<const double> weights) {
  double sum = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    const double rest = target[i] - predicted[i];
    sum += (weights.empty() ? 1 : weights[i]) * (rest * rest);
  }
  return sum;
}

// Of all rows, the target around its mean.
double total_squares(const std::vector<double>& target, std::span<const double> weights) {
  if (target.empty()) return 0;
  const double origin = target[0];  // a target far from zero loses nothing
  double weight = 0, sum = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    const double w = weights.empty() ? 1 : weights[i];
    weight += w;
    sum += w * (target[i] - origin);
  }
  const std::vector<double> mean(target.size(), origin + sum / weight);
  return weighted_squares(target, mean.data(), weights);
}

void check(const RegressionRows& rows, const RegressOptions& options, int64_t folds, const FitHooks& hooks) {
  manymeans::check(options);
  if (folds < 2 || folds > rows.view().n) {
    throw Error(ErrorCode::kUsage, "folds",
                fmt::format("are {}; 2 to the number of rows, {}, is right", folds, rows.view().n));
  }
  if (hooks.comm) throw Error(ErrorCode::kUsage, "folds", "need all rows in one process, and several share them here");
  if (hooks.initial.data == nullptr) return;
  throw Error(ErrorCode::kUsage, "folds",
              "need models that have not seen the rows held out, so name an initialisation");
}

class CrossValidator {
 public:
  CrossValidator(const RegressionRows& rows, std::span<const double> weights, const RegressOptions& options,
                 const FitHooks& hooks)
      : rows_(rows),
        weights_(weights),
        options_(options),
        hooks_(hooks),
        sums_(options.k.size()),
        target_(static_cast<size_t>(rows.view().n)) {
    hooks_.checkpoint = {};
    hooks_.labels = LabelsOf::kBest;
  }

  /// Returns false if the fit was stopped.
  bool add(const Split& split) {
    if (split.held_out.empty()) return true;
    const Matrix others = gather_rows(rows_.view(), split.others);
    const RegressResult result =
        regress(RegressionRows::with_target(others.view()), chosen(weights_, split.others), options_, hooks_);
    if (result.fit.interrupted) return false;
    Matrix features = gather_rows(rows_.view(), split.held_out);
    const std::vector<double> target = taken_target(features);
    for (size_t i = 0; i < target.size(); ++i) target_[static_cast<size_t>(split.held_out[i])] = target[i];
    const std::vector<double> weights = chosen(weights_, split.held_out);
    PredictOptions how{.threads = options_.threads};
    how.abort = hooks_.abort;
    for (size_t i = 0; i < options_.k.size(); ++i) {
      const auto best = static_cast<size_t>(result.fit.best(options_.k[i]));
      for (const Gating gating : {Gating::kNearest, Gating::kPrior}) {
        const Matrix predicted = regress_predict(features.view(), result.fit.models[best].prototypes.view(),
                                                 result.summaries[best].gate, gating, how);
        (gating == Gating::kNearest ? sums_[i].nearest : sums_[i].prior) +=
            weighted_squares(target, predicted.values<double>().data(), weights);
      }
    }
    return true;
  }

  /// After all folds, each of which held out rows of its own.
  std::vector<HeldOutR2> result() const {
    const double total = total_squares(target_, weights_);
    std::vector<HeldOutR2> found = sums_;
    for (HeldOutR2& r2 : found) {
      for (double* value : {&r2.nearest, &r2.prior}) {
        *value = total > 0 ? 1 - *value / total : std::numeric_limits<double>::quiet_NaN();
      }
    }
    return found;
  }

 private:
  const RegressionRows& rows_;
  std::span<const double> weights_;
  const RegressOptions& options_;
  FitHooks hooks_;
  std::vector<HeldOutR2> sums_;  // of squared errors
  std::vector<double> target_;   // of all rows
};

}  // namespace

std::vector<HeldOutR2> cross_validate(const RegressionRows& rows, std::span<const double> weights,
                                      const RegressOptions& options, int64_t folds, const FitHooks& hooks) {
  const FpEnvironmentGuard guard;
  check(rows, options, folds, hooks);
  return or_out_of_memory("folds", "leave them out", [&] {
    CrossValidator validator(rows, weights, options, hooks);
    const int64_t n = rows.view().n;
    for (int64_t fold = 0; fold < folds; ++fold) {
      if (!validator.add(split_rows(n, options.seed, fold, folds))) {
        return std::vector<HeldOutR2>(
            options.k.size(), {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()});
      }
    }
    return validator.result();
  });
}

}  // namespace manymeans
