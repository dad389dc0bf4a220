#include "engine/swap_search.h"

#include "backend/make_seeding.h"
#include "core/data_type.h"
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

constexpr int64_t kCandidates = 16;
constexpr double kLeastGain = 0x1p-10;  // of the error, for a trial to succeed

// One member's trial while it is put together.
struct Trial {
  Member* member;
  int slot;                  // of the seeding
  int64_t removed = 0;       // which prototype
  Matrix others = {};        // all but that one
  Matrix candidates = {};
};

// The prototype to remove: after f failures in a row the one of rank f mod K by cost.
int64_t removed_prototype(const SwapState& search, const std::vector<double>& costs) {
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

std::vector<Trial> make_trials(const SwapContext& context, std::span<Member* const> members) {
  std::vector<const Matrix*> models;
  for (const Member* member : members) models.push_back(&member->search.best);
  const std::vector<std::vector<double>> costs = removal_costs(context.input, models, context.pool);
  std::vector<Trial> trials;
  for (size_t i = 0; i < members.size(); ++i) {
    Trial trial{members[i], static_cast<int>(i)};
    trial.removed = removed_prototype(members[i]->search, costs[i]);
    trial.others = all_but(*models[i], trial.removed);
    trials.push_back(std::move(trial));
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
      append_subset_draws({member.result.seed, member.search.trials, c * draws_of_subset(rows), Purpose::kSwapRow}, rows,
                          drawn.u);
    }
  }
  return seeding.draw(draws);
}

// Candidates of all trials; those of which no row can be drawn have none.
void make_candidates(const SwapContext& context, Seeding& seeding, std::span<Trial> trials) {
  const int64_t rows = rows_of_subset(context.input);
  std::vector<std::vector<int64_t>> groups;
  std::vector<Trial*> drawn;
  const std::vector<std::vector<int64_t>> picked = draw(seeding, trials, rows);
  for (size_t i = 0; i < trials.size(); ++i) {
    if (picked[i].empty()) continue;
    drawn.push_back(&trials[i]);
    for (std::vector<int64_t>& subset : distinct_rows(picked[i], rows)) groups.push_back(std::move(subset));
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
  member.result.k = member.prototypes.rows();
  member.begun = member.stopping = member.relocated = false;
  member.cycle.reset();
  member.last_inertia.reset();
  ++member.search.trials;
  member.search.steps = 0;
}

}  // namespace

bool succeeds(const SwapState& search) {
  return search.inertia <= (1 - kLeastGain) * search.best_inertia;
}

void begin_trials(const SwapContext& context, std::span<Member* const> members) {
  std::vector<Trial> trials = make_trials(context, members);
  std::vector<int64_t> k;
  for (const Member* member : members) k.push_back(member->search.best.rows());
  const SeedingOwner owner = make_seeding(context.upload, context.input, k, context.pool);
  begin(*owner.seeding, trials);
  make_candidates(context, *owner.seeding, trials);
  std::vector<SeedTrial> asked;
  std::vector<const Trial*> of;
  for (const Trial& trial : trials) {
    if (trial.candidates.empty()) {
      trial.member->search.over = true;
      continue;
    }
    asked.push_back({trial.slot, &trial.candidates});
    of.push_back(&trial);
  }
  const std::vector<int64_t> chosen = owner.seeding->choose(asked);
  for (size_t i = 0; i < of.size(); ++i) begin_trial(*of[i], chosen[i]);
}

}  // namespace manymeans
