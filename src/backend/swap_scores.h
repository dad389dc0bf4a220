// Gains of swaps: a centroid is removed, and a row becomes one. Estimates of binary64, each computed in one order, so
// they have the same bits wherever they are computed: contract, "Search".
#pragma once

#include <manymeans/points.h>

#include "core/random.h"
#include "core/threads.h"
#include "data/input.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

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

/// The swaps of one model after the other. To be used by one thread at a time.
class SwapScores {
 public:
  /// For the rows of `input`, which must outlive it.
  explicit SwapScores(const Input& input) : input_(input) {}
  SwapScores(const SwapScores&) = delete;
  SwapScores& operator=(const SwapScores&) = delete;
  virtual ~SwapScores() = default;

  /// Of a model with two centroids or more from now on. O(N K D).
  virtual void assign(const Matrix& centroids, ThreadPool& pool) = 0;
  /// `count` rows, in proportion to weight and squared distance to the nearest centroid; none where all of that is 0.
  std::vector<int64_t> draw(const SearchDraw& draw, int64_t count);
  /// For each row of `rows` the best swap, if there is one, in the order of the promised gains. O(N K D) for K rows.
  std::vector<Swap> swaps(std::span<const int64_t> rows, ThreadPool& pool);
  /// Makes the rows centroids.
  void put(std::span<const Swap> swaps, Matrix& centroids) const;

 protected:
  const Input& input() const { return input_; }
  /// P of the contract: the running sums of weight * squared distance, one a row.
  virtual std::span<const double> prefix() = 0;
  /// For each row of `rows` the best swap; without one its change is infinite.
  virtual std::vector<Swap> best_swaps(std::span<const int64_t> rows, ThreadPool& pool) = 0;

 private:
  const Input& input_;
};

}  // namespace manymeans
