#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "backend/balanced/balanced_upload.h"
#include "backend/deduplicated/deduplicated_upload.h"
#include "backend/devices.h"
#include "backend/remote/remote_upload.h"
#include "backend/sharded/sharded_upload.h"
#include "comm/or_abort.h"
#include "comm/ranks_of_machine.h"
#include "core/aligned_buffer.h"
#include "core/data_type.h"
#include "core/digest.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/memory_space.h"
#include "core/out_of_memory.h"
#include "core/random.h"
#include "core/sparse_rows.h"
#include "core/threads.h"
#include "data/content_hash.h"
#include "data/unit_rows.h"
#include "data/weight_range.h"
#include "engine/check_clusters.h"
#include "engine/fit_on.h"
#include "engine/fit_shard.h"
#include "engine/gathered_warnings.h"
#include "engine/lloyd.h"
#include "engine/members.h"
#include "engine/search_task.h"
#include "engine/strategies.h"
#include "engine/swap_search.h"
#include "engine/tuned.h"
#include "engine/workload_of_fit.h"
#include "prototype/direction.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

namespace manymeans {
namespace {

// The caller's request.
struct Task {
  const PointsView& points;
  std::span<const double> weights;
  const FitOptions& options;
  const FitHooks& hooks;

  bool given() const { return hooks.initial.data != nullptr; }  // the initial prototypes
};

constexpr std::string_view kByFeatures = "kmeans-x";  // an initialisation

// Where a fit runs, and for what.
struct FitPlace {
  const Tuning& tuning;
  Comm& comm;
  const FitKind& kind;
  RemoteShards* remote = nullptr;  // these have the rows
  bool within_another = false;     // a fit that is a part of another one
  FitAmongOthers given = {};       // by a caller of several fits
};

// Checks options and hooks against the shape of the points, without a look at their values. All ranks have `rows` rows
// in total.
void check_against_points(const Task& task, int64_t rows, const Prototype& prototype) {
  const int64_t d = task.points.d;
  if (rows < 1 || d < 1) return;  // which prepare_input() says
  for (const int64_t k : task.options.k) check_clusters(k, rows);
  if (task.given()) check_given(task.hooks.initial, task.options, prototype.width(d));
}

SizeLimits sizes_of(const FitOptions& options) {
  return {options.min_size, options.max_size};
}

// Where clusters have sizes to keep to. Which cluster one of all `rows` gets depends on all others.
void check_balanced(const FitOptions& options, int64_t rows, const Backend& backend) {
  if (rows < 1) return;  // an error of its own
  for (const int64_t k : options.k) {
    check_sizes(sizes_of(options), rows, k);
    check_costs(sizes_of(options), rows, k);
    const int64_t bytes = rows * k * static_cast<int64_t>(sizeof(int64_t));
    const int64_t limit = backend.keeps_to_memory() ? options.memory.bytes : 0;
    if (limit == 0 || bytes <= limit) continue;
    throw Error(ErrorCode::kUnavailable, "memory",
                fmt::format("{} is too little for sizes of clusters: the costs of {} rows in {} clusters take {} bytes",
                            name_of(options.memory), rows, k, bytes));
  }
}

// Made before anything is allocated.
MemoryPlan plan_memory_of(const Task& asked, const Backend& backend, const FitKind& kind) {
  const FitOptions& options = asked.options;
  const PointsView& points = asked.points;
  if (!backend.keeps_to_memory()) {
    if (options.memory.bytes == 0 || backend.keeps_to_device_memory()) return {};
    throw Error(ErrorCode::kUsage, "memory",
                fmt::format("the backend {} keeps to no limit; use cpu, cuda, opencl or reference", backend.name()));
  }
  if (points.n < 1 || points.d < 1) return {};  // an error of its own, or a rank without rows
  if (is_sparse(points) && options.memory.bytes == 0) return {};
  if (is_sparse(points) && kind.search != nullptr) {
    throw Error(ErrorCode::kUsage, "memory", "a search of sparse points keeps to no limit; leave it out");
  }
  MemoryTask task;
  task.points = points;
  task.weights = !asked.weights.empty();
  task.strategy = options.strategy;
  task.threads = backend.threads();
  for (const int64_t k : options.k) {
    task.k.insert(task.k.end(), static_cast<size_t>(options.models), std::min(k, points.n));
    task.oversamples |=
        !asked.given() && find_init(options.init, kind.prototype, points.n, k, points.d).name == "k-means||";
  }
  if (kind.prototype.linear) {
    task.terms = kind.prototype.terms(points.d);
    task.swaps = kind.swaps > 0;
    task.clusters = !asked.given() && (options.init == "kmeans" || options.init == kByFeatures);
    task.copies_features = !asked.given() && options.init == kByFeatures;
  }
  if (options.memory.bytes == 0 && fits_easily(task)) return {};
  task.in_file = !is_sparse(points) && lies_in_file(points.data, points.bytes());
  task.copied = is_sparse(points) && options.metric == Metric::kCosine;
  return plan_memory(task, options.memory.bytes);
}

// Hashes what all ranks must share: the options that decide the answer, and the order in which models are fitted.
uint64_t hash_of(const Task& task, const FitKind& kind, ThreadPool& pool) {
  const PointsView& initial = task.hooks.initial;
  std::string text = std::string(name_of(task.options.strategy));
  for (const auto& [name, value] : deciding_options(task.options)) text += "\n" + name + " " + value;
  for (const auto& [name, value] : kind.deciding()) text += "\n" + name + " " + value;
  const auto d = static_cast<int64_t>(text.size());
  const ContentHash given = initial.data == nullptr ? 0 : content_hash(initial, pool);
  return static_cast<uint64_t>(content_hash({text.data(), 1, d, DataType::kUInt8}, pool) + given);
}

// Ranks seed as many models together as the one that has the least memory for it.
void agree_about_memory(MemoryPlan& plan, Comm& comm) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  const int64_t fewest = comm.min(plan.seeded_together > 0 ? plan.seeded_together : kAny);
  plan.seeded_together = fewest == kAny ? 0 : fewest;
}

// Ranks of one machine take its devices in turn, unless they are told which.
int device_of_rank(const std::string& backend, Comm& comm) {
  if (comm.alone()) return 0;
  const int mine = rank_on_machine(comm);
  const int devices = device_count(backend);
  return devices > 1 ? mine % devices : 0;
}

// The models of a search differ little from one pass to the next, so bounds keep most of their labels. With few columns
// a screen takes less time than asking them (bench/results/amd-epyc-2cpu/search-beside-breathing.md); sparse points
// have no bounds.
bool wants_bounds(const Task& task, const FitKind& kind) {
  constexpr int64_t kMinColumns = 12;
  return kind.search != nullptr && task.options.algorithm == "auto" && task.points.d >= kMinColumns &&
         !is_sparse(task.points) && (task.options.backend == "auto" || task.options.backend == "cpu");
}

BackendOptions backend_options(const Task& task, const FitPlace& place) {
  BackendOptions options;
  options.device = device_of_rank(task.options.backend, place.comm);
  options.threads = task.options.threads;
  options.algorithm = wants_bounds(task, place.kind) ? "bounds" : task.options.algorithm;
  options.abort = task.hooks.abort;
  options.cancel = task.hooks.cancel;
  options.device_memory = task.options.memory.bytes;
  options.tuning = place.tuning;
  return options;
}

std::shared_ptr<Backend> make_backend_of(const Task& task, const FitPlace& place) {
  return make_backend(task.options.backend, task.points, backend_options(task, place));
}

// One fit: what comes to be on its way, in this order.
class Fit {
 public:
  Fit(const Task& task, const FitPlace& place)
      : task_(task),
        place_(place),
        comm_(place.comm),
        control_(task.hooks, task.options.time_limit, place.comm),
        labels_(task.hooks.labels),
        backend_(place.given.backend ? place.given.backend : make_backend_of(task, place)),
        pool_(backend_->threads(), task.hooks.abort),
        points_(task.points) {}

