// Silhouettes of a sample of rows, for many clusterings of the same rows at once.
#pragma once

#include "core/threads.h"
#include "data/input.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace manymeans {

/// The cluster of every row, as a number below counts.size().
struct ClusteredRows {
  std::function<void(int64_t first, int64_t count, uint32_t* clusters)> read;  ///< of [first, first + count)
  std::vector<int64_t> counts;                                                 ///< rows by cluster; 0 is possible
};

/// The silhouette of a row: `within` its mean distance to its cluster, `nearest` that to the nearest other one.
inline double silhouette_of(double within, double nearest) {
  const double larger = std::max(within, nearest);
  return larger > 0 ? (nearest - within) / larger : 0;
}

/// Returns for each clustering the mean silhouette by Euclidean distances of `sample` to all rows. `sample` has rows of
/// the input, at least one. As in Criteria, each sum of distances is exact and rounded once, so the order of rows,
/// threads and other clusterings mean nothing. NaN for a clustering that has fewer than two clusters with rows.
///
/// A distance is computed once for all clusterings: O(sample N (D + clusterings)). Labels are read a few hundred rows
/// at a time. In addition to the input and the labels it takes about 70 MB, and 128 bytes for each cluster and thread.
/// It takes more where distances span more than 100 bits (5 KB for each of more than 14,000 clusters).
std::vector<double> sampled_silhouettes(const Input& input, std::span<const ClusteredRows> clusterings,
                                        std::span<const int64_t> sample, ThreadPool& pool);

}  // namespace manymeans
