#include "engine/lloyd.h"

#include "core/digest.h"
#include "core/mapped_range.h"
#include "data/memory_plan.h"
#include "engine/empty_clusters.h"
#include "engine/swap_search.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace manymeans {
namespace {

// Adds the time until its end to a phase.
class Stopwatch {
 public:
  explicit Stopwatch(double& total) : total_(total), begin_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() { total_ += elapsed(); }
  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  double& total_;
  std::chrono::steady_clock::time_point begin_;
};

// Models that are fitted together: one pass for all that are still active.
class LloydRun {
 public:
  LloydRun(const FitContext& context, std::span<Member> members, ThreadPool& pool)
      : context_(context), members_(members), pool_(pool) {
    std::vector<int64_t> k;
    for (Member& member : members_) {
      if (context_.session == nullptr) member.slot = static_cast<int>(k.size());
      last_.resize(std::max(last_.size(), static_cast<size_t>(member.slot) + 1));
      k.push_back(member.result.k);
      if (!member.own_rows) continue;
      own_limits_.push_back(limits_of(context_.rules, scale_of(member, member.result.k)));
      own_limits_.back().relocates = context_.options.empty == EmptyPolicy::kFarthest;
    }
    if (context_.session == nullptr) own_session_ = context_.labelled.session(k, pool_.size());
    session_ = own_session_ ? own_session_.get() : context_.session;
    trials_.emplace(SwapTrials::Services{context_.input, context_.upload, *session_, pool_}, context_.kind.swaps,
                    seeded_together());
    limits_ = limits_of(context_.rules, scale_of(members_[0], *std::ranges::max_element(k)));
  }

  Cost run() {
    if (!initialise() && !keeps_what_is_ready()) return cost_;
    std::vector<Member*> active;
    for (Member& member : members_) {
      if (!member.prototypes.empty()) active.push_back(&member);
    }
    while (!active.empty()) {
      const int passes = pass(active);
      check_mapped(context_.input.host_points().data);
      save(active, passes);
      const std::optional<StopReason> stop = report(active);
      measure_trials(active, stop);
      finish(in_order(judge(active, stop)));
      if (!active.empty()) continue;
      active = std::exchange(waiting_, {});
      const Stopwatch watch(cost_.update);
      trials_->begin(active);
    }
    if (error_) std::rethrow_exception(error_);
    while (!reordered_.empty()) {
      const std::vector<Member*> members = std::exchange(reordered_, {});
      label(members);
      finish(in_order(members));
    }
    return cost_;
  }

 private:
  int64_t rows_of(const Member& member) const {
    return member.own_rows ? member.own_rows->rows : context_.input.shard.all;
  }
  double variance_of(const Member& member) const {
    return member.own_rows ? member.own_rows->mean_variance : context_.mean_variance;
  }
  RuleScale scale_of(const Member& member, int64_t max_clusters) const {
    return {rows_of(member), max_clusters, prototype_of(context_.input).width(context_.input.points.d),
            variance_of(member)};
  }
  bool initialise();
  const InitEntry& method_of(const Member& member) const;
  bool initialise_with(const InitEntry& method, std::span<Member* const> members, TimeLimit limit);
  bool keeps_what_is_ready();
  size_t seeded_together() const;
  int pass(std::span<Member*> active);
  void save(std::span<Member*> active, int passes);
  PassLimits limits(std::span<Member*> active) const;
  void follow(Member& member, PassModel& model);
  void redo(Member& member, const Matrix& start, size_t updates);
  void label(std::span<Member* const> members);
  std::optional<StopReason> report(std::span<Member*> active);
  std::vector<Member*> judge(std::vector<Member*>& active, std::optional<StopReason> stop);
  Verdict judge(Member& member, std::optional<StopReason> stop);
  std::optional<StopReason> outer_reason(const Member& member, std::optional<StopReason> stop) const;
  void update(Member& member, bool first_pass);
  bool ends_trial(const Member& member, std::optional<StopReason> stop) const;
  void measure_trials(std::span<Member* const> active, std::optional<StopReason> stop);
  Verdict judge_trial(Member& member, std::optional<StopReason> stop);
  std::vector<Member*> in_order(std::vector<Member*> done);
  void finish(std::span<Member* const> done);
  void finish(Member& member);
  void fetch(std::span<Member* const> done, std::span<const int> slots);
  void hand_over_labels(std::span<Member* const> done, std::span<const int> slots);

