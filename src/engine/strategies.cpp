#include "engine/strategies.h"

#include "engine/lloyd.h"

#include <exception>
#include <mutex>

namespace manymeans {
namespace {

// A member a thread. Where several fail, the first one's error is thrown, as if they had come one after the other.
Cost fit_side_by_side(const FitContext& context, std::span<Member> members, int threads) {
  Cost cost;
  std::mutex mutex;
  std::exception_ptr error;
  auto failed = static_cast<int64_t>(members.size());
  ThreadPool pool(threads);
  pool.for_each_range(static_cast<int64_t>(members.size()), 1, [&](int, int64_t member, int64_t) {
    {
      const std::lock_guard lock(mutex);
      if (failed < member || context.control.stopped()) return;
    }
    try {
      ThreadPool alone(1, context.hooks.abort);
      const Cost mine = fit_cohort(context, {&members[static_cast<size_t>(member)], 1}, alone);
      const std::lock_guard lock(mutex);
      cost += mine;
    } catch (...) {
      bool first = false;
      {
        const std::lock_guard lock(mutex);
        first = !error;
        if (member < failed) {
          failed = member;
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

// Spreads the ensemble over cohorts and threads as the strategy says.
Cost run_strategy(const FitContext& context, std::span<Member> members, ThreadPool& pool) {
  Cost cost;
  Strategy strategy = context.options.strategy;
  // Several ranks have to take the models in one order, and shards answer one question at a time.
  const bool together = !context.input.comm->alone() || context.input.remote != nullptr;
  if (strategy == Strategy::kTask && together) strategy = Strategy::kData;
  switch (strategy) {
    case Strategy::kConcatenated: return fit_cohort(context, members, pool);
    case Strategy::kData:
      for (Member& member : members) {
        if (context.control.stopped()) break;
        cost += fit_cohort(context, {&member, 1}, pool);
      }
      return cost;
    case Strategy::kTask: return fit_side_by_side(context, members, pool.size());
  }
  return cost;
}

}  // namespace

Cost run_and_save(const FitContext& context, std::span<Member> members, ThreadPool& pool) {
  if (context.checkpoint == nullptr) return run_strategy(context, members, pool);
  try {
    const Cost cost = run_strategy(context, members, pool);
    context.checkpoint->write_now();
    return cost;
  } catch (...) {
    context.checkpoint->write_now();
    if (context.hooks.log) {
      for (const std::string& warning : context.checkpoint->warnings()) context.hooks.log(warning);
    }
    throw;
  }
}

}  // namespace manymeans
