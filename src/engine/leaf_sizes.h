// Numbers of rows that leaves of a tree may have: contract, "Sizes of leaves".
#pragma once

#include <manymeans/fit.h>
#include <manymeans/tree.h>

#include <span>

namespace manymeans {

/// The rows of a fit that this rank has, and how they are measured.
struct LeafRows {
  const PointsView& points;
  std::span<const double> weights;
  const TreeOptions& options;
  const FitHooks& hooks;
  Comm& comm;
  int64_t first = 0;  ///< number of the first among all rows
};

/// Throws Error(kUsage) if `k` leaves of `rows` rows cannot have these sizes.
void check_leaf_sizes(const TreeOptions& options, int64_t rows);

/// Moves rows to other leaves until all sizes are within their bounds. `leaves` is a model with the nearest labels; its
/// labels, counts, weights and inertia follow. Returns how many rows have another leaf than before. Each round labels
/// the rows without a place; there are k rounds at most, and few in practice. All ranks call it. Each goes through the
/// requests of all ranks in order, and has 65,536 from each rank at a time.
int64_t bound_leaf_sizes(const LeafRows& rows, ModelResult& leaves);

}  // namespace manymeans
