#include "backend/sharded/sharded_seeding.h"

#include <utility>

namespace manymeans {

ShardedSeeding::ShardedSeeding(const Input& input, SeedingOwner local, size_t models)
    : input_(input), comm_(*input.comm), local_(std::move(local)), totals_(models) {}

std::vector<double> ShardedSeeding::begin(std::span<const SeedCentres> models) {
  std::vector<double> largest(models.size());
  if (local()) largest = local()->begin(models);
  comm_.max(std::span(largest));
  return largest;
}

void ShardedSeeding::fix_scale(int slot, double largest) {
  if (local()) local()->fix_scale(slot, largest);
  Totals& totals = totals_[static_cast<size_t>(slot)];
  totals.begun = true;
  totals.known = false;
}

void ShardedSeeding::add(std::span<const SeedCentres> models) {
  if (local()) local()->add(models);
  for (const SeedCentres& model : models) totals_[static_cast<size_t>(model.slot)].known = false;
}

const ShardedSeeding::Totals& ShardedSeeding::totals_of(int slot) {
  const Totals& totals = totals_[static_cast<size_t>(slot)];
  if (!totals.known) gather_totals();
  return totals;
}

// One collective for all models whose totals are not known.
void ShardedSeeding::gather_totals() {
  std::vector<Totals*> unknown;
  std::vector<WideInt> own;
  for (size_t slot = 0; slot < totals_.size(); ++slot) {
    Totals& totals = totals_[slot];
    if (totals.known || !totals.begun) continue;
    totals.own = local() ? local()->total(static_cast<int>(slot)) : WideInt();
    unknown.push_back(&totals);
    own.push_back(totals.own);
  }
  const std::vector<std::vector<WideInt>> ranks = comm_.gather(std::span<const WideInt>(own));
  for (size_t i = 0; i < unknown.size(); ++i) {
    Totals& totals = *unknown[i];
    totals.known = true;
    totals.before = totals.all = WideInt();
    for (size_t r = 0; r < ranks.size(); ++r) {
      if (static_cast<int>(r) == comm_.rank()) totals.before = totals.all;
      totals.all += ranks[r][i];
    }
  }
}

std::vector<int64_t> ShardedSeeding::pick(int slot, std::span<const WideInt> targets) {
  const Totals& totals = totals_of(slot);
  std::vector<size_t> mine;
  std::vector<WideInt> own_targets;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < totals.before || targets[i] - totals.before >= totals.own) continue;
    mine.push_back(i);
    own_targets.push_back(targets[i] - totals.before);
  }
  std::vector<int64_t> rows(targets.size(), -1);  // the other ranks'
  if (!mine.empty()) {
    const std::vector<int64_t> picked = local()->pick(slot, own_targets);
    for (size_t i = 0; i < mine.size(); ++i) rows[mine[i]] = input_.shard.first + picked[i];
  }
  comm_.max(std::span(rows));
  return rows;
}

void ShardedSeeding::trial(std::span<SeedTrial> trials) {
  if (local()) local()->trial(trials);
  std::vector<WideInt> own;
  for (SeedTrial& trial : trials) {
    trial.potentials.resize(static_cast<size_t>(trial.candidates->rows()));
    own.insert(own.end(), trial.potentials.begin(), trial.potentials.end());
  }
  const std::vector<std::vector<WideInt>> ranks = comm_.gather(std::span<const WideInt>(own));
  size_t at = 0;
  for (SeedTrial& trial : trials) {
    for (WideInt& potential : trial.potentials) {
      potential = WideInt();
      for (const std::vector<WideInt>& rank : ranks) potential += rank[at];
      ++at;
    }
  }
}

std::vector<int64_t> ShardedSeeding::sample(int slot, const SeedSample& sample) {
  std::vector<int64_t> rows;
  if (local()) rows = local()->sample(slot, sample);
  for (int64_t& row : rows) row += input_.shard.first;
  return comm_.gather_flat(std::span<const int64_t>(rows));
}

// Not known where one rank does not know it. A rank without rows does not know how many centres there are.
std::vector<int64_t> ShardedSeeding::cluster_weights(int slot) {
  std::vector<int64_t> weights;
  if (local()) weights = local()->cluster_weights(slot);
  int64_t unknown_and_centres[] = {local() && weights.empty() ? 1 : 0, static_cast<int64_t>(weights.size())};
  comm_.max(std::span(unknown_and_centres));
  if (unknown_and_centres[0] != 0) return {};
  weights.resize(static_cast<size_t>(unknown_and_centres[1]));
  comm_.sum(std::span(weights));
  return weights;
}

std::span<const double> ShardedSeeding::least(int slot) {
  return local() ? local()->least(slot) : std::span<const double>{};
}

}  // namespace manymeans
