#include <manymeans/fit_each.h>

#include "core/fp_environment.h"
#include "core/memory_space.h"
#include "core/out_of_memory.h"
#include "core/sparse_rows.h"
#include "core/threads.h"
#include "engine/checkpoint.h"
#include "engine/fit_on.h"
#include "engine/fit_shard.h"
#include "engine/joined_fits.h"
#include "engine/problems.h"
#include "engine/stop_flag.h"
#include "engine/strategies.h"
#include "engine/time_left.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

namespace manymeans {
namespace {

class EachFit {
 public:
  EachFit(Problems& problems, const EachOptions& options, const FitHooks& hooks, const SavedProblems& saved)
      : problems_(problems), options_(options), hooks_(hooks), saved_(saved), time_(options.time_limit) {
    fit_hooks_.cancel = hooks.cancel;
    fit_hooks_.abort = hooks.abort;
    fit_hooks_.labels = hooks.labels;
  }

  EachResult run() {
    result_.fits.resize(static_cast<size_t>(problems_.count()));
    FitOptions options = problems_.options(0);
    const std::shared_ptr<Backend> shared = backend_for(options);
    if (!hooks_.checkpoint.path.empty()) {
      ThreadPool pool(shared->threads(), hooks_.abort);
      checkpoint_.emplace(hooks_, problems_.identity(pool), problems_.models() * result_.fits.size());
      checkpoint_->load();
    }
    const auto fit_all = [&] {
      fit_all_problems(options, shared);
      if (failed_) throw *failed_;
    };
    checkpoint_ ? save_at_end(*checkpoint_, hooks_, fit_all) : fit_all();
    if (checkpoint_) result_.warnings = checkpoint_->warnings();
    std::ranges::sort(result_.errors, {}, &ProblemError::problem);
    return std::move(result_);
  }

 private:
  using Order = std::vector<int64_t>;

  void fit_all_problems(FitOptions options, std::shared_ptr<Backend> shared) {
    if (shared->max_joined_products() > 0 && !checkpoint_) join_problems(*shared);
    const PointsView& all = problems_.all_points();
    const bool on_auto = all.on_device() && !is_sparse(all) && options_.backend == "auto";
    if (on_auto && !order_.empty() && problems_.are_small(order_)) {
      problems_.fetch_points();
      shared = backend_for(options);
    }
    const bool on_cpu = shared->keeps_to_memory();
    const size_t together = shared->bytes_side_by_side();
    const auto last_wide = on_cpu ? order_by_work(shared->threads()) : order_by_bytes(together);
    for (auto b = order_.begin(); b != last_wide; ++b) fit_problem(*b, options.threads, shared);
    const std::span<const int64_t> others(last_wide, order_.end());
    options.threads = 1;
    fit_side_by_side(others, options,
                     on_cpu ? shared->threads() : std::min(shared->threads(), device_workers(others, together)));
  }

  // Fits small problems in common passes. The others stay in order_.
  void join_problems(Backend& backend) {
    std::vector<bool> done(result_.fits.size());
    EachOptions options = options_;
    for (const std::vector<int64_t>& group : groups_to_join(backend, problems_, order_, options_)) {
      if (is_over(group.front())) break;
      options.time_limit = time_.seconds();
      std::vector<FitResult> found = fit_joined(backend, problems_, group, options, fit_hooks_);
      for (size_t i = 0; i < found.size(); ++i) {
        const int64_t problem = group[i];
        done[static_cast<size_t>(problem)] = true;
        report(problem, result_.fits[static_cast<size_t>(problem)] = std::move(found[i]));
      }
    }
    std::erase_if(order_, [&](int64_t problem) { return done[static_cast<size_t>(problem)]; });
  }

  std::shared_ptr<Backend> backend_for(const FitOptions& options) const {
    SparseView sparse;
    return backend_of_fit(problems_.points(0, sparse), options, fit_hooks_);
  }

