// How well labels suit their points: criteria by which people choose the number of clusters.
#pragma once

#include <manymeans/points.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace manymeans {

struct CriteriaOptions {
  int64_t sample = 1000;  ///< rows for which the silhouette is computed; 0: none; the number of rows or more: all
  uint64_t seed = 0;      ///< of the sample
  int threads = 0;        ///< 0: all usable; never changes a bit
  const std::atomic<bool>* abort = nullptr;  ///< set by the caller to be thrown Error(kInterrupted)
};

/// Criteria of one clustering. K counts clusters that have rows. The mean of cluster k in binary64 is m_k, the mean of
/// all rows m. The Euclidean distance of a row to m_k is d(x, k). W is the sum of all d(x, own)^2. A criterion is NaN
/// where it is not defined: with one cluster, or (but for the silhouettes) with as many clusters as rows. A row that is
/// alone in its cluster has a silhouette of 0, whichever it is.
struct Criteria {
  static constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

  int64_t rows = 0;
  int64_t clusters = 0;  ///< K
  /// sum of n_k |m_k - m|^2 / (K - 1), divided by W / (N - K): the larger, the better; 1 where W is 0 (as
  /// scikit-learn).
  double calinski_harabasz = kUndefined;
  /// The mean over clusters of the largest (s_i + s_j) / |m_i - m_j|, with s the mean of d(x, own). Smaller is better.
  /// It is 0 where all s or all distances of means are 0.
  double davies_bouldin = kUndefined;
  /// -2 log likelihood + (K (D + 1)) log N of equal spherical normal distributions around the means, whose variance is
  /// W / (D (N - K)): the smaller, the better. Minus infinity where W is 0. Defined for K = 1, too.
  double bic = kUndefined;
  /// Mean of (b - a) / max(a, b), a = d(x, own), b the least d(x, k) of another cluster.
  double simplified_silhouette = kUndefined;
  /// The silhouette by squared Euclidean distances, of all rows. It is exact: the mean squared distance of x to the
  /// rows of cluster k is d(x, k)^2 + the mean of d(y, k)^2 over its rows.
  double squared_silhouette = kUndefined;
  std::vector<double> cluster_silhouettes = {};  ///< its means by label; NaN for a label without rows
  /// The mean silhouette by Euclidean distances of `silhouette_rows` rows to all rows.
  double silhouette = kUndefined;
  int64_t silhouette_rows = 0;
  /// The silhouette of all rows differs from it by at most this value in 19 of 20 samples (Hoeffding's inequality). It
  /// is 0 if all rows were taken.
  double silhouette_error = 0;
};

/// Computes the criteria of labels, one for each row. Sums are exact, and everything is computed in a fixed order: the
/// same bits on every machine. The means come from the rows, so labels may be anybody's. O(N K D), and O(sample N D)
/// for the silhouette; 16 bytes a label and chunks of the points.
///
/// Calinski and Harabasz (1974); Davies and Bouldin (1979); Rousseeuw (1987); BIC as in Pelleg and Moore's X-means
/// (2000) with one variance for all clusters. Throws Error(kUsage) for other numbers of labels than rows, and for
/// labels of 2^31 and more; Error(kBadData) for NaN and infinity.
Criteria criteria(const PointsView& points, std::span<const uint32_t> labels, const CriteriaOptions& options = {});

}  // namespace manymeans
