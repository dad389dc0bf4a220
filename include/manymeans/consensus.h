// The agreement of the members of an ensemble.
#pragma once

#include <manymeans/names.h>
#include <manymeans/options.h>
#include <manymeans/points.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// How clusters of different members become one cluster.
enum class ConsensusMethod : uint8_t {
  kCentroids,  ///< the centroids of all members are clustered; members may have any number of clusters
  kMatched,    ///< clusters are matched one to one to the clusters of the member of min inertia; all members have k
};
template <>
std::span<const std::string_view> names_of<ConsensusMethod>();

/// Labels where they lie, in an unsigned type of 1, 2 or 4 bytes.
struct LabelsView {
  const void* data = nullptr;
  int64_t n = 0;
  int width = 1;
};

/// One model of the ensemble. The memory that it points to must outlive the call.
struct ConsensusMember {
  PointsView prototypes;            ///< K x D; all members have the same D
  std::span<const int64_t> counts;  ///< rows of each cluster
  double inertia = 0;               ///< decides which member others are matched to
  LabelsView labels = {};           ///< of all rows; none: the nearest prototypes of the points
};

struct ConsensusOptions {
  int64_t k = 0;
  ConsensusMethod method = ConsensusMethod::kCentroids;
  int64_t fits = 10;                   ///< fits of the centroids; the fit of min inertia counts
  uint64_t seed = 0;                   ///< seed of these fits and of the sampled pairs
  int64_t pairs = 100'000;             ///< pairs of rows by which members are compared; 0: none
  Metric metric = Metric::kEuclidean;  ///< the metric of the members' fits
  std::string backend = "auto";
  int threads = 0;
  const std::atomic<bool>* abort = nullptr;  ///< set it to give up: the function throws Error(kInterrupted)
};

struct Consensus {
  static constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

  Labels labels;                ///< the cluster that most members vote for
  Labels votes;                 ///< how many vote for it
  std::vector<int64_t> counts;  ///< rows by cluster; none where no row has it
  Matrix prototypes;            ///< k x D: of the fit of centroids, or of the member that others are matched to
  int64_t members = 0;
  /// members x members: the adjusted Rand index of two members' labels, over the pairs of rows that were looked at.
  std::vector<double> between;
  double mean_between = kUndefined;  ///< its mean over different members; NaN for one member
  /// The share of ambiguous pairs: those that more than a tenth and fewer than nine tenths of the members put into one
  /// cluster (Senbabaoglu, Michailidis and Li 2014). NaN for one member.
  double ambiguous = kUndefined;
  int64_t pairs = 0;  ///< that were looked at
  std::vector<std::string> warnings;

  /// The share of the members that vote for the label of a row: 1 where all agree.
  double agreement(int64_t row) const { return static_cast<double>(votes[row]) / static_cast<double>(members); }
  /// 32 hexadecimal digits over k, members, labels and votes: docs/developer/contract.md, "Consensus". O(N).
  std::string digest() const;
};

/// Clusters on which the members agree: each row gets the cluster for which most members vote, the lowest of equals.
///
/// With kCentroids, the centroids of all members, weighted by their rows, are fitted with k clusters. A member votes
/// for the cluster that contains its centroid. Clusters have the numbers of the best member with k clusters, if there
/// is one: its clusters, the largest first, number those that they vote for. With kMatched, the clusters of every
/// member are matched one to one to the clusters of the member of min inertia. The matching minimises the sum of
/// squared distances of the centroids.
///
/// Members are compared by pairs of rows: all of them where there are no more than asked for, else pairs that are drawn
/// by counter. The answer is a function of points, members and options: the same bits on every machine.
///
/// Rows are labelled some thousand at a time, so no label of a member is kept. Memory: two labels a row, 16 MB, and
/// members x pairs / 8 bytes. `points` may be empty where every member brings labels. Time: one prediction for each
/// member. With Metric::kCosine the points are copied. Throws Error(kUsage) for members that do not fit each other or
/// k, and for labels of another number of rows; Error(kBadData) for labels that a member has no prototype for, and what
/// predict() throws.
Consensus consensus(const PointsView& points, std::span<const ConsensusMember> members,
                    const ConsensusOptions& options);

}  // namespace manymeans