  // Puts first the problems that would keep one thread longer than the others, all rest shared out evenly, and returns
  // their end. They come in their order, so that the first error ends the call. The others come largest first: threads
  // end together.
  Order::iterator order_by_work(int threads) {
    std::vector<double> work;
    for (const int64_t b : order_) {
      work.push_back(static_cast<double>(problems_.points(b).n) * static_cast<double>(problems_.prototypes(b)));
    }
    const auto work_of = [&](int64_t b) { return work[static_cast<size_t>(b)]; };
    std::ranges::stable_sort(order_, std::ranges::greater{}, work_of);
    double left = std::accumulate(work.begin(), work.end(), 0.0);
    auto end = order_.begin();
    for (; end != order_.end() && work_of(*end) * threads > left; ++end) left -= work_of(*end);
    std::sort(order_.begin(), end);
    return end;
  }

  // Puts first the problems that are too large for a device to fit four at a time, and returns their end. A limit of
  // memory holds for one fit at a time.
  Order::iterator order_by_bytes(size_t together) {
    const auto is_wide = [&](int64_t b) {
      return options_.memory.bytes > 0 || problems_.points(b).bytes() > together / 4;
    };
    return std::stable_partition(order_.begin(), order_.end(), is_wide);
  }

  // Queues of a device overlap, and the host prepares a problem while the device works. More workers gain nothing.
  int device_workers(std::span<const int64_t> problems, size_t together) const {
    constexpr size_t kMaxWorkers = 8;
    size_t largest = 1;
    for (const int64_t b : problems) largest = std::max(largest, problems_.points(b).bytes());
    const size_t devices = backend_names(options_.backend).size();
    return static_cast<int>(devices * std::min(kMaxWorkers, together / largest));
  }

  void fit_side_by_side(std::span<const int64_t> problems, FitOptions options, int threads) {
    if (problems.empty()) return;
    const std::vector<std::string> names = backend_names(options.backend);
    ThreadPool pool(static_cast<int>(std::min<int64_t>(threads, std::ssize(problems))), hooks_.abort);
    std::vector<std::shared_ptr<Backend>> backends;
    for (size_t worker = 0; worker < static_cast<size_t>(pool.size()); ++worker) {
      options.backend = names[worker % names.size()];
      backends.push_back(backend_for(options));
    }
    pool.for_each_range(std::ssize(problems), 1, [&](int worker, int64_t index, int64_t) {
      fit_problem(problems[static_cast<size_t>(index)], options.threads, backends[static_cast<size_t>(worker)]);
    });
  }

  void fit_problem(int64_t problem, int threads, const std::shared_ptr<Backend>& backend) {
    FitResult& result = result_.fits[static_cast<size_t>(problem)];
    if (is_over(problem)) {
      result.interrupted = true;
      return;
    }
    FitOptions options = problems_.options(problem);
    options.threads = threads;
    options.time_limit = time_.seconds();
    FitHooks hooks = fit_hooks_;
    hooks.initial = problems_.initial(problem);
    SparseView sparse;
    const auto number = static_cast<size_t>(problem);
    const FitAmongOthers place{backend, checkpoint_ ? &*checkpoint_ : saved_.checkpoint,
                               saved_.states.empty() ? number * problems_.models() : saved_.states[number]};
    try {
      result = fit_on(place, problems_.points(problem, sparse), problems_.weights(problem), options, hooks);
      result.provenance.options.time_limit = options_.time_limit;
      result.provenance.options.threads = options_.threads;
    } catch (const Error& error) {
      const bool of_problem = error.code() == ErrorCode::kUsage || error.code() == ErrorCode::kBadData ||
                              error.code() == ErrorCode::kUnavailable;
      if (!of_problem || !devices_answer()) throw;
      if (error.code() != ErrorCode::kBadData) std::call_once(checked_for_any_, [&] { check_for_any(options); });
      add({problem, error});
    }
    if (checkpoint_) checkpoint_->count(1);
    report(problem, result);
  }