  const FitContext& context_;
  std::span<Member> members_;
  ThreadPool& pool_;
  std::unique_ptr<Session> own_session_;  // null: there is one that stays
  Session* session_ = nullptr;
  std::optional<SwapTrials> trials_;                               // of models in a swap search
  std::vector<Member*> waiting_;                                   // for the next trial of their swap searches
  std::vector<Member*> reordered_;                                 // done, but for a pass with clusters by weight
  std::map<int, std::vector<int64_t>> last_sorted_;                // by slot, weights of the last order
  std::vector<PassResult> last_;                                   // by slot
  PassLimits limits_;                                              // that the stop rules set
  std::vector<PassLimits> own_limits_;                             // by slot, of members with rows of their own
  double pass_seconds_ = std::numeric_limits<double>::infinity();  // not known before the first
  std::exception_ptr error_;                                       // of the first member that failed
  Cost cost_;
};

// Prototypes for every member that has none yet; false if the fit was stopped before they were there.
bool LloydRun::initialise() {
  const Stopwatch watch(cost_.initialise);
  std::vector<Member*> members;
  for (Member& member : members_) {
    if (!member.prototypes.empty()) continue;
    if (member.given.empty()) members.push_back(&member);
    member.prototypes = std::move(member.given);
  }
  std::map<const InitEntry*, std::vector<Member*>> by_method;
  for (Member* member : members) by_method[&method_of(*member)].push_back(member);
  for (auto& [method, same] : by_method) {
    const size_t together = seeded_together();
    for (size_t first = 0; first < same.size(); first += together) {
      const size_t count = std::min(together, same.size() - first);
      if (!initialise_with(*method, std::span(same).subspan(first, count), TimeLimit::kKept)) return false;
    }
  }
  return true;
}

const InitEntry& LloydRun::method_of(const Member& member) const {
  return find_init(member.result.init, prototype_of(context_.input), context_.input.shard.all, member.result.k,
                   context_.input.points.d);
}

// Returns whether to label the members with prototypes, after a stop before all had some. Results of searches are kept.
// A fit that a time limit stopped gets at least the first model.
bool LloydRun::keeps_what_is_ready() {
  const bool late = context_.control.stopped() == StopReason::kTimeLimit;
  if (!late || !context_.waits_for_first) return context_.kind.search != nullptr;
  Member* const first = &members_[0];
  const auto waits = [](const Member& member) { return member.prototypes.empty(); };
  if (first->index == 0 && std::ranges::all_of(members_, waits)) {
    const Stopwatch watch(cost_.initialise);
    initialise_with(method_of(*first), {&first, 1}, TimeLimit::kIgnored);
  }
  return true;
}

// As many models at a time as planned.
size_t LloydRun::seeded_together() const {
  const int64_t planned = context_.input.memory.seeded_together;
  return static_cast<size_t>(planned > 0 ? planned : models_seeded_together(context_.input.shard.all));
}

bool LloydRun::initialise_with(const InitEntry& method, std::span<Member* const> members, TimeLimit limit) {
  std::vector<InitModel> models;
  for (const Member* member : members) {
    models.push_back({member->result.k, member->result.seed, {}, {}});
  }
  const auto proceed = [&](int64_t step, int64_t steps) {
    Progress progress;
    progress.phase = "initialise";
    progress.iteration = step;
    progress.max_iteration = steps;
    progress.active_models = static_cast<int64_t>(members.size());
    progress.models = static_cast<int64_t>(members_.size());
    progress.inertia_estimate = std::numeric_limits<double>::quiet_NaN();
    return limit == TimeLimit::kKept ? !context_.control.report(progress) : !context_.control.ended_by_caller(progress);
  };
  const auto cluster = [&](const Clustering& asked) { return context_.cluster(asked, pool_.size(), limit); };
  const InitContext init{context_.input, context_.backend, context_.upload, pool_, proceed, cluster};
  const bool done = method.run(init, models);
  for (size_t i = 0; i < models.size(); ++i) {
    if (models[i].prototypes.empty()) continue;  // stopped before its turn; those that are ready are kept
    members[i]->prototypes = std::move(models[i].prototypes);
    for (std::string& warning : models[i].warnings) members[i]->warnings.push_back(std::move(warning));
    // A resumed fit continues a search that was ended, and does not begin with these.
    if (context_.checkpoint != nullptr && !members[i]->sought_anew) context_.checkpoint->initialised(*members[i]);
  }
  if (context_.checkpoint != nullptr) context_.checkpoint->count(1);
  return done;
}

// Labels the rows for these members, once or several times; how often.
int LloydRun::pass(std::span<Member*> active) {
  std::vector<PassModel> models;
  int64_t clusters = 0;
  for (const Member* member : active) {
    models.push_back({member->slot, &member->prototypes, {}});
    if (member->own_rows) models.back().limits = own_limits_[static_cast<size_t>(member->slot)];
    if (!member->begun) models.back().guess = member->guess;
    clusters += member->result.k;
  }
  const Stopwatch watch(cost_.iterate);
  const int passes = session_->advance(models, limits(active));
  pass_seconds_ = watch.elapsed() / passes;
  std::vector<PassLog> logs(static_cast<size_t>(passes));
  for (size_t i = 0; i < active.size(); ++i) {
    PassResult& last = last_[static_cast<size_t>(active[i]->slot)] = models[i].result;
    // To a session that has seen no label yet, all of them are new.
    if (const auto changed = std::exchange(active[i]->repeats, std::nullopt)) last.changed = *changed;
    for (size_t p = 0; p < logs.size(); ++p) {
      const PassResult& result = p < models[i].earlier.size() ? models[i].earlier[p] : models[i].result;
      logs[p] += {result, 1, rows_of(*active[i])};
    }
    follow(*active[i], models[i]);
    active[i]->result.seconds +=
        watch.elapsed() * static_cast<double>(active[i]->result.k) / static_cast<double>(clusters);
  }
  for (const PassLog& log : logs) cost_.add_pass(log);
  return passes;
}

// The caller or the clock ended the swap search of this model, which has its best prototypes labelled and is done.
bool ends_from_outside(const Member& member) {
  return member.stopping && stopped_from_outside(member.result.stop_reason);
}

// Saves members between the pass and the judgement: see checkpoint.h. If a stop has ended a swap search, the file keeps
// the state from before the stop. A resumed fit continues the trial in that state.
void LloydRun::save(std::span<Member*> active, int passes) {
  if (context_.checkpoint == nullptr) return;
  for (const Member* member : active) {
    if (ends_from_outside(*member) || member->sought_anew) continue;
    context_.checkpoint->labelled(*member, last_[static_cast<size_t>(member->slot)].changed);
  }
  context_.checkpoint->count(passes);
}

// How far the session may go before the next look.
PassLimits LloydRun::limits(std::span<Member*> active) const {
  // A trial has no stop rules.
  const bool trials = std::ranges::all_of(active, [](const Member* member) { return member->search.in_trial(); });
  PassLimits limits = trials ? PassLimits(kPassesBetweenLooks) : limits_;
  int64_t passes = prototype_of(context_.input).engine_solves ? 1 : limits.passes;
  const double seconds = context_.control.seconds_to_next_look();
  if (seconds < pass_seconds_ * static_cast<double>(passes)) passes = static_cast<int64_t>(seconds / pass_seconds_);
  if (context_.checkpoint != nullptr) passes = std::min(passes, context_.checkpoint->passes_left());
  for (const Member* member : active) {
    if (member->stopping || member->repeats) passes = 1;
    const SwapState& search = member->search;
    if (search.in_trial()) passes = std::min(passes, SwapTrials::passes_left(search));
    passes = std::min(passes, context_.options.max_iter - member->result.iterations + 1);
  }
  limits.passes = static_cast<int>(std::max<int64_t>(1, passes));
  return limits;
}

// Does the work of judge() and update() for passes that a backend made on its own. They did not end the fit or meet a
// rule. A state may have come back.
void LloydRun::follow(Member& member, PassModel& model) {
  if (member.search.in_trial()) return SwapTrials::follow(member, model);
  const Matrix start = model.earlier.empty() ? Matrix() : member.prototypes;
  for (size_t p = 0; p < model.earlier.size(); ++p) {
    member.begun = true;
    member.relocated = model.earlier[p].relocated;
    member.state += model.earlier[p].hash_delta;
    ++member.result.iterations;
    const bool cycle = member.cycle.seen(member.state);
    if (!cycle && member.result.iterations < context_.options.max_iter) continue;
    member.stopping = true;
    member.result.stop_reason = cycle ? StopReason::kCycle : StopReason::kMaxIter;
    if (p + 1 < model.earlier.size()) return redo(member, start, p + 1);
  }
  if (!model.earlier.empty()) member.prototypes = std::move(model.last_prototypes);
  member.state += model.result.hash_delta;
}

// The backend continued after a state that had come back. Makes `updates` updates from `start` once more, and the pass
// that labels the rows.
void LloydRun::redo(Member& member, const Matrix& start, size_t updates) {
  member.prototypes = start;
  PassModel model{member.slot, &member.prototypes, {}};
  const LabelSum state = member.state;
  for (size_t u = 0; u < updates; ++u) {
    session_->advance({&model, 1}, 1);
    treat_empty_clusters(*session_, member, context_.options.empty, context_.input);
    member.prototypes = solve_prototypes(session_->statistics(member.slot), context_.input, member.prototypes, pool_);
  }
  Member* const only = &member;
  label({&only, 1});
  member.state = state;
}

// One pass without a judgement. Clusters may have other numbers than in the pass before, so the number of changed
// labels says nothing.
void LloydRun::label(std::span<Member* const> members) {
  const Stopwatch watch(cost_.iterate);
  std::vector<PassModel> models;
  for (const Member* member : members) models.push_back({member->slot, &member->prototypes, {}});
  session_->advance(models, 1);
  PassLog log;
  for (size_t i = 0; i < members.size(); ++i) log += {models[i].result, 1, rows_of(*members[i])};
  log.changed = 0;
  cost_.add_pass(log);
}

std::optional<StopReason> LloydRun::report(std::span<Member*> active) {
  if (!context_.control.wants_progress()) return context_.control.look();
  Progress progress;
  progress.phase = "iterate";
  progress.max_iteration = context_.options.max_iter;
  progress.active_models = static_cast<int64_t>(active.size());
  progress.models = static_cast<int64_t>(members_.size());
  progress.inertia_estimate = std::numeric_limits<double>::quiet_NaN();
  // Of larger models an estimate would take longer than a pass, and all statistics would come from a device.
  constexpr int64_t kMaxEstimated = int64_t{1} << 22;  // values
  const bool estimated = context_.estimate != nullptr && std::ranges::all_of(active, [](const Member* member) {
                           return member->prototypes.rows() * member->prototypes.columns() <= kMaxEstimated;
                         });
  for (const Member* member : active) {
    progress.iteration = std::max(progress.iteration, member->result.iterations);
    if (!estimated) continue;
    const double estimate = context_.estimate->of(session_->statistics(member->slot), member->prototypes);
    progress.inertia_estimate = std::fmin(progress.inertia_estimate, estimate);  // fmin leaves NaN out
  }
  progress.points_per_second = static_cast<double>(context_.input.shard.all) * static_cast<double>(active.size()) /
                               std::max(pass_seconds_, 1e-9);
  return context_.control.report(progress);
}

// Takes members that are done, or wait, out of the active ones. A member that fails ends the fit, but an earlier one
// may still fail later. Fitted one after the other, they would end with its error. So only later members leave.
std::vector<Member*> LloydRun::judge(std::vector<Member*>& active, std::optional<StopReason> stop) {
  std::vector<Member*> done;
  std::vector<Member*> left;
  const auto place = [&](Member* member, Verdict verdict) {
    (verdict == Verdict::kDone ? done : verdict == Verdict::kWaits ? waiting_ : left).push_back(member);
  };
  Member* judged = nullptr;
  try {
    for (Member* member : active) {
      judged = member;
      const Verdict verdict = judge(*member, stop);
      const bool has_moved_on = last_[static_cast<size_t>(member->slot)].relocated;
      if (verdict == Verdict::kDone && has_moved_on) label({&member, 1});
      place(member, verdict);
    }
  } catch (const LostCluster&) {
    error_ = std::current_exception();
    std::erase_if(waiting_, [&](const Member* member) { return member->slot > judged->slot; });
  }
  if (stop) {
    for (Member* member : std::exchange(waiting_, {})) {
      return_to_best(*member, stop);
      left.push_back(member);
    }
  }
  active = std::move(left);
  return done;
}

// Judges a model after a labelling pass. When the model is done its result has the reason, and finish() does the rest.
Verdict LloydRun::judge(Member& member, std::optional<StopReason> stop) {
  if (member.search.in_trial()) return judge_trial(member, stop);
  const PassResult& last = last_[static_cast<size_t>(member.slot)];
  const bool first_pass = !member.begun;
  member.begun = true;
  if (member.stopping) return Verdict::kDone;
  if (!first_pass && last.changed == 0 && !member.relocated) {
    member.result.stop_reason = StopReason::kStrict;
    return Verdict::kDone;
  }
  // Labels and prototypes agree right after a pass, so stopping here needs no further one.
  if (const std::optional<StopReason> reason = outer_reason(member, stop)) {
    member.result.stop_reason = *reason;
    return Verdict::kDone;
  }
  update(member, first_pass);
  return Verdict::kGoesOn;
}

// Returns the reason that ends a model in any state.
std::optional<StopReason> LloydRun::outer_reason(const Member& member, std::optional<StopReason> stop) const {
  if (stop || member.result.iterations < context_.options.max_iter) return stop;
  return StopReason::kMaxIter;
}

// One update of the prototypes, and the stop rules that follow it.
void LloydRun::update(Member& member, bool first_pass) {
  const PassResult& last = last_[static_cast<size_t>(member.slot)];
  StopState state;
  state.first_pass = first_pass;
  state.changed_share = static_cast<double>(last.changed) / static_cast<double>(rows_of(member));
  state.mean_variance = variance_of(member);
  state.prototype = &prototype_of(context_.input);
  state.pool = &pool_;
  if (any_needs(context_.rules, RuleNeed::kInertia)) {
    const ModelPrototypes model{member.slot, &member.prototypes};
    const InertiaSum sum = session_->rows().inertias({&model, 1})[0];
    state.inertia_before = member.last_inertia;
    state.inertia_now = member.last_inertia = sum.rounded();
    state.reported_inertia = sum.rounded(context_.input.weight_exponent);
  }
  const Stopwatch watch(cost_.update);
  treat_empty_clusters(*session_, member, context_.options.empty, context_.input);
  member.relocated |= last.relocated;
  Matrix next;
  if (!session_->update(member.slot, member.prototypes, next)) {
    next = solve_prototypes(session_->statistics(member.slot), context_.input, member.prototypes, pool_);
  }
  ++member.result.iterations;
  state.before = &member.prototypes;
  state.after = &next;
  std::optional<StopReason> reason = first_rule_that_holds(context_.rules, state);
  if (!reason && member.cycle.seen(member.state)) reason = StopReason::kCycle;
  if (!reason && member.result.iterations >= context_.options.max_iter) reason = StopReason::kMaxIter;
  if (reason) {
    member.stopping = true;
    member.result.stop_reason = *reason;
  }
  member.prototypes = std::move(next);
}

bool LloydRun::ends_trial(const Member& member, std::optional<StopReason> stop) const {
  const int64_t changed = last_[static_cast<size_t>(member.slot)].changed;
  return SwapTrials::ends(member.search, changed, outer_reason(member, stop));
}

// The inertias of all trials that this pass ends, by one reading of the points.
void LloydRun::measure_trials(std::span<Member* const> active, std::optional<StopReason> stop) {
  std::vector<Member*> ending;
  for (Member* member : active) {
    if (ends_trial(*member, stop)) ending.push_back(member);
  }
  trials_->measure(ending);
}

Verdict LloydRun::judge_trial(Member& member, std::optional<StopReason> stop) {
  if (ends_trial(member, stop)) return trials_->judge(member, outer_reason(member, stop));
  const Stopwatch watch(cost_.update);
  trials_->update(member);
  return Verdict::kGoesOn;
}

// Returns the members whose clusters have their numbers. The prototypes of the others are put into the order of the
// weights. Rows with equal distances go to the lowest number, so one pass at the end of the run labels the rows of
// the others. It may change the order again. The contract ("Numbers") has the proof that this ends.
std::vector<Member*> LloydRun::in_order(std::vector<Member*> done) {
  std::erase_if(done, [&](Member* member) {
    const std::string& init = member->result.init;
    if (!own_session_ || context_.options.balanced() || init == "given" || init == "optimal") return false;
    const std::vector<int64_t> weights = session_->sizes(member->slot).weights;
    if (std::ranges::is_sorted(weights, std::greater<>())) return false;
    std::vector<int64_t> order(weights.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](int64_t k) { return weights[static_cast<size_t>(k)]; });
    std::vector<int64_t> sorted;
    for (const int64_t k : order) sorted.push_back(weights[static_cast<size_t>(k)]);
    if (sorted <= last_sorted_[member->slot]) return false;  // only wrong labels do that; they must not go on for ever
    last_sorted_[member->slot] = std::move(sorted);
    member->prototypes = keep_prototypes(member->prototypes, order);
    session_->reorder(member->slot, order);
    reordered_.push_back(member);
    return true;
  });
  return done;
}

