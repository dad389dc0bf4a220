#include <manymeans/fit_each.h>

#include "core/aligned_buffer.h"
#include "core/fp_environment.h"
#include "core/memory_space.h"
#include "core/out_of_memory.h"
#include "core/sparse_rows.h"
#include "core/threads.h"
#include "data/content_hash.h"
#include "data/input.h"
#include "engine/checkpoint.h"
#include "engine/fit_on.h"
#include "engine/fit_shard.h"
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

void check_number(const char* what, size_t given, int64_t needed, const char* of) {
  if (given == 0 || static_cast<int64_t>(given) == needed) return;
  throw Error(ErrorCode::kUsage, what,
              fmt::format("has {} numbers; one for each of the {} {} is right", given, needed, of));
}

void check_groups(std::span<const int64_t> groups, int64_t rows) {
  if (groups.size() < 2) {
    throw Error(ErrorCode::kUsage, "groups",
                fmt::format("{} offsets were given, for no problem; B problems have B + 1", groups.size()));
  }
  for (size_t b = 0; b + 1 < groups.size(); ++b) {
    const int64_t first = groups[b], last = groups[b + 1];
    if (first >= 0 && first <= last && last <= rows) continue;
    throw ProblemError(static_cast<int64_t>(b),
                       {ErrorCode::kUsage, "groups",
                        fmt::format("its offsets are {} and {}; they must ascend from 0 to {}, the number of rows",
                                    first, last, rows)});
  }
  if (groups.front() == 0 && groups.back() == rows) return;
  throw Error(ErrorCode::kUsage, "groups",
              fmt::format("they go from {} to {}; the first must be 0, the last {}, the number of rows", groups.front(),
                          groups.back(), rows));
}

// The problems of a call, each as fit() takes it.
class Problems {
 public:
  Problems(const PointsView& points, std::span<const double> weights, std::span<const int64_t> groups,
           const EachOptions& options, const PointsView& initial)
      : points_(points), weights_(weights), groups_(groups), options_(options), initial_(initial) {
    check_groups(groups, points.n);
    check_number("weights", weights.size(), points.n, "rows");
    check_number("k_each", options.k_each.size(), count(), "problems");
    check_number("seed_each", options.seed_each.size(), count(), "problems");
    if (options.model_seed && !options.seed_each.empty()) {
      throw Error(ErrorCode::kUsage, "model_seed", "it takes the place of seeds; leave it or seed_each out");
    }
    FitOptions common = options;
    if (!options.k_each.empty()) common.k = {1};  // each is checked with its problem
    check(common);
    if (initial.data != nullptr) place_initial();
    if (!points.on_device() || is_sparse(points) || options.backend != "auto" || !are_small()) return;
    fetch(points_, fetched_);
    fetch(initial_, fetched_initial_);
  }

  int64_t count() const { return std::ssize(groups_) - 1; }

  PointsView points(int64_t problem) const {
    const int64_t first = groups_[static_cast<size_t>(problem)];
    return rows_of_view(points_, first, groups_[static_cast<size_t>(problem) + 1] - first);
  }

  // Points of a view of sparse points are a view themselves, which `sparse` keeps.
  PointsView points(int64_t problem, SparseView& sparse) const {
    const PointsView mine = points(problem);
    if (!is_sparse(points_)) return mine;
    sparse = sparse_view(points_);
    sparse.starts += groups_[static_cast<size_t>(problem)];
    sparse.n = mine.n;
    return sparse.points();
  }

  std::span<const double> weights(int64_t problem) const {
    if (weights_.empty()) return weights_;
    const auto first = static_cast<size_t>(groups_[static_cast<size_t>(problem)]);
    return weights_.subspan(first, static_cast<size_t>(points(problem).n));
  }

  FitOptions options(int64_t problem) const {
    const auto b = static_cast<size_t>(problem);
    FitOptions options = options_;
    if (!options_.k_each.empty()) options.k = {options_.k_each[b]};
    if (!options_.seed_each.empty()) options.seed = options_.seed_each[b];
    return options;
  }

