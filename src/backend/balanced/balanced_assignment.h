// Rows to clusters at the least total cost that the clusters' sizes allow: contract, "Balanced clusters".
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// How many rows a cluster may have.
struct SizeLimits {
  int64_t least = 0;
  int64_t most = 0;
};

/// The cost of row i in cluster c at values[c * rows + i]: 0 or more, and at most 2^cost_bits(clusters).
struct AssignmentCosts {
  std::span<const int64_t> values;
  int64_t rows = 0;
  int64_t clusters = 0;
};

/// So that sums over paths through all clusters stay far from the ends of int64.
int cost_bits(int64_t clusters);

/// The labels of least total cost of which every cluster has `sizes.least` to `sizes.most` rows; of those that cost the
/// same, the ones that are lexicographically smallest, rows ascending. There must be some.
///
/// Prices: one for each cluster, those of an earlier call on like costs, or zeros; they decide how long it takes, never
/// what comes out. Afterwards those of this one: where p is the prices, every row is where its cost + p is least, a
/// cluster of p > 0 is full, and one of p < 0 has as few rows as it may. That proves the optimum.
///
/// Throws Error(kInterrupted) soon after *abort is set. Time O(rows * clusters) for each of some rounds in which
/// clusters change their prices one after the other, then O(clusters^2) for each row that has to move along a shortest
/// path; memory O(rows + clusters^2) beside the costs.
std::vector<uint32_t> assign_balanced(const AssignmentCosts& costs, const SizeLimits& sizes,
                                      std::vector<int64_t>& prices, const std::atomic<bool>* abort = nullptr);

}  // namespace manymeans
