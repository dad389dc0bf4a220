#include "backend/composite/composite_seeding.h"

#include <algorithm>
#include <utility>

namespace manymeans {

CompositeSeeding::CompositeSeeding(const CompositeRows& rows, std::vector<SeedingOfPart> seedings)
    : parts_(rows.parts),
      hold_(rows.mover),
      drivers_(static_cast<int>(rows.parts.size())),
      seedings_(std::move(seedings)),
      least_(static_cast<size_t>(rows.input.points.n)) {}

CompositeSeeding::~CompositeSeeding() {
  for (size_t p = 0; p < parts_.size(); ++p) {
    parts_[p]->backend->bind_to_destroy();
    seedings_[p].seeding.reset();
  }
}

std::vector<double> CompositeSeeding::begin(std::span<const SeedCentres> models) {
  std::vector<std::vector<double>> found(parts_.size());
  for_each_part(parts_, drivers_, [&](size_t p) { found[p] = seedings_[p].seeding->begin(models); });
  std::vector<double> largest = found[0];
  for (const std::vector<double>& part : found) {
    for (size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], part[i]);
  }
  return largest;
}

void CompositeSeeding::fix_scale(int slot, double largest) {
  for_each_part(parts_, drivers_, [&](size_t p) { seedings_[p].seeding->fix_scale(slot, largest); });
}

void CompositeSeeding::add(std::span<const SeedCentres> models) {
  for_each_part(parts_, drivers_, [&](size_t p) { seedings_[p].seeding->add(models); });
}

std::vector<WideInt> CompositeSeeding::totals(int slot) {
  std::vector<WideInt> totals(parts_.size());
  for_each_part(parts_, drivers_, [&](size_t p) { totals[p] = seedings_[p].seeding->total(slot); });
  return totals;
}

WideInt CompositeSeeding::total(int slot) {
  WideInt sum;
  for (const WideInt& part : totals(slot)) sum += part;
  return sum;
}

std::vector<int64_t> CompositeSeeding::pick(int slot, std::span<const WideInt> targets) {
  const std::vector<WideInt> totals = this->totals(slot);
  std::vector<int64_t> rows(targets.size());
  for_each_part(parts_, drivers_, [&](size_t p) {
    WideInt before;
    for (size_t other = 0; other < p; ++other) before += totals[other];
    std::vector<size_t> mine;
    std::vector<WideInt> own_targets;
    for (size_t i = 0; i < targets.size(); ++i) {
      if (targets[i] < before || targets[i] - before >= totals[p]) continue;
      mine.push_back(i);
      own_targets.push_back(targets[i] - before);
    }
    if (mine.empty()) return;
    const std::vector<int64_t> picked = seedings_[p].seeding->pick(slot, own_targets);
    for (size_t i = 0; i < mine.size(); ++i) rows[mine[i]] = parts_[p]->first + picked[i];
  });
  return rows;
}

void CompositeSeeding::trial(std::span<SeedTrial> trials) {
  std::vector<std::vector<SeedTrial>> found(parts_.size(), {trials.begin(), trials.end()});
  for_each_part(parts_, drivers_, [&](size_t p) { seedings_[p].seeding->trial(found[p]); });
  for (size_t i = 0; i < trials.size(); ++i) {
    trials[i].potentials.assign(static_cast<size_t>(trials[i].candidates->rows()), WideInt());
    for (const std::vector<SeedTrial>& part : found) {
      for (size_t c = 0; c < trials[i].potentials.size(); ++c) trials[i].potentials[c] += part[i].potentials[c];
    }
  }
}

std::vector<int64_t> CompositeSeeding::sample(int slot, const SeedSample& sample) {
  std::vector<std::vector<int64_t>> found(parts_.size());
  for_each_part(parts_, drivers_, [&](size_t p) { found[p] = seedings_[p].seeding->sample(slot, sample); });
  std::vector<int64_t> rows;
  for (size_t p = 0; p < parts_.size(); ++p) {
    for (const int64_t row : found[p]) rows.push_back(parts_[p]->first + row);
  }
  return rows;
}

std::vector<int64_t> CompositeSeeding::cluster_weights(int slot) {
  std::vector<std::vector<int64_t>> found(parts_.size());
  for_each_part(parts_, drivers_, [&](size_t p) { found[p] = seedings_[p].seeding->cluster_weights(slot); });
  std::vector<int64_t> sums = found[0];
  for (size_t p = 0; p < found.size(); ++p) {
    if (found[p].empty()) return {};
    for (size_t c = 0; p > 0 && c < sums.size(); ++c) sums[c] += found[p][c];
  }
  return sums;
}

bool CompositeSeeding::knows_cluster_weights() const {
  return std::ranges::all_of(seedings_,
                             [](const SeedingOfPart& part) { return part.seeding->knows_cluster_weights(); });
}

std::span<const double> CompositeSeeding::least(int slot) {
  for_each_part(parts_, drivers_, [&](size_t p) {
    std::ranges::copy(seedings_[p].seeding->least(slot), least_.begin() + parts_[p]->first);
  });
  return least_;
}

}  // namespace manymeans
