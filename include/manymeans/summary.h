// A description of the clusters of a model: size, width, and the columns that set each of them apart from all rows.
#pragma once

#include <manymeans/comm.h>
#include <manymeans/io.h>
#include <manymeans/points.h>
#include <manymeans/result.h>

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// Max columns that are said to set a cluster apart.
inline constexpr int64_t kMaxApart = 3;
/// Min difference in each of them between the centroid and the mean of all rows, in standard deviations.
inline constexpr double kMinApart = 0.1;

/// A column over all rows, weighted if they are. The deviation is biased (divided by the weight of all rows).
struct ColumnTraits {
  double mean = 0;
  double deviation = 0;
};

struct ClusterTraits {
  int64_t rows = 0;
  double weight = 0;  ///< of the rows; their number without weights
  double share = 0;   ///< of the weight of all rows
  /// The root mean squared distance of the rows to their centroid, by weight, in the units of the fit. Its square times
  /// `weight` is the cluster's part of the inertia. NaN if the weight is 0.
  double spread = 0;
  std::vector<int64_t> apart = {};  ///< columns that set it apart, the greatest difference first; none without weight
};

/// Columns are in the units of the file for any scaling of the fit. Under Metric::kCosine they are columns of the rows
/// scaled to length one.
struct ModelSummary {
  bool weighted = false;
  bool scaled = false;                ///< the points were, and spreads are in scaled units
  std::vector<ColumnTraits> columns;  ///< D
  std::vector<ClusterTraits> clusters;
  Matrix centroids;    ///< K x D, float64
  Matrix differences;  ///< centroids minus means, in deviations of the columns; 0 where a column is constant
};

struct SummaryOptions {
  Scaling scaling = {};  ///< of the points, which undoes it
  int threads = 0;
  int64_t memory = 0;                  ///< as in ReadOptions
  Metric metric = Metric::kEuclidean;  ///< of the fit
};

/// Summarises a model of centroids that was fitted to these points with these weights. The points are read twice.
/// Returns the same bits for any number of threads. With several ranks all of them call it, each with its own rows and
/// labels. Throws Error(kUsage) where the model does not belong to the points, and as fit() does for points and
/// weights.
ModelSummary summarise(const PointsView& points, std::span<const double> weights, const ModelResult& model,
                       const SummaryOptions& options = {}, Comm& comm = self_comm());

}  // namespace manymeans
