#include "engine/joined_fits.h"

#include "backend/devices.h"
#include "core/memory_space.h"
#include "data/input.h"
#include "engine/control.h"
#include "engine/gathered_warnings.h"
#include "engine/lloyd.h"
#include "engine/members.h"
#include "engine/workload_of_fit.h"
#include "prototype/prototype.h"

#include <algorithm>
#include <utility>

namespace manymeans {
namespace {

// Above, one problem keeps a device busy, and screens pay.
constexpr double kMaxProducts = 5e8;  // rows times clusters times columns, of a model
constexpr int64_t kMaxColumns = 128;
constexpr int64_t kMaxValues = 8192;             // of a model's prototypes
constexpr size_t kMaxBytes = size_t{512} << 20;  // of the points of a group

bool suits(const Problems& problems, int64_t problem) {
  const PointsView points = problems.points(problem);
  const FitOptions options = problems.options(problem);
  if (points.n < 1 || points.d < 1 || points.d > kMaxColumns) return false;
  const auto k_suits = [&](int64_t k) {
    return k >= 1 && k <= points.n && k * points.d <= kMaxValues &&
           static_cast<double>(points.n) * static_cast<double>(k) * static_cast<double>(points.d) <= kMaxProducts;
  };
  return std::ranges::all_of(options.k, k_suits);
}

// Returns whether no sum of these terms would be rounded. All formats without rounding give the same prototypes.
bool sums_are_exact(const Input& input) {
  for (size_t j = 0; j < input.columns.size(); ++j) {
    const bool all_zero = input.minimum[j] == 0 && input.maximum[j] == 0;
    if (!all_zero && input.columns[j].shift < -input.lowest[j]) return false;
  }
  return true;
}

// A problem of the group.
struct Part {
  FitOptions options;
  PointsView points;  // where the host reads them
  ColumnRanges ranges;
  size_t first = 0, last = 0;  // its members
};

class JoinedFit {
 public:
  JoinedFit(Backend& backend, const Problems& problems, std::span<const int64_t> group, const EachOptions& options,
            const FitHooks& hooks)
      : backend_(backend),
        problems_(problems),
        group_(group),
        options_(options),
        hooks_(hooks),
        control_(hooks, options.time_limit),
        labels_(hooks.labels),
        rules_(parse_stop_rules(options.stop, options.tol)),
        pool_(backend.threads(), hooks.abort) {}

  std::vector<FitResult> run() {
    place_rows();
    prepare_parts();
    const Workload workload{1, 1, 1, 1};
    std::unique_ptr<CopiedPoints> copied;
    if (!points_.on_device()) copied = backend_.copy(points_, workload);
    Input input = prepare_input(copied ? copied->points() : GivenPoints{points_}, {}, pool_, {}, self_comm());
    if (host_.data != input.points.data) input.host_values = host_.data;
    if (!sums_are_exact(input)) return {};
    std::vector<ModelRows> models;
    for (const Member& member : members_) models.push_back(rows_of(member));
    const std::unique_ptr<Upload> upload = backend_.upload_problems(input, models);
    if (!upload) return {};
    const FitKind kind;
    const FitContext context{input,   options_, hooks_, backend_, *upload, *upload, control_, labels_,
                             rules_,  0,        kind,   {},       nullptr, nullptr, nullptr,  true};
    const Cost cost = run_lloyd(context, members_, pool_);
    return results(*upload, cost);
  }

 private:
  int64_t first_row() const { return problems_.first_row(group_.front()); }

  // All rows from the first problem's to the last one's. The host reads them where they are, or in a copy.
  void place_rows() {
    const PointsView last = problems_.points(group_.back());
    points_ = problems_.points(group_.front());
    points_.n = problems_.first_row(group_.back()) + last.n - first_row();
    host_ = points_;
    fetch(host_, fetched_);
  }

  // What fit() would find out about each problem alone.
  void prepare_parts() {
    parts_.resize(group_.size());
    std::vector<std::vector<Member>> members(group_.size());
    pool_.for_each_range(std::ssize(group_), 1, [&](int, int64_t index, int64_t) {
      const auto i = static_cast<size_t>(index);
      members[i] = prepare(parts_[i], group_[i]);
    });
    for (size_t i = 0; i < parts_.size(); ++i) {
      parts_[i].first = members_.size();
      std::ranges::move(members[i], std::back_inserter(members_));
      parts_[i].last = members_.size();
    }
  }

