#include "engine/search_models.h"

#include <utility>

namespace manymeans {
namespace {

constexpr const char* kStop = "labels:0.001";

}  // namespace

SearchSession::SearchSession(const FitContext& fit, const Member& member, int slots, ThreadPool& pool)
    : fit_(fit), member_(member), pool_(pool) {
  const std::vector<int64_t> k(static_cast<size_t>(slots), member.result.k);
  session_ = fit.upload.session(k, pool.size());
}

bool SearchSession::iterate(std::span<SearchModel* const> models, int64_t updates) {
  FitOptions options = fit_.options;
  options.max_iter = updates;
  options.empty = EmptyPolicy::kFarthest;
  std::vector<Member> members(models.size());
  for (size_t i = 0; i < models.size(); ++i) {
    members[i].result.k = members[i].result.k_requested = member_.result.k;
    members[i].result.seed = member_.result.seed;
    members[i].result.init = member_.result.init;
    members[i].slot = static_cast<int>(i);
    members[i].prototypes = std::move(models[i]->centroids);
    members[i].given = member_.given;
  }
  FitContext context{fit_.input,         options,     fit_.hooks,
                     fit_.backend,       fit_.upload, fit_.labelled,
                     fit_.control,       fit_.labels, parse_stop_rules(kStop, 0),
                     fit_.mean_variance, fit_.kind,   fit_.cluster};
  context.session = session_.get();
  run_lloyd(context, members, pool_);
  if (fit_.control.stopped()) return false;
  for (size_t i = 0; i < models.size(); ++i) {
    ModelResult& result = members[i].result;
    *models[i] = {std::move(result.prototypes), result.inertia, std::move(result.weights)};
  }
  return true;
}

}  // namespace manymeans
