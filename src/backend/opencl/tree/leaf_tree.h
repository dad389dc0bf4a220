// The rows of an upload, neighbours together, in a kd-tree. Devices see its two lowest levels: leaves of 32 rows and
// nodes of 16 leaves, each with a bounding box.
#pragma once

#include <manymeans/points.h>

#include "backend/opencl/kernels/leaf_boxes.h"
#include "core/threads.h"

#include <cstdint>
#include <vector>

namespace manymeans::opencl {

constexpr int64_t kMaxTreeColumns = 32;

struct LeafTree {
  /// Rows are cut at the median of the column in which a sample of them reaches farthest. Each `block_rows` rows, a
  /// multiple of a leaf's, stay among themselves, so that a slice has leaves of its own.
  static LeafTree build(const PointsView& points, int64_t block_rows, ThreadPool& pool);
  /// Bytes that a tree of n points takes of a device's memory.
  static int64_t bytes(int64_t n, int64_t d);

  std::vector<uint32_t> order;  ///< the row at each place
  std::vector<double> leaves;   ///< boxes: d middles, d half widths (rounded up), at least the sum of their squares
  std::vector<double> nodes;    ///< those of the nodes
};

/// `scale`: tests only; multiplies all of it, the reach of the box included.
BoxBound box_bound(int64_t d, double scale);

/// Leaves of `rows` rows, and the nodes above them.
int64_t leaves_of(int64_t rows);
int64_t nodes_of(int64_t leaves);

}  // namespace manymeans::opencl