  std::vector<Member> prepare(Part& part, int64_t problem) const {
    ThreadPool alone(1, hooks_.abort);
    part.options = problems_.options(problem);
    part.points = host_;
    part.points.n = problems_.points(problem).n;
    part.points.data = static_cast<const std::byte*>(host_.data) +
                       static_cast<size_t>((problems_.first_row(problem) - first_row()) * host_.d) *
                           size_of(host_.type);
    const Input input = prepare_input(part.points, {}, alone);
    part.ranges = {input.minimum, input.maximum, static_cast<double>(part.points.n)};
    const bool needs = any_needs(rules_, RuleNeed::kVariance);
    const OwnRows own{problem, part.points.n, needs ? mean_variance(column_moments(input, alone)) : 0};
    const PointsView initial = problems_.initial(problem);
    std::vector<Member> members = make_members(part.options, initial.data != nullptr, input);
    if (initial.data != nullptr) {
      check_given(initial, part.options, part.points.d);
      give_prototypes(initial, input, options_.metric, members);
    }
    for (Member& member : members) {
      member.own_rows = own;
      if (initial.data == nullptr) initialise_member(part, member);
    }
    return members;
  }

  // The processor initialises small problems side by side.
  void initialise_member(const Part& part, Member& member) const {
    FitOptions options = part.options;
    options.k = {member.result.k};
    options.models = 1;
    options.model_seed = member.result.seed;
    options.backend = "cpu";
    options.threads = 1;
    options.time_limit = 0;
    FitHooks hooks;
    hooks.abort = hooks_.abort;
    Initialisation begun = initialise(part.points, {}, options, hooks);
    member.given = std::move(begun.prototypes);
    member.warnings = std::move(begun.warnings);
  }

  ModelRows rows_of(const Member& member) const {
    return {problems_.first_row(member.own_rows->problem) - first_row(), member.own_rows->rows, member.result.k};
  }

  std::vector<FitResult> results(const Upload& upload, const Cost& cost) {
    std::vector<FitResult> all(parts_.size());
    const double seconds = control_.seconds();
    pool_.for_each_range(std::ssize(parts_), 1, [&](int, int64_t index, int64_t) {
      Part& part = parts_[static_cast<size_t>(index)];
      FitResult& result = all[static_cast<size_t>(index)];
      Provenance& provenance = result.provenance;
      provenance = provenance_of(backend_, upload, part.options);
      provenance.threads = 1;
      provenance.rows = part.points.n;
      provenance.columns = part.points.d;
      provenance.type = part.points.type;
      provenance.seconds.emplace_back("common passes", seconds);
      provenance.passes = cost.passes;
      result.ranges = std::move(part.ranges);
      result.interrupted = control_.stopped().has_value();
      std::vector<Member> members(std::make_move_iterator(members_.begin() + static_cast<int64_t>(part.first)),
                                  std::make_move_iterator(members_.begin() + static_cast<int64_t>(part.last)));
      collect(members, result);
      labels_.keep_best(result);
    });
    return all;
  }

  Backend& backend_;
  const Problems& problems_;
  std::span<const int64_t> group_;
  const EachOptions& options_;
  const FitHooks& hooks_;
  Control control_;
  BestLabels labels_;
  std::vector<StopRule> rules_;
  ThreadPool pool_;
  PointsView points_;                 // of the group
  PointsView host_;                   // the same, where the host reads them
  AlignedBuffer<std::byte> fetched_;  // from a device
  std::vector<Part> parts_;
  std::vector<Member> members_;
};

}  // namespace

std::vector<std::vector<int64_t>> groups_to_join(const Problems& problems, std::span<const int64_t> asked,
                                                 const EachOptions& options) {
  const bool plain = options.metric == Metric::kEuclidean && !options.balanced() && options.memory.bytes == 0 &&
                     options.algorithm == "auto" && !problems.weighted() && !is_sparse(problems.all_points());
  if (!plain || any_needs(parse_stop_rules(options.stop, options.tol), RuleNeed::kInertia)) return {};
  std::vector<std::vector<int64_t>> groups;
  size_t bytes = kMaxBytes;  // of the last group
  for (const int64_t problem : asked) {
    if (!suits(problems, problem)) continue;
    const size_t more = problems.points(problem).bytes();
    if (bytes + more > kMaxBytes) {
      groups.emplace_back();
      bytes = 0;
    }
    groups.back().push_back(problem);
    bytes += more;
  }
  std::erase_if(groups, [](const std::vector<int64_t>& group) { return group.size() < 2; });
  return groups;
}

std::vector<FitResult> fit_joined(Backend& backend, const Problems& problems, std::span<const int64_t> group,
                                  const EachOptions& options, const FitHooks& hooks) {
  try {
    return JoinedFit(backend, problems, group, options, hooks).run();
  } catch (const Error& error) {  // of one of them, or of their sum
    if (error.code() == ErrorCode::kInterrupted || !devices_answer()) throw;
    return {};
  }
}

}  // namespace manymeans
