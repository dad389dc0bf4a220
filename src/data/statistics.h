// Order-free statistics of one model's clusters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// Weight and rows of each cluster.
struct ClusterSizes {
  std::vector<int64_t> weights;  ///< W_k: sums of q, the weights' integers
  std::vector<int64_t> counts;
};

/// Statistics of one model: what a pass produces and the update consumes.
/// Sum of column j of cluster k: limbs sums[(k * limbs + g) * d + j], g = 0 .. limbs - 1.
struct Statistics {
  int64_t k = 0, d = 0;
  int limbs = 1;
  std::vector<int64_t> sums;     ///< k * limbs * d
  std::vector<int64_t> weights;  ///< W_k: sums of q, the weights' integers
  std::vector<int64_t> counts;   ///< rows per cluster

  Statistics() = default;
  Statistics(int64_t clusters, int64_t columns, int limb_count)
      : k(clusters),
        d(columns),
        limbs(limb_count),
        sums(static_cast<size_t>(clusters * columns * limb_count)),
        weights(static_cast<size_t>(clusters)),
        counts(static_cast<size_t>(clusters)) {}
  int64_t* row(int64_t cluster) { return sums.data() + cluster * limbs * d; }
  const int64_t* row(int64_t cluster) const { return sums.data() + cluster * limbs * d; }

  /// The statistics of the clusters `kept`, in this order. The others weigh nothing; their rows count under new_label.
  Statistics renumbered(std::span<const uint32_t> new_label, std::span<const int64_t> kept) const {
    Statistics after(static_cast<int64_t>(kept.size()), d, limbs);
    for (size_t to = 0; to < kept.size(); ++to) {
      std::copy_n(row(kept[to]), limbs * d, after.row(static_cast<int64_t>(to)));
      after.weights[to] = weights[static_cast<size_t>(kept[to])];
    }
    for (size_t label = 0; label < new_label.size(); ++label) after.counts[new_label[label]] += counts[label];
    return after;
  }
};

}  // namespace manymeans
