// A description of the clusters of a model: size, width, and the columns that set each of them apart from all rows.
#pragma once

#include <manymeans/comm.h>
#include <manymeans/io.h>
#include <manymeans/points.h>
#include <manymeans/result.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace manymeans {

/// Max columns that are said to set a cluster apart.
inline constexpr int64_t kMaxApart = 5;
/// Min difference in each of them between the centroid and the mean of all rows, in standard deviations.
inline constexpr double kMinApart = 0.1;
/// Min test value, either way, of other columns that are said to.
inline constexpr double kMinSurprise = 2;
/// Max terms of a cluster of sparse points.
inline constexpr int64_t kMaxTerms = 10;
/// Max typical rows of a cluster.
inline constexpr int64_t kMaxTypical = 3;

/// A column over all rows, weighted if they are. The deviation is biased (divided by the weight of all rows). Of a
/// column of logarithms the mean is geometric, and the deviation half the distance of the values one deviation of the
/// logarithms below and above it.
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
  std::vector<int64_t> apart = {};    ///< columns that set it apart, the greatest difference first; none without weight
  std::vector<int64_t> terms = {};    ///< of sparse points: columns whose centroid exceeds the mean of all rows most
  std::vector<int64_t> typical = {};  ///< rows that are nearest to the centroid, from 0 among all; the nearest first
};

/// Columns are in the units of the file for any scaling of the columns. Under Metric::kCosine and Scale::kUnit they are
/// columns of the rows scaled to length one.
struct ModelSummary {
  bool weighted = false;
  bool scaled = false;                ///< the points were, and spreads are in scaled units
  std::vector<Logarithm> logs;        ///< as in Scaling: centroids of these columns are geometric means
  std::vector<ColumnTraits> columns;  ///< D
  std::vector<ColumnTraits> fitted;   ///< the same of the columns as the fit had them
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

/// A column over the clusters of a model. Rows where it is NaN are left out. All is by weight.
struct ColumnOfClusters {
  ColumnTraits all;           ///< of all rows
  std::vector<double> means;  ///< of each cluster; NaN without rows
  /// Test values: of cluster k (m_k - m) / sqrt(s^2 v n / (n - 1)). The root is the deviation of m_k - m if the values
  /// are shuffled among the rows. W is the sum of the weights and q the sum of their squares. W_k and q_k are the sums
  /// over the cluster. With these, v = q_k / W_k^2 - 2 q_k / (W_k W) + q / W^2 and n = W^2 / q. Without weights,
  /// v = 1 / n_k - 1 / n. A value beyond 2 or 3 is surprising if the column played no part in the fit.
  std::vector<double> surprise;
};
/// Without weights they are 1. O(N).
ColumnOfClusters describe_column(std::span<const double> values, std::span<const uint32_t> labels,
                                 std::span<const double> weights, int64_t clusters);

/// What a column that was not fitted says of each cluster: a column of numbers, or one text of a column of texts.
struct Trait {
  std::string name;          ///< of the column; "name=text"
  ColumnOfClusters columns;  ///< of a text: of 1 and 0, so that means are shares
  bool is_text = false;
  size_t column = 0;  ///< the number of the column among those that were not fitted
};
/// How to read columns for traits_of(): all rows, gaps as NaN, and a column of 0 and 1 for each text.
ReadOptions options_of_traits(const std::vector<std::string>& columns, const ReadOptions& points);
/// Describes the clusters by columns that were read so. `points` has the weights of the fit and the rows that it left
/// out, which count nothing. A column without a test value, of gaps alone or with an infinity, adds a warning. Throws
/// Error(kUsage) where the rows are not as many.
std::vector<Trait> traits_of(const Dataset& columns, const Dataset& points, const ModelResult& model,
                             std::vector<std::string>& warnings);
/// Places of the traits to show of a cluster, the most surprising first. Each column has its most surprising trait.
/// Others of at least kMinSurprise follow, as long as there are not more than kMaxApart.
std::vector<size_t> surprising(std::span<const Trait> traits, size_t cluster);
/// How far a cluster is from all rows, and whether that is surprising: "1.8 times, z +14.9" of a share, "+0.3 sd, z
/// +1.2: may be chance" of a mean.
std::string surprise_text(const Trait& trait, size_t cluster);

}  // namespace manymeans