  FitResult run() {
    check();
    if (task_.options.metric == Metric::kCosine && place_.remote == nullptr) scale_rows();
    read();
    prepare();
    end_phase("validate");
    upload();
    end_phase("upload");
    const Cost cost = iterate();
    check_mapped(task_.points.data);
    end_phase("fit");
    return report(cost);
  }

 private:
  void check();
  void scale_rows();
  void read();
  void prepare();
  void open_checkpoint();
  void upload();
  Cost iterate();
  void copy_features();
  PointsView features() const;
  std::optional<Labels> cluster(const Clustering& clustering, int threads, TimeLimit limit);
  FitResult report(const Cost& cost);
  void warn_of_weights(FitResult& result);

  Upload& labelled() { return balanced_ ? *balanced_ : *upload_; }

  // Since the phase before ended.
  void end_phase(const char* name) {
    const double now = control_.seconds();
    seconds_.emplace_back(name, now - last_);
    last_ = now;
  }

  const Task& task_;
  const FitPlace& place_;
  Comm& comm_;
  Control control_;
  BestLabels labels_;
  std::vector<std::pair<std::string, double>> seconds_;
  double last_ = 0;
  std::shared_ptr<Backend> backend_;
  ThreadPool pool_;
  RowCopy unit_;                          // the rows scaled to length one, where the metric asks for it
  PointsView points_;                     // what is fitted: these, or the caller's
  std::unique_ptr<CopiedPoints> copied_;  // of the input, if it has a copy
  AlignedBuffer<std::byte> features_;     // the columns but the last, where models begin with clusters by features
  Input input_;
  std::vector<StopRule> rules_;
  double variance_ = 0;                      // of the columns; only for the stop rule tol
  std::optional<InertiaEstimate> estimate_;  // where somebody is told
  std::vector<Member> members_;
  std::optional<Checkpoint> checkpoint_;
  std::shared_ptr<Upload> upload_;
  std::shared_ptr<Upload> balanced_;  // where clusters have sizes to keep to
};

// Refuses what can be refused before a point is read; ranks agree on what they do.
void Fit::check() {
  await_points(task_.hooks.initial);
  comm_.set_options(comm_.alone() ? 0 : hash_of(task_, place_.kind, pool_));
  int64_t rows = task_.points.n;
  comm_.sum({&rows, 1});
  check_against_points(task_, rows, place_.kind.prototype);
  if (task_.options.balanced()) check_balanced(task_.options, rows, *backend_);
  rules_ = parse_stop_rules(task_.options.stop, task_.options.tol);
}

// For the metric cosine. Ranks have to agree about the numbers of their rows first.
void Fit::scale_rows() {
  const int64_t memory = backend_->keeps_to_memory() ? task_.options.memory.bytes : 0;
  const Shard shard = find_shard(task_.points, task_.weights, comm_);
  check_together(comm_, [&] {
    if (task_.points.n > 0) unit_ = unit_rows(task_.points, {pool_.size(), memory, shard.first});
  });
  points_ = unit_.owner ? unit_.view : PointsView(nullptr, 0, task_.points.d, prototype_type(task_.points.type));
}

// Plans the memory, and validates the points where they are to be.
void Fit::read() {
  const Prototype& prototype = task_.options.metric == Metric::kCosine ? direction() : place_.kind.prototype;
  if (place_.remote != nullptr) {
    place_.remote->measure_by(task_.options.metric);
    input_ = place_.remote->input();
    return use_prototype(input_, prototype, pool_);
  }
  const Task fitted{points_, task_.weights, task_.options, task_.hooks};
  MemoryPlan memory = plan_memory_of(fitted, *backend_, place_.kind);
  agree_about_memory(memory, comm_);
  const Workload expected = workload_before_models(task_.options, place_.kind.search);
  try {
    if (!points_.on_device() && points_.data != nullptr) copied_ = backend_->copy(points_, expected);
  } catch (const Error& error) {  // others took the memory meanwhile
    if (error.code() != ErrorCode::kUnavailable || !devices_answer()) throw;
  }
  input_ = prepare_input(copied_ ? copied_->points() : GivenPoints{points_}, task_.weights, pool_, memory, comm_);
  if (copied_) input_.host_values = points_.data;
  use_prototype(input_, prototype, pool_);
  input_.linear = place_.kind.linear;
  input_.linear.largest = largest_coefficient(prototype_type(task_.points.type));
}

// Prepares the models, and what rules, reports and checkpoints need to know of the points.
void Fit::prepare() {
  if (any_needs(rules_, RuleNeed::kVariance)) variance_ = mean_variance(column_moments(input_, pool_));
  members_ = make_members(task_.options, task_.given(), input_);
  for (Member& member : members_) {
    if (place_.kind.swaps > 0) begin_search(member);
  }
  if (task_.given()) give_prototypes(task_.hooks.initial, input_, task_.options.metric, members_);
  members_[0].guess = place_.given.guess;
  const bool watched = task_.hooks.progress != nullptr && place_.kind.prototype.euclidean && place_.remote == nullptr;
  if (comm_.max(int64_t{watched}) > 0) estimate_.emplace(input_, pool_);
  open_checkpoint();
}

void Fit::open_checkpoint() {
  if (place_.given.checkpoint != nullptr) {
    checkpoint_.emplace(*place_.given.checkpoint, place_.given.state, members_);
    return checkpoint_->restore(task_.options, input_);
  }
  const int64_t writer = writing_rank(task_.hooks, comm_);
  if (writer == comm_.size()) return;
  FitIdentity identity = identity_of(input_, task_.weights, task_.options, task_.hooks.initial, pool_);
  for (auto& text : place_.kind.deciding()) identity.options.push_back(std::move(text));
  checkpoint_.emplace(task_.hooks, std::move(identity), members_, writer == comm_.rank());
  checkpoint_->resume(task_.options, input_);
  checkpoint_->check_same(pool_, comm_);
}

// Uploads the points to this rank's backend, and joins them with the points of the other ranks.
void Fit::upload() {
  Workload workload = workload_of(task_.options, members_, backend_->threads());
  if (place_.kind.search != nullptr) add_trials(*place_.kind.search, workload);
  workload.guessed = !members_[0].guess.empty() && !members_[0].begun;
  if (place_.remote != nullptr) upload_ = make_remote_upload(input_, *place_.remote, workload);
  if (upload_) return;
  std::shared_ptr<Upload> own;
  const auto upload_own = [&] {
    own = upload_points(*backend_, {input_, workload, place_.tuning.duplicates}, pool_, task_.hooks.abort);
  };
  try {
    if (input_.points.n > 0) upload_own();
  } catch (const Error& error) {
    if (!copied_ || error.code() != ErrorCode::kUnavailable || !devices_answer()) throw;
    input_.points = points_;  // there may be room for some of them at a time
    input_.host_values = nullptr;
    input_.spread = {};
    copied_.reset();
    upload_own();
  }
  const auto join = [&](std::shared_ptr<Upload> mine) {
    return comm_.alone() ? std::move(mine) : make_sharded_upload(input_, std::move(mine));
  };
  upload_ = join(own);
  if (task_.options.balanced()) {
    balanced_ = join(make_balanced_upload(input_, own, sizes_of(task_.options), task_.hooks.abort));
  }
}

// Where some model will begin with clusters by features. Before the models do, since they may do so side by side.
void Fit::copy_features() {
  constexpr int64_t kGrain = 4096;  // rows that a thread copies at a time
  const auto waits = [](const Member& member) {
    return member.result.init == kByFeatures && member.prototypes.empty();
  };
  if (std::ranges::none_of(members_, waits)) return;
  const PointsView points = input_.host_points();
  const size_t value = size_of(points.type);
  const size_t row = static_cast<size_t>(points.d) * value;
  features_ = AlignedBuffer<std::byte>(static_cast<size_t>(points.n) * (row - value));
  std::vector<std::vector<std::byte>> fetched(static_cast<size_t>(pool_.size()));
  input_.memory.window.for_each_range(pool_, points.n, kGrain, [&](int worker, int64_t first, int64_t last) {
    const std::byte* from = row_bytes(points, first, last - first, fetched[static_cast<size_t>(worker)]);
    std::byte* to = features_.data() + static_cast<size_t>(first) * (row - value);
    for (int64_t i = first; i < last; ++i, from += row, to += row - value) std::copy_n(from, row - value, to);
  });
}

PointsView Fit::features() const {
  const PointsView& points = input_.points;
  return {features_.data(), points.n, points.d - 1, points.type};
}

// Makes the clustering that initial prototypes come from: k-means of the same rows with the options that all fits have.
// It gets the memory that is left of this fit's, and the time (if that counts).
std::optional<Labels> Fit::cluster(const Clustering& clustering, int threads, TimeLimit limit) {
  FitOptions options;
  options.k = {clustering.k};
  options.model_seed = clustering.seed;
  options.backend = task_.options.backend;
  options.threads = threads;
  options.memory.bytes =
      backend_->keeps_to_memory() ? input_.memory.clustering : task_.options.memory.bytes;  // of a device
  constexpr double kMinLimit = 1e-9;                                                        // 0 would be none
  if (task_.options.time_limit > 0 && limit == TimeLimit::kKept) {
    options.time_limit = std::max(kMinLimit, task_.options.time_limit - control_.seconds());
  }
  FitHooks hooks;
  hooks.abort = task_.hooks.abort;
  hooks.cancel = task_.hooks.cancel;
  hooks.pause = task_.hooks.pause;
  if (task_.hooks.progress && comm_.alone()) {  // ranks would have to report equally often
    hooks.progress = [this, limit](Progress progress) {
      progress.phase = "initialise";
      progress.inertia_estimate = std::numeric_limits<double>::quiet_NaN();  // centroids have another estimate
      return limit == TimeLimit::kKept ? !control_.report(progress) : !control_.ended_by_caller(progress);
    };
  }
  const FitKind kind;
  const FitPlace place{place_.tuning, comm_, kind, nullptr, true};
  // The weights as they were given get the same integers again. The input's weights would lose their last bit where the
  // largest is 2^B.
  const PointsView points = clustering.without_target ? features() : input_.points;
  FitResult found = Fit({points, task_.weights, options, hooks}, place).run();
  if (found.interrupted) {
    control_.look();  // this fit ends for the same reason: its clock began before the other one's
    return std::nullopt;
  }
  return std::move(found.models[0].labels);
}

Cost Fit::iterate() {
  copy_features();
  const FitContext context{input_,
                           task_.options,
                           task_.hooks,
                           *backend_,
                           *upload_,
                           labelled(),
                           control_,
                           labels_,
                           rules_,
                           variance_,
                           place_.kind,
                           [this](auto&&... asked) { return cluster(asked...); },
                           estimate_ ? &*estimate_ : nullptr,
                           checkpoint_ ? &*checkpoint_ : nullptr,
                           nullptr,
                           !place_.within_another};
  if (place_.kind.search != nullptr) {
    do_and_save(context, [&] { search_prototypes(*place_.kind.search, context, members_, pool_); });
    end_phase("search");
  }
  return run_and_save(context, members_, pool_);
}

void Fit::warn_of_weights(FitResult& result) {
  if (!input_.weighted) return;
  double smallest = place_.remote ? place_.remote->known().smallest_weight() : smallest_weight(task_.weights);
  comm_.min(std::span(&smallest, 1));
  if (auto warning = weight_warning(input_, smallest)) result.warnings.push_back(std::move(*warning));
}

FitResult Fit::report(const Cost& cost) {
  FitResult result;
  Provenance& provenance = result.provenance;
  provenance = provenance_of(*backend_, labelled(), task_.options);
  provenance.memory = input_.memory.text;
  provenance.threads = pool_.size();  // the system may have given fewer than asked for
  provenance.rows = input_.shard.all;
  provenance.columns = task_.points.d;
  provenance.type = task_.points.type;
  provenance.seconds = std::move(seconds_);
  tell_cost(cost, provenance);
  if (task_.options.metric == Metric::kEuclidean)
    result.ranges = {input_.minimum, input_.maximum, static_cast<double>(input_.shard.all)};
  result.interrupted = control_.stopped().has_value();
  result.warnings = upload_->warnings();
  warn_of_weights(result);
  advise_ranks(members_, comm_.size(), result);
  if (checkpoint_) std::ranges::copy(checkpoint_->warnings(), std::back_inserter(result.warnings));
  provenance.warnings = result.warnings;
  collect(members_, result);
  labels_.keep_best(result);
  if (!comm_.alone()) add_label_sums(result, input_.shard.first, comm_);
  if (task_.hooks.log) {
    for (const std::string& warning : result.warnings) task_.hooks.log(warning);
  }
  return result;
}

FitResult fit_at(const Task& task, const FitPlace& place) {
  using Clock = std::chrono::steady_clock;
  const FpEnvironmentGuard guard;
  check(task.hooks.checkpoint);
  const auto too_much = [&] {
    return fmt::format(
        "there is not enough memory for {} rows of {} columns and these models; "
        "use fewer models at a time, or strategy data",
        task.points.n, task.points.d);
  };
  return or_unavailable([] { return "memory"; }, too_much,
                        [&] {
                          check(task.options);
                          const auto begin = Clock::now();
                          FitResult result = Fit(task, place).run();
                          // What giving back its memory took: the phases add up to the whole.
                          add_rest("free", std::chrono::duration<double>(Clock::now() - begin).count(),
                                   result.provenance);
                          return result;
                        });
}

}  // namespace