  PointsView initial(int64_t problem) const {
    if (initial_.data == nullptr) return {};
    const auto b = static_cast<size_t>(problem);
    return rows_of_view(initial_, initial_ends_[b], initial_ends_[b + 1] - initial_ends_[b]);
  }

  // Of each problem.
  size_t models() const {
    return static_cast<size_t>(options_.models) * (options_.k_each.empty() ? options_.k.size() : 1);
  }

  FitIdentity identity(ThreadPool& pool) const {
    Input all;
    all.points = points_;
    all.shard.all = points_.n;
    FitIdentity identity = identity_of(all, weights_, options_, initial_, pool);
    const auto add = [&](const char* name, const auto& numbers) {
      const PointsView bytes{numbers.data(), 1, std::ssize(numbers) * 8, DataType::kUInt8};
      identity.options.emplace_back(name,
                                    fmt::format("{} numbers ({:032x})", numbers.size(), content_hash(bytes, pool)));
    };
    add("groups", groups_);
    add("k_each", options_.k_each);
    add("seed_each", options_.seed_each);
    return identity;
  }

  // Prototypes of all its models; where k is out of range, those that it may have.
  int64_t prototypes(int64_t problem) const {
    const auto within = [](int64_t k) { return std::clamp<int64_t>(k, 0, kMaxClusters); };
    if (!options_.k_each.empty()) return options_.models * within(options_.k_each[static_cast<size_t>(problem)]);
    return options_.models * std::accumulate(options_.k.begin(), options_.k.end(), int64_t{0});
  }

 private:
  static PointsView rows_of_view(const PointsView& all, int64_t first, int64_t rows) {
    PointsView view = all;
    view.n = rows;
    if (is_sparse(all)) return view;
    view.data = static_cast<const std::byte*>(all.data) +
                static_cast<size_t>(first) * static_cast<size_t>(all.d) * size_of(all.type);
    return view;
  }

  // Telling a device what to do takes longer than a small problem takes a thread of the processor.
  bool are_small() const {
    constexpr double kProducts = 5e5;              // of a pass, for each thread: above, a device takes no longer
    constexpr size_t kMaxBytes = size_t{4} << 30;  // of the copy
    const double most = kProducts * thread_count(options_.threads);
    for (int64_t b = 0; b < count(); ++b) {
      const auto rows = static_cast<double>(points(b).n);
      if (rows * static_cast<double>(prototypes(b)) * static_cast<double>(points_.d + 8) > most) return false;
    }
    return points_.bytes() <= kMaxBytes;
  }

  static void fetch(PointsView& points, AlignedBuffer<std::byte>& copy) {
    if (!points.on_device()) return;
    await_points(points);
    copy = AlignedBuffer<std::byte>(points.bytes());
    memory_space(points).fetch_bytes(points, 0, points.bytes(), copy.data());
    points = {copy.data(), points.n, points.d, points.type};
  }

  void place_initial() {
    initial_ends_ = {0};
    for (int64_t b = 0; b < count() && initial_ends_.back() <= initial_.n; ++b) {
      initial_ends_.push_back(initial_ends_.back() + prototypes(b));
    }
    if (std::ssize(initial_ends_) == count() + 1 && initial_ends_.back() == initial_.n) return;
    throw Error(ErrorCode::kUsage, "initial",
                fmt::format("there are {} initial prototypes; k for each model of each of the {} problems are right",
                            initial_.n, count()));
  }

  PointsView points_;
  std::span<const double> weights_;
  std::span<const int64_t> groups_;
  const EachOptions& options_;
  PointsView initial_;
  std::vector<int64_t> initial_ends_;
  AlignedBuffer<std::byte> fetched_, fetched_initial_;  // small problems of a device, for the processor
};

class EachFit {
 public:
  EachFit(const Problems& problems, const EachOptions& options, const FitHooks& hooks)
      : problems_(problems), options_(options), hooks_(hooks), time_(options.time_limit) {
    fit_hooks_.cancel = hooks.cancel;
    fit_hooks_.abort = hooks.abort;
    fit_hooks_.labels = hooks.labels;
    fit_hooks_.checkpoint.path = hooks.checkpoint.path;  // for messages: checkpoint_ has the file
  }

