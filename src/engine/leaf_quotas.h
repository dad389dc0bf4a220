// How many leaves the children of a node get: contract, "Numbers of leaves".
#pragma once

#include "core/threads.h"
#include "engine/leaf_sizes.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// A child with rows: the number of its rows on all ranks, and its rows on this rank, ascending.
struct ChildRows {
  int64_t all;
  std::span<const int64_t> held;
};

/// Returns weights in proportion to the inertia of each child, estimated from up to 64 of its rows. All are 0 if the
/// largest estimate is 0 or infinite. `vectors` has the prototypes of the children. All ranks call it, and get the
/// same.
std::vector<int64_t> inertia_weights(const LeafRows& rows, std::span<const ChildRows> children,
                                     const PointsView& vectors, ThreadPool& pool);

/// Shares `leaves` out. Each child has one in advance. The others are in proportion to `weights`, or to the other rows
/// of children whose weights are all 0. No child gets more leaves than rows.
std::vector<int64_t> share_leaves(int64_t leaves, std::span<const ChildRows> children, std::vector<int64_t> weights);

}  // namespace manymeans
