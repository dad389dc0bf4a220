#include "founding/leaf_mapping.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace manymeans::founding {
namespace {

class TreeMaker {
 public:
  TreeMaker(const std::vector<float>& points, FoundingTree& tree) : points_(points), tree_(tree) {
    order_.resize(points.size() / static_cast<size_t>(tree.columns));
    std::iota(order_.begin(), order_.end(), int64_t{0});
    const auto values = static_cast<size_t>((2 * tree.leaves - 1) * tree.columns);
    tree_.minima.assign(values, std::numeric_limits<float>::max());
    tree_.maxima.assign(values, std::numeric_limits<float>::lowest());
    split(0, 0, static_cast<int64_t>(order_.size()));
    tree_.leaf_first.push_back(static_cast<int32_t>(order_.size()));
    for (const int64_t row : order_) {
      const auto first = points.begin() + row * tree.columns;
      tree_.points.insert(tree_.points.end(), first, first + tree.columns);
    }
  }

 private:
  // Leaves are visited in the order of their points.
  void split(int64_t node, int64_t first, int64_t last) {
    const int64_t column = measure(node, first, last);
    if (node >= tree_.leaves - 1) {
      tree_.leaf_first.push_back(static_cast<int32_t>(first));
      return;
    }
    const int64_t middle = first + (last - first) / 2;
    std::nth_element(order_.begin() + first, order_.begin() + middle, order_.begin() + last,
                     [&](int64_t a, int64_t b) { return value(a, column) < value(b, column); });
    split(2 * node + 1, first, middle);
    split(2 * node + 2, middle, last);
  }

  // Measures the box of a node's points, and returns its widest column.
  int64_t measure(int64_t node, int64_t first, int64_t last) {
    int64_t widest = 0;
    float width = -1;
    for (int64_t j = 0; j < tree_.columns; ++j) {
      float& minimum = tree_.minima[static_cast<size_t>(node * tree_.columns + j)];
      float& maximum = tree_.maxima[static_cast<size_t>(node * tree_.columns + j)];
      for (int64_t i = first; i < last; ++i) {
        minimum = std::min(minimum, value(order_[static_cast<size_t>(i)], j));
        maximum = std::max(maximum, value(order_[static_cast<size_t>(i)], j));
      }
      if (maximum - minimum > width) {
        width = maximum - minimum;
        widest = j;
      }
    }
    return widest;
  }

  float value(int64_t row, int64_t column) const { return points_[static_cast<size_t>(row * tree_.columns + column)]; }

  const std::vector<float>& points_;
  FoundingTree& tree_;
  std::vector<int64_t> order_ = {};
};

// Squared distances of a centroid to the nearest and to the farthest point of a box.
struct BoxDistances {
  double least = 0, most = 0;
};

class CentroidMapper {
 public:
  CentroidMapper(const FoundingTree& tree, const float* model, LeafMapping& mapping)
      : tree_(tree), model_(model), mapping_(mapping) {}

  void go_down(int64_t node, const std::vector<int32_t>& candidates) {
    std::vector<int32_t> kept;
    double least_most = std::numeric_limits<double>::max();
    for (const int32_t c : candidates) least_most = std::min(least_most, distances(node, c).most);
    for (const int32_t c : candidates) {
      if (distances(node, c).least <= least_most) kept.push_back(c);
    }
    if (node < tree_.leaves - 1) {
      go_down(2 * node + 1, kept);
      go_down(2 * node + 2, kept);
      return;
    }
    mapping_.mapped.insert(mapping_.mapped.end(), kept.begin(), kept.end());
    mapping_.first.push_back(static_cast<int32_t>(mapping_.mapped.size()));
  }

 private:
  BoxDistances distances(int64_t node, int32_t centroid) const {
    BoxDistances sums;
    for (int64_t j = 0; j < tree_.columns; ++j) {
      const double value = static_cast<double>(model_[centroid * tree_.columns + j]);
      const double below = static_cast<double>(tree_.minima[static_cast<size_t>(node * tree_.columns + j)]) - value;
      const double above = value - static_cast<double>(tree_.maxima[static_cast<size_t>(node * tree_.columns + j)]);
      const double outside = std::max({below, above, 0.0}), across = std::max(-below, -above);
      sums.least += outside * outside;
      sums.most += across * across;
    }
    return sums;
  }

  const FoundingTree& tree_;
  const float* model_;
  LeafMapping& mapping_;
};

}  // namespace

int64_t FoundingTree::largest_leaf() const {
  int64_t largest = 0;
  for (size_t leaf = 0; leaf + 1 < leaf_first.size(); ++leaf) {
    largest = std::max<int64_t>(largest, leaf_first[leaf + 1] - leaf_first[leaf]);
  }
  return largest;
}

FoundingTree make_founding_tree(const std::vector<float>& points, int64_t columns, int64_t leaf_rows) {
  const int64_t rows = static_cast<int64_t>(points.size()) / columns;
  FoundingTree tree{columns, 1};
  while (2 * tree.leaves <= rows && tree.leaves * leaf_rows < rows) tree.leaves *= 2;
  TreeMaker(points, tree);
  return tree;
}

LeafMapping map_centroids(const FoundingTree& tree, const std::vector<float>& models, int64_t clusters) {
  std::vector<int32_t> all(static_cast<size_t>(clusters));
  std::iota(all.begin(), all.end(), 0);
  LeafMapping mapping{{0}};
  const auto values = static_cast<size_t>(clusters * tree.columns);
  for (size_t m = 0; m < models.size(); m += values) CentroidMapper(tree, models.data() + m, mapping).go_down(0, all);
  return mapping;
}

}  // namespace manymeans::founding