// The results of all members that are done after one pass.
void LloydRun::finish(std::span<Member* const> done) {
  if (done.empty()) return;
  const Stopwatch watch(cost_.finish);
  std::vector<int> slots;
  std::vector<ModelPrototypes> models;
  for (const Member* member : done) {
    slots.push_back(member->slot);
    models.push_back({member->slot, &member->prototypes});
  }
  const std::vector<InertiaSum> inertias = session_->rows().inertias(models);
  for (size_t i = 0; i < done.size(); ++i) {
    done[i]->result.inertia = inertias[i].rounded(context_.input.weight_exponent);
  }
  if (own_session_) fetch(done, slots);
  for (Member* member : done) finish(*member);
  if (own_session_) hand_over_labels(done, slots);
}

void LloydRun::fetch(std::span<Member* const> done, std::span<const int> slots) {
  for (const Member* member : done) context_.labels.add(*member);
  std::vector<int> labels_of;
  for (const Member* member : done) {
    if (context_.labels.wants(*member)) labels_of.push_back(member->slot);
  }
  session_->fetch(slots, labels_of);
}

// Hands over the labels that the caller may read, and the label sums of the other models. A device knows label sums
// without sending the labels.
void LloydRun::hand_over_labels(std::span<Member* const> done, std::span<const int> slots) {
  const int64_t first_row = context_.input.shard.first;
  const bool all = context_.labels.all();
  const std::vector<LabelSum> sums = all ? std::vector<LabelSum>() : session_->label_sums(slots, first_row);
  for (size_t i = 0; i < done.size(); ++i) {
    ModelResult& result = done[i]->result;
    const bool keep = context_.labels.wants(*done[i]);
    Labels labels = keep || sums.empty() ? session_->take_labels(slots[i]) : Labels();
    if (!sums.empty()) {
      set_label_sum(result, sums[i]);
    } else if (!all) {
      set_label_sum(result, label_sum(labels, first_row, pool_));
    } else if (labels.empty()) {  // they are elsewhere
      for (const LabelSum sum : session_->label_sums(slots.subspan(i, 1), first_row)) set_label_sum(result, sum);
    }
    if (keep) result.labels = std::move(labels);
  }
}

