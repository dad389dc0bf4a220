// Distances of all rows to the prototypes of their labels, leaf by leaf. Rows are lanes and prototypes are read once a
// leaf, at a fraction of the cost of rows in the points' order.
#include "backend/cpu/tree/tree_pass.h"
#include "core/data_type.h"

#include <algorithm>
#include <cmath>

namespace manymeans {

// Of one thread.
template <class T>
class TreePass::Distances {
 public:
  Distances(const TreePass& pass, const TreeState& state, const std::vector<double>& values)
      : pass_(pass), tree_(pass.tree_), state_(state), values_(values) {
    const auto rows = static_cast<size_t>(tree_.max_leaf_rows() + kLanePadding);
    squares_.resize(rows);
    others_.resize(rows);
    labels_.resize(rows);
  }

  // Calls visit(leaf, squares) for the leaves of a subtree, but for those below nodes of one label that
  // skip(node, label) passes over.
  template <class Skip, class Visit>
  void for_each_leaf(const KdSubtree& subtree, Skip&& skip, Visit&& visit) {
    walk(subtree, 0, kAsStored, skip, visit);
  }

  // At least the canonical distance of every point of the box to a prototype.
  double bound(const LaneBox& box, uint32_t label) const {
    const double* c = values_.data() + static_cast<int64_t>(label) * box.d;
    double sum = 0;
    for (int64_t j = 0; j < box.d; ++j) {
      const double reach = std::fabs(box.middle[j] - c[j]) + box.half[j];
      sum += reach * reach;
    }
    return sum * (1 + 0x1p-40) + 0x1p-1060;
  }

 private:
  template <class Skip, class Visit>
  void walk(const KdSubtree& subtree, uint32_t index, uint32_t label, Skip&& skip, Visit&& visit) {
    const KdNode& node = subtree.nodes[index];
    if (label == kAsStored) label = state_.owners[static_cast<size_t>(subtree.first_node + index)];
    if (label != kMixed && skip(index, label)) return;
    if (node.is_leaf()) {
      find(node, label);
      visit(node, squares_.data());
      return;
    }
    const uint32_t below = label == kMixed ? kAsStored : label;
    walk(subtree, index + 1, below, skip, visit);
    walk(subtree, node.right, below, skip, visit);
  }

  void find(const KdNode& leaf, uint32_t label) {
    if (label != kMixed) return distances(leaf, label, squares_.data());
    // Few labels meet in a leaf: all distances to each of them.
    const int64_t rows = leaf.rows();
    state_.labels.read(leaf.begin, rows, labels_.data());
    for (int64_t i = 0; i < rows; ++i) {
      const uint32_t mine = labels_[static_cast<size_t>(i)];
      if (mine == kNoLabel) continue;  // done
      distances(leaf, mine, others_.data());
      for (int64_t r = i; r < rows; ++r) {
        const auto at = static_cast<size_t>(r);
        if (labels_[at] != mine) continue;
        squares_[at] = others_[at];
        labels_[at] = kNoLabel;
      }
    }
  }

  void distances(const KdNode& leaf, uint32_t label, double* out) const {
    const double* c = values_.data() + static_cast<int64_t>(label) * tree_.d();
    if constexpr (sizeof(T) == 8) {
      pass_.points_.kernels.lanes.distances_f64(tree_.rows<T>(leaf), c, out);
    } else {
      pass_.points_.kernels.lanes.distances_f32(tree_.rows<T>(leaf), c, out);
    }
  }

  const TreePass& pass_;
  const KdTree& tree_;
  const TreeState& state_;
  const std::vector<double>& values_;  // of the prototypes, widened
  std::vector<double> squares_, others_;
  std::vector<uint32_t> labels_;
};

template <class Body>
void TreePass::for_each_subtree(const TreeState& state, const Matrix& prototypes, Body&& body) const {
  std::vector<double> values(static_cast<size_t>(prototypes.rows() * prototypes.columns()));
  widen(prototypes.view().data, prototypes.type(), 0, prototypes.rows() * prototypes.columns(), values.data());
  const auto subtrees = static_cast<int64_t>(tree_.subtrees().size());
  const int64_t grain = std::max<int64_t>(1, subtrees / (8 * pool_.size()));
  pool_.for_each_range(subtrees, grain, [&](int w, int64_t first, int64_t last) {
    const auto run = [&](auto type) {
      Distances<decltype(type)> distances(*this, state, values);
      for (int64_t s = first; s < last; ++s) body(w, tree_.subtrees()[static_cast<size_t>(s)], distances);
    };
    if (points_.input.points.type == DataType::kFloat64) {
      run(double{});
    } else {
      run(float{});
    }
  });
}

// The largest distance of a row with w' > 0. Nodes that cannot hold it are passed over.
double TreePass::farthest(const TreeState& state, const Matrix& prototypes) const {
  std::vector<double> most(static_cast<size_t>(pool_.size()));
  for_each_subtree(state, prototypes, [&](int w, const KdSubtree& subtree, auto& distances) {
    double& mine = most[static_cast<size_t>(w)];
    const auto skip = [&](uint32_t node, uint32_t label) {
      return distances.bound(tree_.box(subtree, node), label) < mine;
    };
    distances.for_each_leaf(subtree, skip, [&](const KdNode& leaf, const double* squares) {
      for (int64_t i = 0; i < leaf.rows(); ++i) {
        if (squares[i] > mine && (tree_.weights() == nullptr || tree_.weights()[leaf.begin + i] > 0)) mine = squares[i];
      }
    });
  });
  return *std::max_element(most.begin(), most.end());
}

InertiaSum TreePass::inertia(const TreeState& state, const Matrix& prototypes) const {
  InertiaSum sum;
  sum.farthest = farthest(state, prototypes);
  sum.format = distance_format(points_.input, sum.farthest);
  sum.limbs = inertia(state, prototypes, sum.format);
  return sum;
}

std::vector<int64_t> TreePass::inertia(const TreeState& state, const Matrix& prototypes,
                                       const SumFormat& format) const {
  const auto limbs = static_cast<size_t>(format.limbs);
  std::vector<std::vector<int64_t>> sums(static_cast<size_t>(pool_.size()), std::vector<int64_t>(limbs));
  const TermAdder adder(format);
  const int exponent_of_top = format.shift - (format.limbs - 1) * format.bits;
  const bool fast = format.bits <= 50 && std::abs(exponent_of_top) < 1022;
  const double top = fast ? std::ldexp(1.0, exponent_of_top) : 0;
  const double radix = std::ldexp(1.0, format.bits);
  for_each_subtree(state, prototypes, [&](int w, const KdSubtree& subtree, auto& distances) {
    int64_t* to = sums[static_cast<size_t>(w)].data();
    const auto skip = [](uint32_t, uint32_t) { return false; };
    distances.for_each_leaf(subtree, skip, [&](const KdNode& leaf, const double* squares) {
      const double* weights = tree_.weights() == nullptr ? nullptr : tree_.weights() + leaf.begin;
      if (fast) {
        points_.kernels.lanes.add_rows_f64({squares, leaf.rows(), 1}, weights, {format.limbs, &top, radix, to});
        return;
      }
      for (int64_t i = 0; i < leaf.rows(); ++i)
        adder.add(weights == nullptr ? squares[i] : weights[i] * squares[i], 1, to);
    });
  });
  for (size_t w = 1; w < sums.size(); ++w) {
    for (size_t g = 0; g < limbs; ++g) sums[0][g] += sums[w][g];
  }
  return sums[0];
}

}  // namespace manymeans
