#include "engine/joined_fits.h"

#include "backend/devices.h"
#include "core/memory_space.h"
#include "core/rounding.h"
#include "data/gather.h"
#include "data/input.h"
#include "engine/control.h"
#include "engine/gathered_warnings.h"
#include "engine/lloyd.h"
#include "engine/members.h"
#include "engine/workload_of_fit.h"
#include "init/choose_rows.h"
#include "init/init.h"
#include "prototype/prototype.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kMaxColumns = 128;
constexpr int64_t kMaxValues = 8192;             // of a model's prototypes, whose columns are padded to eights
constexpr size_t kMaxBytes = size_t{512} << 20;  // of the points of a group

bool suits(const Problems& problems, int64_t problem, double max_products) {
  const PointsView points = problems.points(problem);
  const FitOptions options = problems.options(problem);
  if (points.n < 1 || points.d < 1 || points.d > kMaxColumns) return false;
  const auto k_suits = [&](int64_t k) {
    return k >= 1 && k <= points.n && k * padded(points.d, 8) <= kMaxValues &&
           static_cast<double>(points.n) * static_cast<double>(k) * static_cast<double>(points.d) <= max_products;
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
  int64_t problem = 0;
  FitOptions options;
  PointsView points;
  size_t first = 0, last = 0;  // its members
};

// Returns whether a method chooses rows whatever their values are.
bool chooses_rows(const Member& member) {
  return member.result.init == "random" || member.result.init == "first";
}

// Points as an input of their own, before anybody has looked at them.
Input bare_input(const PointsView& points) {
  Input input;
  input.points = points;
  input.shard = {0, points.n, points.n, {points.n}};
  return input;
}

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
    make_parts();
    std::unique_ptr<CopiedPoints> copied;
    if (!points_.on_device()) copied = backend_.copy(points_, Workload{1, 1, 1, 1});
    Input input = prepare_input(copied ? copied->points() : GivenPoints{points_}, {}, pool_, {}, self_comm());
    if (copied) input.host_values = points_.data;
    if (!sums_are_exact(input)) return {};
    end_phase("validate");
    if (needs_values()) prepare_values(input);
    choose_prototypes(input);
    end_phase("initialise");
    std::vector<ModelRows> models;
    for (const Member& member : members_) models.push_back(rows_of(member));
    const std::unique_ptr<ProblemUpload> upload = backend_.upload_problems(input, models);
    if (!upload) return {};
    end_phase("upload");
    const FitKind kind;
    const FitContext context{input,  options_, hooks_, backend_, *upload, *upload, control_, labels_,
                             rules_, 0,        kind,   {},       nullptr, nullptr, nullptr,  true};
    const Cost cost = run_lloyd(context, members_, pool_);
    end_phase("fit");
    add_phases(cost, seconds_);
    return results(*upload, cost);
  }

 private:
  int64_t first_row() const { return problems_.first_row(group_.front()); }
  std::span<Member> members_of(const Part& part) {
    return std::span(members_).subspan(part.first, part.last - part.first);
  }

  // Since the phase before ended.
  void end_phase(const char* name) {
    const double now = control_.seconds();
    seconds_.emplace_back(name, now - last_);
    last_ = now;
  }

  // The points are all rows from the first problem's to the last one's.
  void make_parts() {
    points_ = problems_.points(group_.front());
    points_.n = problems_.first_row(group_.back()) + problems_.points(group_.back()).n - first_row();
    for (const int64_t problem : group_) {
      Part part{problem, problems_.options(problem), problems_.points(problem), members_.size(), 0};
      const bool given = problems_.initial(problem).data != nullptr;
      for (Member& member : make_members(part.options, given, bare_input(part.points))) {
        member.own_rows = {problem, part.points.n, 0};
        members_.push_back(std::move(member));
      }
      part.last = members_.size();
      parts_.push_back(std::move(part));
    }
  }

  bool needs_values() const {
    const auto needs = [](const Member& member) { return member.result.init != "given" && !chooses_rows(member); };
    return any_needs(rules_, RuleNeed::kVariance) || std::ranges::any_of(members_, needs);
  }

  // The processor reads small problems side by side.
  void prepare_values(Input& input) {
    PointsView host = points_;
    if (points_.on_device()) {
      fetched_ = AlignedBuffer<std::byte>(points_.bytes());
      host = {fetched_.data(), points_.n, points_.d, points_.type};
      input.host_values = host.data;
    }
    std::vector<std::unique_ptr<Backend>> backends(static_cast<size_t>(pool_.size()));
    pool_.for_each_range(std::ssize(parts_), 1, [&](int worker, int64_t index, int64_t) {
      const Part& part = parts_[static_cast<size_t>(index)];
      const PointsView mine = rows_of_view(host, problems_.first_row(part.problem) - first_row(), part.points.n);
      if (points_.on_device()) {
        memory_space(points_).fetch_bytes(part.points, 0, mine.bytes(), const_cast<void*>(mine.data));
      }
      std::unique_ptr<Backend>& cpu = backends[static_cast<size_t>(worker)];
      if (!cpu) cpu = make_backend("cpu", {.threads = 1, .abort = hooks_.abort});
      prepare(part, mine, *cpu);
    });
  }

  void prepare(const Part& part, const PointsView& points, Backend& cpu) {
    ThreadPool alone(1, hooks_.abort);
    const Input input = prepare_input(points, {}, alone);
    const double variance = any_needs(rules_, RuleNeed::kVariance) ? mean_variance(column_moments(input, alone)) : 0;
    for (Member& member : members_of(part)) {
      member.own_rows->mean_variance = variance;
      if (member.result.init == "given" || chooses_rows(member)) continue;
      const int64_t k = member.result.k;
      const auto upload = cpu.upload(input, {.max_clusters = k, .all_clusters = k, .passes = 2 + k, .apart = true});
      InitModel model{k, member.result.seed, {}, {}};
      const InitContext context{input, cpu, *upload, alone, [](int64_t, int64_t) { return true; }};
      find_init(member.result.init, points.n, k, points.d).run(context, {&model, 1});
      member.given = std::move(model.prototypes);
      member.warnings = std::move(model.warnings);
    }
  }

  // Given prototypes, and those that are rows: all of them by one reading of the points.
  void choose_prototypes(const Input& input) {
    std::vector<std::vector<int64_t>> rows(members_.size());
    pool_.for_each_range(std::ssize(parts_), 1, [&](int, int64_t index, int64_t) {
      const Part& part = parts_[static_cast<size_t>(index)];
      const PointsView initial = problems_.initial(part.problem);
      if (initial.data != nullptr) {
        check_given(initial, part.options, points_.d);
        return give_prototypes(initial, input, options_.metric, members_of(part));
      }
      ThreadPool alone(1, hooks_.abort);
      for (size_t m = part.first; m < part.last; ++m) {
        if (!chooses_rows(members_[m])) continue;
        rows[m].resize(static_cast<size_t>(members_[m].result.k));
        std::iota(rows[m].begin(), rows[m].end(), int64_t{0});
        const RowWish wish{members_[m].result.k, members_[m].result.seed};
        if (members_[m].result.init == "random") rows[m] = random_rows(bare_input(part.points), wish, alone);
        for (int64_t& row : rows[m]) row += problems_.first_row(part.problem) - first_row();
      }
    });
    std::vector<int64_t> all;
    for (const std::vector<int64_t>& of_member : rows) all.insert(all.end(), of_member.begin(), of_member.end());
    if (all.empty()) return;
    const Matrix chosen = gather_rows(input, all);
    int64_t first = 0;
    for (size_t m = 0; m < rows.size(); ++m) {
      if (rows[m].empty()) continue;
      std::iota(rows[m].begin(), rows[m].end(), first);
      first += std::ssize(rows[m]);
      members_[m].given = gather_rows(chosen.view(), rows[m]);
    }
  }

  ModelRows rows_of(const Member& member) const {
    return {problems_.first_row(member.own_rows->problem) - first_row(), member.own_rows->rows, member.result.k};
  }

  std::vector<FitResult> results(ProblemUpload& upload, const Cost& cost) {
    std::vector<int> slots;
    for (const Part& part : parts_) slots.push_back(static_cast<int>(part.first));
    const std::vector<double> ranges = upload.ranges(slots);
    end_phase("ranges");
    std::vector<FitResult> all(parts_.size());
    pool_.for_each_range(std::ssize(parts_), 1, [&](int, int64_t index, int64_t) {
      const Part& part = parts_[static_cast<size_t>(index)];
      FitResult& result = all[static_cast<size_t>(index)];
      Provenance& provenance = result.provenance;
      provenance = provenance_of(backend_, upload, part.options);
      provenance.threads = 1;
      provenance.rows = part.points.n;
      provenance.columns = part.points.d;
      provenance.type = part.points.type;
      provenance.seconds = seconds_;  // of the group
      provenance.passes = cost.passes;
      const auto lowest = ranges.begin() + index * 2 * points_.d;
      const auto highest = lowest + points_.d;
      result.ranges = {{lowest, highest}, {highest, highest + points_.d}, static_cast<double>(part.points.n)};
      result.interrupted = control_.stopped().has_value();
      const std::span<Member> mine = members_of(part);
      std::vector<Member> members(std::make_move_iterator(mine.begin()), std::make_move_iterator(mine.end()));
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
  std::vector<std::pair<std::string, double>> seconds_;
  double last_ = 0;
  PointsView points_;                 // of the group
  AlignedBuffer<std::byte> fetched_;  // the same from a device, where the host needs them
  std::vector<Part> parts_;
  std::vector<Member> members_;
};

}  // namespace

std::vector<std::vector<int64_t>> groups_to_join(const Backend& backend, const Problems& problems,
                                                 std::span<const int64_t> asked, const EachOptions& options) {
  const bool plain = options.metric == Metric::kEuclidean && !options.balanced() && options.memory.bytes == 0 &&
                     options.algorithm == "auto" && !problems.weighted() && !is_sparse(problems.all_points());
  if (!plain || any_needs(parse_stop_rules(options.stop, options.tol), RuleNeed::kInertia)) return {};
  std::vector<std::vector<int64_t>> groups;
  size_t bytes = kMaxBytes;  // of the last group
  for (const int64_t problem : asked) {
    if (!suits(problems, problem, backend.max_joined_products())) continue;
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
