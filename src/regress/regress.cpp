#include <manymeans/error.h>
#include <manymeans/regress.h>

#include "comm/or_abort.h"
#include "core/fp_environment.h"
#include "engine/fit_shard.h"
#include "engine/tuned.h"
#include "prototype/linear_model.h"
#include "regress/regress_shard.h"
#include "regress/regression_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

// Throws if the number n of all ranks' rows, or the number of columns, is not allowed.
void check_shape(int64_t n, int64_t features, const RegressOptions& options) {
  if (n < 1) return;  // which the fit says
  if (features < 1) {
    throw Error(ErrorCode::kBadData, "points", "there is no column except the target; at least one feature is needed");
  }
  if (features > kMaxFeatures) {
    throw Error(ErrorCode::kUsage, "points",
                fmt::format("there are {} features; the sums of products of linear models take at most {}", features,
                            kMaxFeatures));
  }
  const int64_t coefficients = features + (options.intercept ? 1 : 0);
  for (const int64_t k : options.k) {
    if (k <= n / coefficients) continue;
    throw Error(ErrorCode::kUsage, "k",
                fmt::format("{} linear models have {} coefficients each, which is more than there are rows, {}; k must "
                            "be at most {}",
                            k, coefficients, n, n / coefficients));
  }
}

// Summaries and warnings as models come to their end, perhaps on several threads: each has a place of its own.
class Summaries {
 public:
  Summaries(size_t models, const FeatureUnits& units) : models_(models), units_(units) {
    for (SummarisedModel& model : models_) {
      model.summary.r2 = model.summary.bic = std::numeric_limits<double>::quiet_NaN();
    }
  }

  void take(const FinishedModel& finished) {
    models_[static_cast<size_t>(finished.member.index)] = summarise(finished, units_);
  }
  RowTroubles troubles() const {
    // All models that came to their end say the same.
    const auto found = std::ranges::find_if(
        models_, [](const SummarisedModel& model) { return model.rows.constant_target || !model.rows.tiny.empty(); });
    return found == models_.end() ? RowTroubles() : found->rows;
  }
  // Features that no model can have a coefficient for.
  std::vector<int64_t> dependent() const {
    const auto found =
        std::ranges::find_if(models_, [](const SummarisedModel& model) { return !model.rows.dependent.empty(); });
    return found == models_.end() ? std::vector<int64_t>() : found->rows.dependent;
  }
  // The first warning of this kind, and how many clusters have one: tens of them would say no more.
  std::string first_of(std::vector<std::string> SummarisedModel::*kind) const {
    std::string first;
    size_t count = 0;
    for (const SummarisedModel& model : models_) {
      if (count == 0 && !(model.*kind).empty()) first = (model.*kind)[0];
      count += (model.*kind).size();
    }
    if (count < 2) return first;
    return fmt::format("{}; {} other cluster{} such a warning, too", first, count - 1, count == 2 ? " has" : "s have");
  }
  bool one_fits_all() const { return std::ranges::any_of(models_, &SummarisedModel::one_fits_all); }
  std::vector<RegressionSummary> hand_over() {
    std::vector<RegressionSummary> result;
    for (SummarisedModel& model : models_) result.push_back(std::move(model.summary));
    return result;
  }

 private:
  std::vector<SummarisedModel> models_;
  const FeatureUnits& units_;
};

std::string text_of_dependent(const std::vector<int64_t>& columns) {
  return fmt::format(
      "the columns {} (counted from 0) are constant, or combinations of columns before them, as the last column of a "
      "category is: no model has coefficients for them, and without them the models are the same",
      listed(columns));
}

std::string text_of_tiny(const std::vector<int64_t>& columns, int64_t target) {
  std::vector<std::string> names;
  for (const int64_t j : columns) names.push_back(j == target ? "the target" : fmt::format("feature {}", j));
  return fmt::format(
      "no magnitude of {} is above 2^-400 (features count from 0): squares of such values underflow, so that models, "
      "errors and R2 may be wrong; scale them up",
      fmt::join(names, ", "));
}

void warn(const Summaries& summaries, int64_t target, FitResult& result, const FitHooks& hooks) {
  const auto add = [&](std::string text) {
    if (text.empty()) return;
    if (hooks.log) hooks.log(text);
    result.warnings.push_back(std::move(text));
  };
  const RowTroubles rows = summaries.troubles();
  const std::vector<int64_t> dependent = summaries.dependent();
  if (!dependent.empty() && !rows.all_equal) add(text_of_dependent(dependent));
  add(summaries.first_of(&SummarisedModel::few_rows));
  add(summaries.first_of(&SummarisedModel::own_columns));
  if (!rows.constant_target && summaries.one_fits_all()) {
    add("one linear model fits all rows (R2 = 1): the target may follow from some features, as a sum from its parts");
  }
  if (!rows.tiny.empty()) add(text_of_tiny(rows.tiny, target));
  if (!rows.constant_target) return;
  add(rows.all_equal ? "all rows are equal: every model is their target"
                     : "the target is constant: every model is that constant, whatever the features are");
}

RegressResult regress_here(const RegressionRows& rows, std::span<const double> weights, const RegressOptions& options,
                           const FitHooks& hooks, Comm& comm) {
  const FpEnvironmentGuard guard;
  check(options);
  int64_t n = rows.view().n;
  comm.sum({&n, 1});
  check_shape(n, rows.features(), options);
  Summaries summaries(options.k.size() * static_cast<size_t>(options.models), rows.units());
  const FitKind kind{linear_model(),
                     {.ridge = options.ridge, .intercept = options.intercept},
                     options.swaps,
                     [&](const FinishedModel& model) { summaries.take(model); }};
  RegressResult result;
  result.fit = fit_kind_shard(kind, {rows.view(), weights, comm}, options, hooks);
  warn(summaries, rows.features(), result.fit, hooks);
  result.summaries = summaries.hand_over();
  result.options = options;
  return result;
}

}  // namespace

RegressResult regress(const RegressionRows& rows, std::span<const double> weights, const RegressOptions& options,
                      const FitHooks& hooks) {
  if (hooks.comm) return regress_shard(rows, weights, options, hooks, *hooks.comm);
  return regress_here(rows, weights, options, hooks, self_comm());
}

RegressResult regress_shard(const RegressionRows& rows, std::span<const double> weights, const RegressOptions& options,
                            const FitHooks& hooks, Comm& comm) {
  return or_abort(comm, [&] { return regress_here(rows, weights, options, hooks, comm); });
}

Prediction regress_labels(const RegressionRows& rows, const PointsView& models, const PredictOptions& options) {
  if (rows.view().d != models.d) {
    throw Error(ErrorCode::kBadData, "points",
                fmt::format("they have {} features, the models have {}", rows.features(), models.d - 1));
  }
  return predict_kind(linear_model(), rows.view(), models, options);
}

}  // namespace manymeans
