#include "engine/swap_search.h"

#include "backend/make_seeding.h"
#include "core/data_type.h"
#include "data/gather.h"
#include "engine/empty_clusters.h"
#include "engine/removal_costs.h"
#include "init/row_subsets.h"
#include "prototype/prototype.h"
#include "prototype/row_groups.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

constexpr int64_t kFirstUpdates = 10;
constexpr int64_t kTrialUpdates = 5;
constexpr int64_t kCandidates = 16;
constexpr double kMinGain = 0x1p-10;  // of the error, for a trial to succeed

// Updates of the trial at hand before it is judged.
int64_t updates_of_trial(const SwapState& search) {
  return search.best.empty() ? kFirstUpdates : kTrialUpdates;
}

// One member's trial while it is put together.
struct Trial {
  Member* member;
  int slot;             // of the seeding
  int64_t removed = 0;  // which prototype
  Matrix others = {};   // all but that one
  Matrix candidates = {};
};

// The prototype to remove: after f failures in a row the one of rank f mod K by cost.
int64_t removed_prototype(const SwapState& search) {
  const std::vector<double>& costs = search.costs;
  std::vector<int64_t> order(costs.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::ranges::stable_sort(order, {}, [&](int64_t k) { return costs[static_cast<size_t>(k)]; });
  return order[static_cast<size_t>(search.failures) % order.size()];
}

Matrix all_but(const Matrix& prototypes, int64_t removed) {
  std::vector<int64_t> kept;
  for (int64_t k = 0; k < prototypes.rows(); ++k) {
    if (k != removed) kept.push_back(k);
  }
  return keep_prototypes(prototypes, kept);
}

// Finds the removal costs for searches whose best prototypes are new.
void find_costs(const SwapTrials::Services& context, std::span<const Trial> trials) {
  std::vector<SwapState*> searches;
  std::vector<const Matrix*> models;
  for (const Trial& trial : trials) {
    SwapState& search = trial.member->search;
    if (!search.costs.empty()) continue;
    searches.push_back(&search);
    models.push_back(&search.best);
  }
  if (models.empty()) return;
  std::vector<std::vector<double>> costs = removal_costs(context.input, models, context.session.rows(), context.pool);
  for (size_t i = 0; i < searches.size(); ++i) searches[i]->costs = std::move(costs[i]);
}

// Makes trials of the members whose best prototypes leave some error. All members continue from these prototypes;
// members for which a trial begins get others.
std::vector<Trial> make_trials(const SwapTrials::Services& context, std::span<Member* const> members) {
  std::vector<Trial> trials;
  for (Member* member : members) {
    return_to_best(*member, std::nullopt);
    if (member->search.best_inertia > 0) trials.push_back({member, static_cast<int>(trials.size())});
  }
  find_costs(context, trials);
  for (Trial& trial : trials) {
    const SwapState& search = trial.member->search;
    trial.removed = removed_prototype(search);
    trial.others = all_but(search.best, trial.removed);
  }
  return trials;
}

// The seeding knows the least distance of every row to the prototypes that are left.
void begin(Seeding& seeding, std::span<const Trial> trials) {
  std::vector<SeedCentres> others;
  for (const Trial& trial : trials) others.push_back({trial.slot, &trial.others});
  const std::vector<double> largest = seeding.begin(others);
  for (size_t i = 0; i < trials.size(); ++i) seeding.fix_scale(trials[i].slot, largest[i]);
}

// The rows that each trial's random numbers pick by these distances.
std::vector<std::vector<int64_t>> draw(Seeding& seeding, std::span<const Trial> trials, int64_t rows) {
  std::vector<SeedDraw> draws;
  for (const Trial& trial : trials) {
    const Member& member = *trial.member;
    SeedDraw& drawn = draws.emplace_back(SeedDraw{trial.slot});
    for (int64_t c = 0; c < kCandidates; ++c) {
      append_subset_draws({member.result.seed, member.search.trials, c * draws_of_subset(rows), Purpose::kSwapRow},
                          rows, drawn.u);
    }
  }
  return seeding.draw(draws);
}

// For each of the picked rows the prototype that is nearest among those that are left.
std::vector<uint32_t> nearest_others(const Input& input, const std::vector<int64_t>& picked, const Matrix& others) {
  const Matrix rows = gather_from_all(input, picked);
  std::vector<uint32_t> labels(picked.size());
  as_float_type(rows.type(), [&]<class T>(T) {
    prototype_of(input).rows<T>().nearest({rows.values<T>().data(), rows.rows(), rows.columns()},
                                          others.values<T>().data(), others.rows(), labels.data());
  });
  return labels;
}

// The first different rows of `picked` from number `begin` on, and from the first again, that have the label of that
// one.
std::vector<int64_t> rows_of_one_cluster(const std::vector<int64_t>& picked, const std::vector<uint32_t>& labels,
                                         size_t begin, int64_t rows) {
  std::vector<int64_t> subset;
  for (size_t i = 0; i < picked.size() && static_cast<int64_t>(subset.size()) < rows; ++i) {
    const size_t at = (begin + i) % picked.size();
    if (labels[at] != labels[begin] || std::ranges::find(subset, picked[at]) != subset.end()) continue;
    subset.push_back(picked[at]);
  }
  return subset;
}

// Returns the rows of each candidate of a trial. Every second candidate has rows from anywhere. The others have rows
// from one cluster, which finds models that share one.
std::vector<std::vector<int64_t>> subsets_of(const Input& input, const Trial& trial,
                                             const std::vector<int64_t>& picked) {
  const int64_t rows = rows_of_subset(input);
  std::vector<std::vector<int64_t>> subsets = distinct_rows(picked, rows);
  const std::vector<uint32_t> labels = nearest_others(input, picked, trial.others);
  for (size_t c = 1; c < subsets.size(); c += 2) {
    subsets[c] = rows_of_one_cluster(picked, labels, c * static_cast<size_t>(draws_of_subset(rows)), rows);
  }
  return subsets;
}

// Makes the candidates of all trials. A trial for which no row can be drawn has none.
void make_candidates(const SwapTrials::Services& context, Seeding& seeding, std::span<Trial> trials) {
  std::vector<std::vector<int64_t>> groups;
  std::vector<Trial*> drawn;
  const std::vector<std::vector<int64_t>> picked = draw(seeding, trials, rows_of_subset(context.input));
  for (size_t i = 0; i < trials.size(); ++i) {
    if (picked[i].empty()) continue;
    drawn.push_back(&trials[i]);
    for (std::vector<int64_t>& subset : subsets_of(context.input, trials[i], picked[i])) {
      groups.push_back(std::move(subset));
    }
  }
  const Matrix all = prototypes_of_groups(context.input, groups, context.pool);
  for (size_t i = 0; i < drawn.size(); ++i) {
    std::vector<int64_t> mine(kCandidates);
    std::iota(mine.begin(), mine.end(), static_cast<int64_t>(i) * kCandidates);
    drawn[i]->candidates = keep_prototypes(all, mine);
  }
}

void begin_trial(const Trial& trial, int64_t chosen) {
  Member& member = *trial.member;
  member.prototypes = member.search.best;
  as_float_type(member.prototypes.type(), [&]<class T>(T) {
    const int64_t width = member.prototypes.columns();
    std::copy_n(trial.candidates.values<T>().begin() + chosen * width, width,
                member.prototypes.values<T>().begin() + trial.removed * width);
  });
  ++member.search.trials;
  member.search.steps = 0;
}

// The trial at hand ends with search.inertia. Returns whether it succeeded, so that its prototypes are the best so far.
bool keep_or_reject(Member& member) {
  SwapState& search = member.search;
  const bool first = search.best.empty();
  const bool success = first || (search.steps > 0 && search.inertia <= (1 - kMinGain) * search.best_inertia);
  search.steps = -1;
  ++search.failures;
  if (!success) return false;
  search.failures = 0;
  search.best = member.prototypes;
  search.costs.clear();
  search.best_inertia = search.inertia;
  return true;
}

// Begins trials of members that are seeded together.
void begin_together(const SwapTrials::Services& context, std::span<Member* const> members) {
  std::vector<Trial> trials = make_trials(context, members);
  if (trials.empty()) return;
  std::vector<int64_t> k;
  for (const Trial& trial : trials) k.push_back(trial.member->search.best.rows());
  const SeedingOwner owner = make_seeding(context.upload, context.input, k, context.pool);
  begin(*owner.seeding, trials);
  make_candidates(context, *owner.seeding, trials);
  std::erase_if(trials, [](const Trial& trial) { return trial.candidates.empty(); });
  std::vector<SeedTrial> asked;
  for (const Trial& trial : trials) asked.push_back({trial.slot, &trial.candidates});
  const std::vector<int64_t> chosen = owner.seeding->choose(asked);
  for (size_t i = 0; i < trials.size(); ++i) begin_trial(trials[i], chosen[i]);
}

}  // namespace