void LloydRun::finish(Member& member) {
  ModelResult& result = member.result;
  ClusterSizes sizes = session_->sizes(member.slot);
  const Input& input = context_.input;
  result.counts = std::move(sizes.counts);
  for (const int64_t weight : sizes.weights) {
    result.weights.push_back(std::ldexp(static_cast<double>(weight), input.weight_exponent - input.weight_shift));
  }
  if (const int64_t empty = std::ranges::count(sizes.weights, 0); empty > 0) {
    const bool rows = std::ranges::count(result.counts, 0) < empty;  // without weight
    member.warnings.push_back(fmt::format("model {}: {} of {} clusters {} at the end", member.title(), empty, result.k,
                                          rows ? "have no weight" : "are empty"));
  }
  if (context_.kind.finished) {
    context_.kind.finished({member, input, session_->statistics(member.slot), member.warnings});
  }
  result.prototypes = std::move(member.prototypes);
}

}  // namespace

void Cost::add_pass(const PassLog& pass) {
  ++passes;
  sum += pass;
  if (static_cast<int64_t>(log.size()) < kMaxLoggedPasses) log.push_back(pass);
}

Cost& Cost::operator+=(const Cost& other) {
  if (log.size() < other.log.size()) log.resize(other.log.size());
  for (size_t i = 0; i < other.log.size(); ++i) log[i] += other.log[i];
  passes += other.passes;
  sum += other.sum;
  initialise += other.initialise;
  iterate += other.iterate;
  update += other.update;
  finish += other.finish;
  return *this;
}

Cost run_lloyd(const FitContext& context, std::span<Member> members, ThreadPool& pool) {
  return LloydRun(context, members, pool).run();
}

}  // namespace manymeans
