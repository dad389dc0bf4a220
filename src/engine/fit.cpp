#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "backend/deduplicated/deduplicated_upload.h"
#include "core/device_rows.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/random.h"
#include "core/threads.h"
#include "engine/lloyd.h"
#include "engine/tuned.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>

namespace manymeans {
namespace {

Workload workload_of(const FitOptions& options, std::span<const Member> members, int threads) {
  const auto models = static_cast<int64_t>(members.size());
  Workload workload{1, 0, (std::min<int64_t>(options.max_iter, 1000) + 1) * models};
  if (options.strategy == Strategy::kConcatenated) workload.models = models;
  if (options.strategy == Strategy::kTask) workload.sessions = std::min<int64_t>(threads, models);
  int64_t apart = 0;
  for (const Member& member : members) {
    workload.most_clusters = std::max(workload.most_clusters, member.result.k);
    workload.all_clusters += member.result.k;
    workload.clusters.push_back(member.result.k);
    apart += member.result.init.starts_with("k-means");
  }
  workload.apart = 2 * apart > models;
  return workload;
}

void check_against_points(const FitOptions& options, const PointsView& points, const FitHooks& hooks) {
  for (const int64_t k : options.k) {
    if (k > points.n) {
      throw Error(
          ErrorCode::kUsage, "k",
          fmt::format("{} clusters were asked for, but there are only {} rows; k must be at most that", k, points.n));
    }
  }
  if (hooks.initial.data == nullptr) return;
  if (options.k.size() != 1 || hooks.initial.n != options.k[0]) {
    throw Error(ErrorCode::kUsage, "initial prototypes",
                fmt::format("{} prototypes are given; give one k, and that number", hooks.initial.n));
  }
  if (options.models != 1) {
    throw Error(ErrorCode::kUsage, "models", "models from the same given prototypes would all be equal; use 1");
  }
  if (hooks.initial.d != points.d) {
    throw Error(ErrorCode::kBadData, "initial prototypes",
                fmt::format("they have {} columns, the points have {}", hooks.initial.d, points.d));
  }
}

std::vector<Member> make_members(const FitOptions& options, const PointsView& points, bool given) {
  std::vector<Member> members;
  for (const int64_t k : options.k) {
    for (int64_t replica = 0; replica < options.models; ++replica) {
      Member member;
      member.result.k = member.result.k_requested = k;
      member.result.replica = replica;
      member.result.seed = options.model_seed.value_or(member_seed(options.seed, k, replica));
      member.result.init = given ? "given" : std::string(find_init(options.init, points.n, k, points.d).name);
      members.push_back(std::move(member));
    }
  }
  return members;
}

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
      const Cost mine = fit_group(context, {&members[static_cast<size_t>(member)], 1}, alone);
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

// Spreads the ensemble over groups and threads as the strategy says.
Cost run_strategy(const FitContext& context, std::span<Member> members, ThreadPool& pool) {
  Cost cost;
  switch (context.options.strategy) {
    case Strategy::kConcatenated: return fit_group(context, members, pool);
    case Strategy::kData:
      for (Member& member : members) {
        if (context.control.stopped()) break;
        cost += fit_group(context, {&member, 1}, pool);
      }
      return cost;
    case Strategy::kTask: return fit_side_by_side(context, members, pool.size());
  }
  return cost;
}

// The same with a checkpoint, which is written in the end, whatever the end is.
Cost run_and_write_down(const FitContext& context, std::span<Member> members, ThreadPool& pool) {
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

void collect(std::vector<Member>& members, FitResult& result) {
  int64_t not_begun = 0;
  for (Member& member : members) {
    if (member.result.labels.empty()) {  // whatever a checkpoint knows of it
      ++not_begun;
      member.result.stop_reason = StopReason::kNotBegun;
      member.result.k = member.result.k_requested;
      member.result.iterations = 0;
    }
    for (std::string& warning : member.warnings) result.warnings.push_back(std::move(warning));
    result.models.push_back(std::move(member.result));
  }
  if (not_begun > 0) {
    result.warnings.push_back(
        fmt::format("{} of {} models had not begun when the fit was stopped", not_begun, members.size()));
  }
}

// Made before anything is allocated.
MemoryPlan plan_memory_of(const PointsView& points, bool weights, bool given, const FitOptions& options,
                          const Backend& backend) {
  if (!backend.keeps_to_memory()) {
    if (options.memory.bytes == 0 || backend.keeps_to_device_memory()) return {};
    throw Error(ErrorCode::kUsage, "memory",
                fmt::format("the backend {} keeps to no limit; use cpu, cuda or reference", backend.name()));
  }
  if (points.n < 1 || points.d < 1) return {};  // an error of its own
  MemoryTask task;
  task.points = points;
  task.weights = weights;
  task.strategy = options.strategy;
  task.threads = backend.threads();
  for (const int64_t k : options.k) {
    task.k.insert(task.k.end(), static_cast<size_t>(options.models), std::min(k, points.n));
    task.oversamples |= !given && find_init(options.init, points.n, k, points.d).name == "k-means||";
  }
  if (options.memory.bytes == 0 && fits_easily(task)) return {};
  task.in_file = lies_in_file(points.data, points.bytes());
  return plan_memory(task, options.memory.bytes);
}

Error out_of_memory(const PointsView& points) {
  return Error(ErrorCode::kUnavailable, "memory",
               fmt::format("there is not enough memory for {} rows of {} columns and these models; "
                           "use fewer models at a time, or strategy = data",
                           points.n, points.d));
}

void tell_cost(const Cost& cost, Provenance& provenance) {
  // Parts of the phase "fit"; under the strategy task they are summed over the threads.
  provenance.seconds.emplace_back("fit: initialise", cost.initialise);
  provenance.seconds.emplace_back("fit: passes", cost.iterate);
  provenance.seconds.emplace_back("fit: update", cost.update);
  provenance.seconds.emplace_back("fit: finish", cost.finish);
  provenance.passes = cost.passes;
  provenance.total = cost.sum;
  provenance.pass_log = cost.log;
}

FitResult fit_checked(const PointsView& points, std::span<const double> weights, const FitOptions& options,
                      const FitHooks& hooks, BackendOptions tuning) {
  Control control(hooks, options.time_limit);
  FitResult result;
  Provenance& provenance = result.provenance;
  double last = 0;
  const auto end_phase = [&](const char* name) {
    const double now = control.seconds();
    provenance.seconds.emplace_back(name, now - last);
    last = now;
  };

  tuning.threads = options.threads;
  tuning.algorithm = options.algorithm;
  tuning.abort = hooks.abort;
  tuning.cancel = hooks.cancel;
  tuning.device_memory = options.memory.bytes;
  const std::unique_ptr<Backend> backend = make_backend(options.backend, points, tuning);
  ThreadPool pool(backend->threads(), hooks.abort);
  const bool given = hooks.initial.data != nullptr;
  const MemoryPlan memory = plan_memory_of(points, !weights.empty(), given, options, *backend);
  const Input input = prepare_input(points, weights, pool, memory);
  check_against_points(options, points, hooks);
  await_points(hooks.initial);
  const std::vector<StopRule> rules = parse_stop_rules(options.stop, options.tol);
  const double variance = has_rule(rules, StopReason::kTol) ? mean_variance(column_moments(input, pool)) : 0;
  std::optional<InertiaEstimate> estimate;
  if (hooks.progress) estimate.emplace(input, pool);
  std::vector<Member> members = make_members(options, points, given);
  std::optional<Checkpoint> checkpoint;
  if (!hooks.checkpoint.path.empty()) {
    checkpoint.emplace(hooks, identity_of(input, weights, options, hooks.initial, pool), members);
    checkpoint->resume(options, input);
  }
  end_phase("validate");

  const std::unique_ptr<Upload> upload =
      upload_points(*backend, input, workload_of(options, members, backend->threads()), pool, hooks.abort);
  end_phase("upload");

  const std::unique_ptr<Comm> comm = make_self_comm();
  const FitContext context{input,
                           options,
                           hooks,
                           *backend,
                           *upload,
                           *comm,
                           control,
                           rules,
                           variance,
                           estimate ? &*estimate : nullptr,
                           checkpoint ? &*checkpoint : nullptr};
  const Cost cost = run_and_write_down(context, members, pool);
  check_mapped(points.data);
  end_phase("fit");
  tell_cost(cost, provenance);

  provenance.version = MANYMEANS_VERSION;
  provenance.backend = backend->name();
  provenance.instruction_set = backend->instruction_set();
  provenance.plan = upload->plan();
  provenance.memory = memory.text;
  provenance.threads = pool.size();  // the system may have given fewer than asked for
  provenance.rows = points.n;
  provenance.columns = points.d;
  provenance.type = points.type;
  provenance.options = options;
  result.interrupted = control.stopped().has_value();
  result.warnings = upload->warnings();
  if (checkpoint) {
    result.warnings.insert(result.warnings.end(), checkpoint->warnings().begin(), checkpoint->warnings().end());
  }
  collect(members, result);
  if (hooks.log) {
    for (const std::string& warning : result.warnings) hooks.log(warning);
  }
  return result;
}

}  // namespace

FitResult fit(const PointsView& points, std::span<const double> weights, const FitOptions& options,
              const FitHooks& hooks) {
  return fit_tuned(points, weights, options, hooks, {});
}

FitResult fit_tuned(const PointsView& points, std::span<const double> weights, const FitOptions& options,
                    const FitHooks& hooks, const BackendOptions& tuning) {
  const FpEnvironmentGuard guard;
  if (hooks.checkpoint.every < 0) {
    throw Error(ErrorCode::kUsage, "every",
                fmt::format("{} is negative; 0 means by the clock", hooks.checkpoint.every));
  }
  try {
    check(options);
    return fit_checked(points, weights, options, hooks, tuning);
  } catch (const std::bad_alloc&) {
    throw out_of_memory(points);
  } catch (const std::length_error&) {  // more than a vector can ever hold
    throw out_of_memory(points);
  }
}

}  // namespace manymeans