  EachResult run() {
    result_.fits.resize(static_cast<size_t>(problems_.count()));
    FitOptions options = problems_.options(0);
    const std::shared_ptr<Backend> shared = backend_for(options);
    if (!hooks_.checkpoint.path.empty()) {
      ThreadPool pool(shared->threads(), hooks_.abort);
      checkpoint_.emplace(hooks_, problems_.identity(pool), problems_.models() * result_.fits.size());
      if (checkpoint_->load() && hooks_.log) {
        hooks_.log(fmt::format("going on from checkpoint {}", hooks_.checkpoint.path));
      }
    }
    const auto fit_all = [&] {
      fit_problems(options, shared);
      if (failed_) throw *failed_;
    };
    checkpoint_ ? save_at_end(*checkpoint_, hooks_, fit_all) : fit_all();
    if (checkpoint_) result_.warnings = checkpoint_->warnings();
    std::ranges::sort(result_.errors, {}, &ProblemError::problem);
    return std::move(result_);
  }

 private:
  using Order = std::vector<int64_t>;

  void fit_problems(FitOptions options, const std::shared_ptr<Backend>& shared) {
    const bool on_cpu = shared->keeps_to_memory();
    const auto last_wide = on_cpu ? order_by_work(shared->threads()) : order_by_bytes();
    for (auto b = order_.begin(); b != last_wide; ++b) fit_problem(*b, options.threads, shared);
    const std::span<const int64_t> others(last_wide, order_.end());
    options.threads = 1;
    fit_side_by_side(others, options, on_cpu ? shared->threads() : std::min(shared->threads(), device_workers(others)));
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

  // Problems of a device that are fitted at the same time take this much of its memory: all their points, some copies.
  static constexpr size_t kDeviceBytes = size_t{512} << 20;

  // Puts first the problems that are too large for that, and returns their end. A limit of memory holds for one fit at
  // a time.
  Order::iterator order_by_bytes() {
    const auto is_wide = [this](int64_t b) {
      return options_.memory.bytes > 0 || problems_.points(b).bytes() > kDeviceBytes / 2;
    };
    return std::stable_partition(order_.begin(), order_.end(), is_wide);
  }

  // Queues of a device overlap, and the host prepares a problem while the device works. More workers gain nothing.
  int device_workers(std::span<const int64_t> problems) const {
    constexpr size_t kMaxWorkers = 8;
    size_t largest = 1;
    for (const int64_t b : problems) largest = std::max(largest, problems_.points(b).bytes());
    const size_t devices = backend_names(options_.backend).size();
    return static_cast<int>(devices * std::min(kMaxWorkers, kDeviceBytes / largest));
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
    const size_t models = problems_.models(), first = static_cast<size_t>(problem) * models;
    std::vector<ModelState> states;
    if (checkpoint_) states = checkpoint_->states(first, models);
    try {
      result = fit_on({backend, checkpoint_ ? &states : nullptr}, problems_.points(problem, sparse),
                      problems_.weights(problem), options, hooks);
      if (checkpoint_) checkpoint_->keep(first, states);
      result.provenance.options.time_limit = options_.time_limit;
      result.provenance.options.threads = options_.threads;
    } catch (const Error& error) {
      const bool of_problem = error.code() == ErrorCode::kUsage || error.code() == ErrorCode::kBadData ||
                              error.code() == ErrorCode::kUnavailable;
      if (!of_problem || !devices_answer()) throw;
      add({problem, error});
    }
    if (checkpoint_) checkpoint_->count(1);
    report(problem, result);
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

  const Problems& problems_;
  const EachOptions& options_;
  const FitHooks& hooks_;
  TimeLeft time_;
  FitHooks fit_hooks_;
  Order order_ = [this] {
    Order order(static_cast<size_t>(problems_.count()));
    std::iota(order.begin(), order.end(), int64_t{0});
    return order;
  }();
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<Checkpoint> checkpoint_;
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
    const Problems problems(points, weights, groups, options, hooks.initial);
    return EachFit(problems, options, hooks).run();
  });
}

}  // namespace manymeans
