#include <manymeans/error.h>
#include <manymeans/regress.h>

#include "core/fp_environment.h"
#include "engine/tuned.h"
#include "prototype/linear_model.h"
#include "regress/regression_summary.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace manymeans {
namespace {

// What the numbers of rows and columns forbid.
void check_shape(const RegressionRows& rows, const RegressOptions& options) {
  const int64_t n = rows.view().n;
  const int64_t features = rows.features();
  if (n < 1) return;  // which the fit says
  if (features < 1) {
    throw Error(ErrorCode::kBadData, "points", "there is no column beside the target; at least one feature is needed");
  }
  if (features > kMostFeatures) {
    throw Error(ErrorCode::kUsage, "points",
                fmt::format("there are {} features; the sums of products of linear models take at most {}", features,
                            kMostFeatures));
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
  explicit Summaries(size_t models) : models_(models) {
    for (SummarisedModel& model : models_) {
      model.summary.r2 = model.summary.bic = std::numeric_limits<double>::quiet_NaN();
    }
  }

  void take(const FinishedModel& finished) {
    SummarisedModel& mine = models_[static_cast<size_t>(finished.member.index)];
    mine = summarise(finished);
    finished.warnings.insert(finished.warnings.end(), mine.warnings.begin(), mine.warnings.end());
  }
  RowTroubles troubles() const {
    RowTroubles found;
    for (const SummarisedModel& model : models_) {
      found.constant_target |= model.rows.constant_target;
      found.all_equal |= model.rows.all_equal;
    }
    return found;
  }
  std::vector<RegressionSummary> hand_over() {
    std::vector<RegressionSummary> result;
    for (SummarisedModel& model : models_) result.push_back(std::move(model.summary));
    return result;
  }

 private:
  std::vector<SummarisedModel> models_;
};

void warn(const RowTroubles& rows, FitResult& result, const FitHooks& hooks) {
  if (!rows.constant_target) return;
  result.warnings.emplace_back(rows.all_equal
                                   ? "all rows are equal: every model is their target"
                                   : "the target is constant: every model is that constant, whatever the features are");
  if (hooks.log) hooks.log(result.warnings.back());
}

}  // namespace

RegressResult regress(const RegressionRows& rows, std::span<const double> weights, const RegressOptions& options,
                      const FitHooks& hooks) {
  const FpEnvironmentGuard guard;
  check(options);
  check_shape(rows, options);
  Summaries summaries(options.k.size() * static_cast<size_t>(options.models));
  const FitKind kind{linear_model(),
                     {.ridge = options.ridge, .intercept = options.intercept},
                     options.swaps,
                     [&](const FinishedModel& model) { summaries.take(model); }};
  RegressResult result;
  result.fit = fit_kind(kind, rows.view(), weights, options, hooks);
  warn(summaries.troubles(), result.fit, hooks);
  result.summaries = summaries.hand_over();
  result.options = options;
  return result;
}

Prediction regress_labels(const RegressionRows& rows, const PointsView& models, const PredictOptions& options) {
  if (rows.view().d != models.d) {
    throw Error(ErrorCode::kBadData, "points",
                fmt::format("they have {} features, the models have {}", rows.features(), models.d - 1));
  }
  return predict_kind(linear_model(), rows.view(), models, options);
}

}  // namespace manymeans
