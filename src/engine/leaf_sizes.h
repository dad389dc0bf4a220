// Numbers of rows that leaves of a tree may have: contract, "Sizes of leaves".
#pragma once

#include <manymeans/fit.h>
#include <manymeans/tree.h>

#include <span>

namespace manymeans {

/// The rows of a fit, and how its rows are measured.
struct LeafRows {
  const PointsView& points;
  std::span<const double> weights;
  const TreeOptions& options;
  const FitHooks& hooks;
};

/// Throws Error(kUsage) if `k` leaves of `rows` rows cannot have these sizes.
void check_leaf_sizes(const TreeOptions& options, int64_t rows);

/// Moves rows to other leaves until all sizes are within their bounds. `leaves` is a model with the nearest labels; its
/// labels, counts, weights and inertia follow. Returns how many rows have another leaf than before. Each round labels
/// the rows without a place; there are k rounds at most, and few in practice.
int64_t bound_leaf_sizes(const LeafRows& rows, ModelResult& leaves);

}  // namespace manymeans
