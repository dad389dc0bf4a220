#include "engine/strategies.h"

#include "backend/deal_models.h"
#include "engine/lloyd.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

namespace manymeans {
namespace {

// Members that a thread fits together.
struct ModelGroup {
  const FitContext* context;
  std::span<Member> members;
  int threads;  // that its passes take
};

// Returns whether the fit was stopped, so that no work is left for the members. But a time limit waits for the first
// model, and what searches have found is kept.
bool is_over(const FitContext& context, std::span<const Member> members) {
  const std::optional<StopReason> reason = context.control.stopped();
  if (!reason || context.kind.search != nullptr) return false;
  return *reason != StopReason::kTimeLimit || members[0].index > 0;
}

// Several groups at a time. Where several fail, the first one's error is thrown, as if they had come one after the
// other.
Cost fit_side_by_side(const FitContext& context, std::span<const ModelGroup> groups, int threads) {
  Cost cost;
  std::mutex mutex;
  std::exception_ptr error;
  auto failed = static_cast<int64_t>(groups.size());
  ThreadPool pool(threads);
  pool.for_each_range(static_cast<int64_t>(groups.size()), 1, [&](int, int64_t index, int64_t) {
    const ModelGroup& group = groups[static_cast<size_t>(index)];
    {
      const std::lock_guard lock(mutex);
      if (failed < index || is_over(context, group.members)) return;
    }
    try {
      ThreadPool own(group.threads, context.hooks.abort);
      const Cost mine = run_lloyd(*group.context, group.members, own);
      const std::lock_guard lock(mutex);
      cost += mine;
    } catch (...) {
      bool first = false;
      {
        const std::lock_guard lock(mutex);
        first = !error;
        if (index < failed) {
          failed = index;
          error = std::current_exception();
        }
      }
      // The others may not come to their end: a device that does not answer keeps them. Those that do need no file
      // each: the last one is written when all are done.
      if (first && context.checkpoint != nullptr) context.checkpoint->write_now();
    }
  });
  if (error) std::rethrow_exception(error);
  return cost;
}

// A member a thread.
Cost fit_each(const FitContext& context, std::span<Member> members, int threads) {
  std::vector<ModelGroup> groups;
  for (Member& member : members) groups.push_back({&context, {&member, 1}, 1});
  return fit_side_by_side(context, groups, threads);
}

FitContext on_device(const FitContext& all, const ModelShare& share) {
  return {all.input,    all.options,    all.hooks, *share.backend,     *share.upload, *share.upload,
          all.control,  all.labels,     all.rules, all.mean_variance,  all.kind,      all.cluster,
          all.estimate, all.checkpoint, nullptr,   all.waits_for_first};
}

// In one pass for all; where several devices have all rows, in one on each.
Cost fit_together(const FitContext& context, std::span<Member> members, ThreadPool& pool) {
  const bool as_uploaded = &context.labelled == &context.upload;
  const std::vector<ModelShare> shares = as_uploaded ? context.upload.shares() : std::vector<ModelShare>();
  if (shares.size() < 2) return run_lloyd(context, members, pool);
  std::vector<int64_t> clusters;
  for (const Member& member : members) clusters.push_back(member.result.k);
  const std::vector<int64_t> ends = deal_models(clusters, shares.size());
  std::vector<FitContext> contexts;
  for (const ModelShare& share : shares) contexts.push_back(on_device(context, share));
  const int devices = static_cast<int>(shares.size());
  std::vector<ModelGroup> groups;
  int64_t first = 0;
  for (size_t device = 0; device < shares.size(); first = ends[device++]) {
    const auto own = members.subspan(static_cast<size_t>(first), static_cast<size_t>(ends[device] - first));
    groups.push_back({&contexts[device], own, std::max(1, pool.size() / devices)});
  }
  return fit_side_by_side(context, groups, devices);
}

// Spreads the ensemble over groups and threads as the strategy says.
Cost run_strategy(const FitContext& context, std::span<Member> members, ThreadPool& pool) {
  Cost cost;
  Strategy strategy = context.options.strategy;
  // Several ranks have to take the models in one order, and shards answer one question at a time.
  const bool together = !context.input.comm->alone() || context.input.remote != nullptr;
  if (strategy == Strategy::kTask && together) strategy = Strategy::kData;
  switch (strategy) {
    case Strategy::kConcatenated: return fit_together(context, members, pool);
    case Strategy::kData:
      for (Member& member : members) {
        if (is_over(context, {&member, 1})) continue;
        cost += run_lloyd(context, {&member, 1}, pool);
      }
      return cost;
    case Strategy::kTask: return fit_each(context, members, pool.size());
  }
  return cost;
}

}  // namespace

void save_at_end(Checkpoint& checkpoint, const FitHooks& hooks, const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    checkpoint.write_now();
    if (hooks.log) {
      for (const std::string& warning : checkpoint.warnings()) hooks.log(warning);
    }
    throw;
  }
  checkpoint.finish();
}

void do_and_save(const FitContext& context, const std::function<void()>& work) {
  context.checkpoint == nullptr ? work() : save_at_end(*context.checkpoint, context.hooks, work);
}

Cost run_and_save(const FitContext& context, std::span<Member> members, ThreadPool& pool) {
  Cost cost;
  do_and_save(context, [&] { cost = run_strategy(context, members, pool); });
  return cost;
}

}  // namespace manymeans
