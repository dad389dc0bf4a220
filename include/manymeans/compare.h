// How alike two clusterings are: of the same rows, or of prototypes.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

// Functions that take `abort` throw Error(kInterrupted) once the caller has set it.

/// Rows that one clustering puts into its cluster `a` and another one into its cluster `b`.
struct LabelCell {
  int64_t a = 0;
  int64_t b = 0;
  int64_t rows = 0;

  bool operator==(const LabelCell& other) const = default;
};

struct LabelComparison {
  int64_t rows = 0;          ///< that have a label in both
  int64_t left_out = 0;      ///< that have none in one of them, or in both
  int64_t clusters_a = 0;    ///< that have rows
  int64_t clusters_b = 0;    ///< that have rows
  double adjusted_rand = 1;  ///< 1: the same clusters, whatever their numbers; about 0: no more alike than chance
  std::vector<LabelCell> pairs = {};  ///< clusters one to one, so that most rows stay in theirs; those that share rows
  std::vector<LabelCell> moves = {};  ///< the other cells that have rows: most rows first
  int64_t moved = 0;                  ///< rows in `moves`
};

/// Compares labels of the same rows; a negative one means that the row has none. The adjusted Rand index is computed of
/// exact integers and rounded at the end. O(N) but for the pairs, which take the cube of the number of clusters at
/// worst. Throws Error(kUsage) for different numbers of rows, Error(kUnavailable) for more than 20,000 clusters.
LabelComparison compare_labels(std::span<const int64_t> a, std::span<const int64_t> b,
                               const std::atomic<bool>* abort = nullptr);
/// LabelComparison::adjusted_rand alone: O(N), whatever the numbers of clusters are. Throws Error(kUsage) for different
/// numbers of rows.
double adjusted_rand(std::span<const int64_t> a, std::span<const int64_t> b);

struct PrototypeMatch {
  int64_t a = 0;
  int64_t b = 0;
  double distance = 0;  ///< Euclidean
};

/// Matches prototypes (row-major, `columns` columns) one to one with a minimal sum of squared distances. Some
/// prototypes of the larger set are left over. In the order of `a`. Throws Error(kUsage) for sizes that are no multiple
/// of the columns, Error(kBadData) for distances beyond binary64, Error(kUnavailable) for more than 20,000 prototypes.
std::vector<PrototypeMatch> match_prototypes(std::span<const double> a, std::span<const double> b, int64_t columns,
                                             const std::atomic<bool>* abort = nullptr);

/// The Hungarian method: returns the column of each row of a cost matrix with a minimal sum of costs. If there are more
/// rows than columns, the rows left over get -1. The costs are finite. O(rows * columns * the smaller one).
std::vector<int64_t> least_assignment(std::span<const double> costs, int64_t rows, int64_t columns,
                                      const std::atomic<bool>* abort = nullptr);

}  // namespace manymeans
