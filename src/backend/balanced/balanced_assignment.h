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

/// The labels of minimal total cost with `sizes.least` to `sizes.most` rows in every cluster. Among labels of equal
/// cost, the lexicographically smallest, rows ascending. There must be some.
///
/// `prices`: one for each cluster, from an earlier call on similar costs, or zeros. They decide the time, never the
/// result. Afterwards they are the prices of this call. With prices p, every row is where its cost + p is minimal. A
/// cluster of p > 0 is full, and one of p < 0 has its minimum number of rows. This proves the optimum.
///
/// Throws Error(kInterrupted) soon after *abort is set. Time O(rows * clusters) for each of some rounds in which
/// clusters change their prices one after the other. Then O(clusters^2) for each row that moves along a shortest path.
/// Memory O(rows + clusters^2) in addition to the costs.
std::vector<uint32_t> assign_balanced(const AssignmentCosts& costs, const SizeLimits& sizes,
                                      std::vector<int64_t>& prices, const std::atomic<bool>* abort = nullptr);

}  // namespace manymeans
