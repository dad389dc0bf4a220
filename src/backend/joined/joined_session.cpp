#include "backend/joined/joined_session.h"

#include "prototype/prototype.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace manymeans {
namespace {

// Counts the shifts of an update.
ShiftCounts count_shifts(std::span<const double> squared_shifts, double still) {
  ShiftCounts counts;
  for (const double d2 : squared_shifts) {
    counts.sum += d2;
    counts.still += d2 <= still;
  }
  return counts;
}

// Sums, weight and rows of one cluster.
std::vector<int64_t> cluster_of(const Statistics& statistics, int64_t cluster) {
  std::vector<int64_t> values(statistics.row(cluster), statistics.row(cluster) + statistics.limbs * statistics.d);
  values.push_back(statistics.weights[static_cast<size_t>(cluster)]);
  values.push_back(statistics.counts[static_cast<size_t>(cluster)]);
  return values;
}

void add_to_cluster(Statistics& statistics, int64_t cluster, std::span<const int64_t> values) {
  int64_t* sums = statistics.row(cluster);
  const size_t limbs = values.size() - 2;
  for (size_t i = 0; i < limbs; ++i) sums[i] += values[i];
  statistics.weights[static_cast<size_t>(cluster)] += values[limbs];
  statistics.counts[static_cast<size_t>(cluster)] += values[limbs + 1];
}

}  // namespace

JoinedSession::JoinedSession(const Input& input, std::span<const int64_t> k, int threads)
    : input_(input), k_(k.begin(), k.end()), statistics_(k.size()), pool_(threads) {}

Statistics& JoinedSession::of(int slot) {
  Statistics& mine = statistics_[static_cast<size_t>(slot)];
  if (mine.k == 0) mine = Statistics(k_[static_cast<size_t>(slot)], terms(), input_.limbs);
  return mine;
}

int JoinedSession::advance_joined(std::span<PassModel> models, const PassLimits& limits, int most) {
  std::vector<PassModel> active(models.begin(), models.end());
  std::vector<Matrix> solved(models.size()), next(models.size());
  for (PassModel& model : models) {
    model.earlier.clear();
    model.last_prototypes = {};
  }
  for (int done = 1;; ++done) {
    pass(active);
    for (size_t i = 0; i < models.size(); ++i) models[i].result = active[i].result;
    if (done == most || must_be_judged(active, limits) || !update(active, limits.shifts, next)) {
      for (size_t i = 0; i < models.size(); ++i) models[i].last_prototypes = std::move(solved[i]);
      return done;
    }
    for (size_t i = 0; i < models.size(); ++i) {
      models[i].earlier.push_back(models[i].result);
      solved[i] = std::move(next[i]);
      active[i].prototypes = &solved[i];
    }
  }
}

// The prototypes of the next pass; false where it may not come.
bool JoinedSession::update(std::span<const PassModel> models, const ShiftLimits& limits, std::span<Matrix> next) {
  for (size_t i = 0; i < models.size(); ++i) {
    const Matrix& before = *models[i].prototypes;
    next[i] = solve_prototypes(of(models[i].slot), input_, before, pool_);
    if (!limits.any()) continue;
    const ShiftCounts counts = count_shifts(squared_shifts(prototype_of(input_), before, next[i], &pool_), limits.each);
    if (may_be_last(limits, counts, before.rows())) return false;
  }
  return true;
}

bool JoinedSession::must_be_judged(std::span<const PassModel> models, const PassLimits& limits) {
  return std::ranges::any_of(models, [&](const PassModel& model) {
    const std::vector<int64_t>& weights = of(model.slot).weights;
    return model.result.changed <= limits.changed || std::ranges::find(weights, 0) != weights.end();
  });
}

std::vector<int64_t> JoinedSession::move_own_row(Session& part, int slot, int64_t row, uint32_t label) const {
  std::vector<int64_t> move = {part.labels(slot)[row]};
  const int64_t clusters[] = {move[0], label};
  std::vector<int64_t> before[2];
  for (size_t c = 0; c < 2; ++c) before[c] = cluster_of(part.statistics(slot), clusters[c]);
  part.move_row(slot, row, label);
  for (size_t c = 0; c < 2; ++c) {
    const std::vector<int64_t> after = cluster_of(part.statistics(slot), clusters[c]);
    std::ranges::transform(after, before[c], std::back_inserter(move), std::minus());
  }
  return move;
}

void JoinedSession::apply_move(int slot, uint32_t label, std::span<const int64_t> move) {
  add_to_cluster(of(slot), move[0], move.subspan(1, cluster_size()));
  add_to_cluster(of(slot), label, move.subspan(1 + cluster_size()));
}

void keep_farthest(std::vector<DistantRow>& rows, int64_t count) {
  std::ranges::sort(rows, DistantRow::is_farther);
  if (static_cast<int64_t>(rows.size()) > count) rows.resize(static_cast<size_t>(count));
}

}  // namespace manymeans
