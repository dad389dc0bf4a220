// The kd-tree of study 1, chapter 6, on the host: its leaves hold the points, and centroids are mapped to leaves.
#pragma once

#include <cstdint>
#include <vector>

namespace manymeans::founding {

/// A complete binary tree: node i has the children 2 i + 1 and 2 i + 2, and the last level are the leaves.
struct FoundingTree {
  int64_t columns = 0, leaves = 0;
  std::vector<float> points = {};               ///< in the order of the leaves
  std::vector<int32_t> leaf_first = {};         ///< leaves + 1: where the points of a leaf begin
  std::vector<float> minima = {}, maxima = {};  ///< of each node's points, a value a column

  int64_t largest_leaf() const;
};

/// create_kd_tree() of algorithm 5: splits at the median of the widest column. Leaves have at most about `leaf_rows`
/// points. Made once for all iterations.
FoundingTree make_founding_tree(const std::vector<float>& points, int64_t columns, int64_t leaf_rows);

/// Centroids that can be the nearest of a point in a leaf, for each model and leaf.
struct LeafMapping {
  std::vector<int32_t> first = {};   ///< models x leaves + 1: where the list of a model and leaf begins
  std::vector<int32_t> mapped = {};  ///< centroids, counted within their model
};

/// create_leaf_node_to_centroid_mapping() of algorithm 5. Each model's centroids go down the tree. A node keeps a
/// centroid unless another is nearer to all of the node's box (Alsabti, Ranka and Singh, the study's reference 1).
/// Made in every iteration.
LeafMapping map_centroids(const FoundingTree& tree, const std::vector<float>& models, int64_t clusters);

}  // namespace manymeans::founding