  // Throws what is wrong with options that no problem can have.
  void check_for_any(FitOptions options) const {
    const float one = 1;
    options.k = {1};
    options.models = 1;
    options.threads = 1;  // more need more memory
    options.min_size = options.max_size = 0;
    FitHooks hooks;
    hooks.abort = hooks_.abort;
    fit({&one, 1, 1}, {}, options, hooks);
  }

  bool is_over(int64_t problem) {
    const std::lock_guard lock(mutex_);
    if (failed_ && failed_->problem() < problem) return true;
    stopped_ |= is_set(hooks_.cancel);
    result_.interrupted |= stopped_;
    return stopped_;
  }

  // Throws the error of the first problem, as if they had come one after the other.
  void add(const ProblemError& error) {
    const std::lock_guard lock(mutex_);
    if (options_.errors == ProblemErrors::kSkip) {
      result_.errors.push_back(error);
    } else if (!failed_ || error.problem() < failed_->problem()) {
      failed_ = error;
    }
  }

  void report(int64_t problem, const FitResult& result) {
    const std::lock_guard lock(mutex_);
    ++done_;
    result_.interrupted |= result.interrupted;
    for (size_t i = 0; hooks_.log && i < result.warnings.size(); ++i) {
      hooks_.log(fmt::format("[problem {}] {}", problem, result.warnings[i]));
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
    const int64_t left = problems_.count() - done_;
    if (!hooks_.progress || stopped_ || (left > 0 && seconds.count() - last_report_ < hooks_.pause)) return;
    last_report_ = seconds.count();
    stopped_ = !hooks_.progress(
        {"problems", done_, problems_.count(), left, problems_.count(), std::nan(""), 0, seconds.count()});
  }

  Problems& problems_;
  const EachOptions& options_;
  const FitHooks& hooks_;
  const SavedProblems& saved_;
  TimeLeft time_;
  FitHooks fit_hooks_;
  Order order_ = [this] {
    Order order(static_cast<size_t>(problems_.count()));
    std::iota(order.begin(), order.end(), int64_t{0});
    return order;
  }();
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<Checkpoint> checkpoint_;
  std::once_flag checked_for_any_;
  std::mutex mutex_;  // of what follows
  EachResult result_;
  std::optional<ProblemError> failed_;
  int64_t done_ = 0;
  double last_report_ = -std::numeric_limits<double>::infinity();
  bool stopped_ = false;
};

}  // namespace

std::vector<int64_t> equal_groups(int64_t problems, int64_t rows) {
  if (problems < 0 || rows < 0 || (rows > 0 && problems > std::numeric_limits<int64_t>::max() / rows)) {
    throw Error(ErrorCode::kUsage, "groups",
                fmt::format("{} problems of {} rows cannot be; all rows are 0 to 2^63 - 1", problems, rows));
  }
  return or_out_of_memory("memory", "use fewer problems at a time", [&] {
    std::vector<int64_t> groups(static_cast<size_t>(problems) + 1);
    for (size_t b = 1; b < groups.size(); ++b) groups[b] = groups[b - 1] + rows;
    return groups;
  });
}

EachResult fit_each(const PointsView& points, std::span<const double> weights, std::span<const int64_t> groups,
                    const EachOptions& options, const FitHooks& hooks) {
  const FpEnvironmentGuard guard;
  refuse_ranks(hooks, "fit_each()");
  check(hooks.checkpoint);
  return or_out_of_memory("memory", "use fewer problems at a time", [&] {
    if (is_sparse(points)) await_points(points);  // whose offsets the problems share
    Problems problems(points, weights, groups, options, hooks.initial);
    return fit_problems(problems, options, hooks);
  });
}

EachResult fit_problems(Problems& problems, const EachOptions& options, const FitHooks& hooks,
                        const SavedProblems& saved) {
  return EachFit(problems, options, hooks, saved).run();
}

}  // namespace manymeans
