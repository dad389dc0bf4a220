// Rows drawn by weight without replacement: contract, "Random".
#pragma once

#include "data/input.h"
#include "init/choose_rows.h"

#include <cstdint>
#include <vector>

namespace manymeans {

/// The integer weights of the rows of all ranks, ready for any number of draws. The input must outlive it. All ranks
/// make it and draw alike; each of them holds 8 bytes for 256 rows of all.
class WeightedRows {
 public:
  /// Reads all weights once; there must be some on some rank.
  WeightedRows(const Input& input, ThreadPool& pool);

  /// Then weights say nothing, and the rows are as in a fit without them.
  bool all_equal() const { return all_equal_; }

  /// Returns the rows of places t = excluded.size() .. excluded.size() + count - 1. Each is drawn by weight among the
  /// rows that are in no place yet. There are fewer where only rows of weight zero are left.
  std::vector<int64_t> draw(const RowWish& wish) const;

 private:
  std::vector<uint64_t> own_sums(ThreadPool& pool);

  const Input& input_;
  std::vector<uint64_t> sums_;  // of the weights of each block of rows; every rank's blocks begin with its first row
  uint64_t total_ = 0;
  bool all_equal_ = true;
};

}  // namespace manymeans