void begin_search(Member& member) {
  if (member.result.k > 1 && !member.search.in_trial()) member.search.steps = 0;
}

void return_to_best(Member& member, std::optional<StopReason> reason) {
  member.prototypes = member.search.best;
  member.search.steps = -1;
  if (!reason) return;
  member.stopping = true;
  member.result.stop_reason = *reason;
}

void SwapTrials::begin(std::span<Member* const> members) const {
  for (size_t first = 0; first < members.size(); first += together_) {
    begin_together(services_, members.subspan(first, std::min(together_, members.size() - first)));
  }
}

int64_t SwapTrials::passes_left(const SwapState& search) {
  return updates_of_trial(search) - search.steps + 1;
}

void SwapTrials::follow(Member& member, PassModel& model) {
  for (const PassResult& pass : model.earlier) {
    member.state += pass.hash_delta;
    ++member.result.iterations;
    ++member.search.steps;
  }
  if (!model.earlier.empty()) member.prototypes = std::move(model.last_prototypes);
  member.state += model.result.hash_delta;
}

bool SwapTrials::ends(const SwapState& search, int64_t changed, std::optional<StopReason> outer) {
  if (!search.in_trial()) return false;
  const bool strict = search.steps > 0 && changed == 0;
  return strict || search.steps >= updates_of_trial(search) || outer;
}

void SwapTrials::measure(std::span<Member* const> ending) const {
  if (ending.empty()) return;
  std::vector<ModelPrototypes> models;
  for (const Member* member : ending) models.push_back({member->slot, &member->prototypes});
  const std::vector<InertiaSum> sums = services_.session.rows().inertias(models);
  for (size_t i = 0; i < ending.size(); ++i) ending[i]->search.inertia = sums[i].rounded();
}

void SwapTrials::update(Member& member) const {
  Session& session = services_.session;
  treat_empty_clusters(session, member, EmptyPolicy::kKeep, services_.input);
  member.prototypes =
      solve_prototypes(session.statistics(member.slot), services_.input, member.prototypes, services_.pool);
  ++member.result.iterations;
  ++member.search.steps;
}

Verdict SwapTrials::judge(Member& member, std::optional<StopReason> outer) const {
  const bool success = keep_or_reject(member);
  if (!outer && member.search.failures < max_failures_) return Verdict::kWaits;
  if (!outer || !success) {
    return_to_best(member, outer);
    return Verdict::kGoesOn;
  }
  member.result.stop_reason = *outer;
  return Verdict::kDone;
}

}  // namespace manymeans
