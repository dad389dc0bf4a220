// The gains of swaps, by the host's threads: class SwapScores of backend/swap_scores.h where no device scores them.
#pragma once

#include "backend/swap_scores.h"
#include "core/centre_lanes.h"
#include "core/threads.h"
#include "data/input.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// The rows as the estimates read them: binary64, in blocks of kCentreRows. Swaps of several threads may share it.
class SearchRows {
 public:
  /// The input must outlive it.
  SearchRows(const Input& input, ThreadPool& pool);

  const Input& input() const { return input_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return d_; }
  int64_t blocks() const { return (rows_ + kCentreRows - 1) / kCentreRows; }
  const double* block(int64_t b) const { return x_.data() + b * kCentreRows * d_; }
  double weight(int64_t row) const { return weights_.empty() ? 1.0 : weights_[static_cast<size_t>(row)]; }
  double value(int64_t row, int64_t j) const { return block(row / kCentreRows)[j * kCentreRows + row % kCentreRows]; }

 private:
  const Input& input_;
  int64_t rows_, d_;
  std::vector<double> x_;
  std::span<const double> weights_;
};

class HostSwapScores final : public SwapScores {
 public:
  explicit HostSwapScores(const SearchRows& rows, const CentreLanes& lanes = centre_lanes()[0])
      : SwapScores(rows.input()), rows_(rows), lanes_(lanes) {}

  void assign(const Matrix& centroids, ThreadPool& pool) override;

 private:
  struct Capture;

  std::span<const double> prefix() override { return prefix_; }
  std::vector<Swap> best_swaps(std::span<const int64_t> rows, ThreadPool& pool) override;
  uint32_t nearest(int64_t row) const { return nearest_[static_cast<size_t>(row)]; }
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
  std::vector<int64_t> grouped_rows_;         // the row at each place; -1: none
  std::vector<double> x_, limits_;            // of the grouped rows: blocks, and second_least_ (-1: none)
  std::vector<double> weights_, reaches_;  // of each cluster: of its rows, and the largest sqrt(least) + sqrt(second)
  std::vector<double> blocks_of_centroids_, squared_reaches_;
  std::vector<double> raw_costs_, costs_;  // of removing each centroid: of its rows, and with an update after it
};

}  // namespace manymeans
