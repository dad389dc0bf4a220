// What a swap would gain: a centroid is removed, and a row becomes one. Estimates of binary64, each computed in one
// order: contract, "Search".
#pragma once

#include <manymeans/points.h>

#include "core/centre_lanes.h"
#include "core/random.h"
#include "core/threads.h"
#include "data/input.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// The rows as the estimates read them: binary64, in blocks of kCentreRows. Swaps of several threads may share it.
class SearchRows {
 public:
  SearchRows(const Input& input, ThreadPool& pool);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return d_; }
  int64_t blocks() const { return (rows_ + kCentreRows - 1) / kCentreRows; }
  const double* block(int64_t b) const { return x_.data() + b * kCentreRows * d_; }
  double weight(int64_t row) const { return weights_.empty() ? 1.0 : weights_[static_cast<size_t>(row)]; }
  /// Makes the row a centroid.
  void put(int64_t row, Matrix& centroids, uint32_t at) const;
  double value(int64_t row, int64_t j) const { return block(row / kCentreRows)[j * kCentreRows + row % kCentreRows]; }

 private:
  int64_t rows_, d_;
  std::vector<double> x_;
  std::span<const double> weights_;
};

/// A swap: this row takes the place of that centroid.
struct Swap {
  int64_t row = 0;
  uint32_t removed = 0;
  uint32_t cluster = 0;  ///< whose row it is
  double change = 0;     ///< of the inertia, foretold
};

/// The numbers by which rows are drawn: u(index, draw + 0 ..) of the key.
struct SearchDraw {
  uint64_t key = 0;
  uint64_t index = 0;
  uint32_t draw = 0;
  Purpose purpose = Purpose::kSearchRow;
};

/// The swaps of one model.
class SwapScores {
 public:
  explicit SwapScores(const SearchRows& rows, const CentreLanes& lanes = centre_lanes()[0])
      : rows_(rows), lanes_(lanes) {}

  const SearchRows& rows() const { return rows_; }
  /// Of a model with two centroids or more from now on. O(N K D).
  void assign(const Matrix& centroids, ThreadPool& pool);
  /// `count` rows, in proportion to weight and squared distance to the nearest centroid; none where all of that is 0.
  std::vector<int64_t> draw(const SearchDraw& draw, int64_t count) const;
  /// For each of these rows the best swap, if there is one, in the order of what they promise. O(N K D) for K rows.
  std::vector<Swap> swaps(std::span<const int64_t> rows, ThreadPool& pool);

  /// Which centroid is nearest to a row, and which comes next.
  uint32_t nearest(int64_t row) const { return nearest_[static_cast<size_t>(row)]; }

 private:
  struct Capture;

  void find_nearest(ThreadPool& pool);
  void add_up();
  void group();
  void block_centroids();
  void find_costs(ThreadPool& pool);
  double bonus(int64_t cluster, std::vector<double>& sums, std::vector<uint32_t>& touched) const;
  void look_at_cluster(int64_t cluster, const double* point, Capture& capture) const;
  void look_at_clusters(Capture& capture) const;
  Swap best_swap(int64_t row, Capture& capture) const;

  const SearchRows& rows_;
  const CentreLanes& lanes_;
  int64_t k_ = 0;
  std::vector<double> centroids_;             // k x d
  std::vector<uint32_t> nearest_, second_;    // of each row
  std::vector<double> least_, second_least_;  // squared distances to these
  std::vector<double> prefix_;                // of weight * least_
  std::vector<int64_t> first_block_;          // of each cluster's rows, grouped in whole blocks
  std::vector<int64_t> grouped_rows_;         // which row stands there; -1: none
  std::vector<double> x_, limits_;            // of the grouped rows: blocks, and second_least_ (-1: none)
  std::vector<double> weights_, reaches_;  // of each cluster: of its rows, and the largest sqrt(least) + sqrt(second)
  std::vector<double> blocks_of_centroids_, squared_reaches_;
  std::vector<double> raw_costs_, costs_;  // of removing each centroid: of its rows, and with an update after it
};

}  // namespace manymeans
