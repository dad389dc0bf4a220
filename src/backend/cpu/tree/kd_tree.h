// A kd-tree over the points of an upload: built once, shared by all models, sessions and iterations.
//
// A tree over a sample cuts the points into some hundred subtrees. One thread builds each subtree, so the tree is the
// same for any number of threads. Rows lie in tree order, leaves hold about 16 to 32 of them as lanes.
#pragma once

#include "backend/cpu/kernels/kernels.h"
#include "core/aligned_buffer.h"
#include "core/threads.h"
#include "data/input.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace manymeans {

struct TermScales;

constexpr int64_t kMaxTreeColumns = 32;

/// Rows [begin, end) of the tree's order. The left child is the next node; `right` is 0 for a leaf.
struct KdNode {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t right = 0;
  int64_t weight = 0;  ///< sum of the rows' integer weights

  bool is_leaf() const { return right == 0; }
  int64_t rows() const { return int64_t{end} - begin; }
};

/// Nodes in depth-first order; the first is the root.
struct KdSubtree {
  int64_t first_node = 0;  ///< nodes of all subtrees before this one
  std::vector<KdNode> nodes;
  std::vector<double> boxes;  ///< nodes x (2 d + 1): middle, half width (rounded up), sum of squared half widths
  std::vector<int64_t> sums;  ///< nodes x limbs x d: exact sums of w' x in the input's formats
};

class KdTree {
 public:
  /// O(N (D + log N)) on the pool's threads.
  KdTree(const Input& input, const CpuKernels& kernels, const TermScales& scales, ThreadPool& pool);

  /// About what a tree over this input takes while it is built, in bytes.
  static int64_t bytes(const Input& input);
  /// Rows are counted by 32 bits.
  static bool can_hold(const Input& input) { return input.points.n < int64_t{1} << 32; }

  int64_t d() const { return d_; }
  int64_t nodes() const { return nodes_; }
  int64_t max_leaf_rows() const { return max_leaf_rows_; }
  const std::vector<KdSubtree>& subtrees() const { return subtrees_; }
  LaneBox box(const KdSubtree& tree, uint32_t node) const {
    const double* at = tree.boxes.data() + static_cast<int64_t>(node) * (2 * d_ + 1);
    return {d_, at, at + d_, at[2 * d_]};
  }
  const int64_t* sums(const KdSubtree& tree, uint32_t node) const {
    return tree.sums.data() + static_cast<int64_t>(node) * limbs_ * d_;
  }
  /// The rows of a leaf. T is float, or double for float64 points.
  template <class T>
  LaneRows<T> rows(const KdNode& leaf) const {
    const T* all = reinterpret_cast<const T*>(values_.data());
    return {all + int64_t{leaf.begin} * d_, leaf.rows(), d_};
  }
  /// Row of the points at each place of the tree's order, and the place of each row.
  const uint32_t* order() const { return order_.data(); }
  const uint32_t* place() const { return place_.data(); }
  /// w' in the tree's order; null without weights.
  const double* weights() const { return weights_.size() == 0 ? nullptr : weights_.data(); }

 private:
  template <class T>
  class Builder;

  int64_t d_;
  int limbs_;
  int64_t nodes_ = 0;
  int64_t max_leaf_rows_ = 0;
  std::vector<KdSubtree> subtrees_;
  AlignedBuffer<std::byte> values_;
  AlignedBuffer<uint32_t> order_;
  AlignedBuffer<uint32_t> place_;
  AlignedBuffer<double> weights_;
};

}  // namespace manymeans