FitResult fit(const PointsView& points, std::span<const double> weights, const FitOptions& options,
              const FitHooks& hooks) {
  return fit_on({}, points, weights, options, hooks);
}

std::shared_ptr<Backend> backend_of_fit(const PointsView& points, const FitOptions& options, const FitHooks& hooks) {
  return make_backend_of({points, {}, options, hooks}, {{}, self_comm(), FitKind{}});
}

FitResult fit_on(const FitAmongOthers& place, const PointsView& points, std::span<const double> weights,
                 const FitOptions& options, const FitHooks& hooks) {
  Comm& comm = hooks.comm ? *hooks.comm : self_comm();
  return all_or_abort(
      comm, [&] { return fit_at({points, weights, options, hooks}, {{}, comm, FitKind{}, nullptr, false, place}); });
}

FitResult fit_remote(RemoteShards& shards, const FitOptions& options, const FitHooks& hooks) {
  if (options.balanced()) {
    throw Error(ErrorCode::kUsage, options.min_size > 0 ? "min_size" : "max_size",
                "sizes of clusters need all rows in one process; shards have them");
  }
  return fit_at({shards.known().points(), {}, options, hooks}, {{}, self_comm(), FitKind{}, &shards});
}

FitResult fit_tuned(const PointsView& points, std::span<const double> weights, const FitOptions& options,
                    const FitHooks& hooks, const Tuning& tuning) {
  return fit_at({points, weights, options, hooks}, {tuning, self_comm(), FitKind{}});
}

FitResult fit_shard(const PointsView& points, std::span<const double> weights, const FitOptions& options,
                    const FitHooks& hooks, Comm& comm) {
  return fit_kind_shard({}, {points, weights, comm}, options, hooks);
}

FitResult fit_kind_shard(const FitKind& kind, const RankRows& rows, const FitOptions& options, const FitHooks& hooks) {
  return all_or_abort(
      rows.comm, [&] { return fit_at({rows.points, rows.weights, options, hooks}, {kind.tuning, rows.comm, kind}); });
}

void refuse_ranks(const FitHooks& hooks, const char* what) {
  if (!hooks.comm || hooks.comm->alone()) return;
  throw Error(ErrorCode::kUsage, "comm",
              fmt::format("{} is for one process that has all rows, and several share them here", what));
}

FitResult fit_kind(const FitKind& kind, const PointsView& points, std::span<const double> weights,
                   const FitOptions& options, const FitHooks& hooks) {
  return fit_at({points, weights, options, hooks}, {kind.tuning, self_comm(), kind});
}

}  // namespace manymeans
