// Choosing rows by their integer terms T: alike in every session that keeps the sums of T over blocks of rows.
#pragma once

#include "backend/seeding.h"
#include "core/fixed_point.h"
#include "core/wide_int.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace manymeans {

struct SeedTerms {
  int64_t n = 0;
  int64_t first_row = 0;  ///< the number of the first row among the rows of all ranks
  int64_t block_rows = 0;
  std::span<const int64_t> blocks;  ///< sums over blocks of rows, kDistanceLimbs limbs each
  SumFormat format;
  std::function<void(int64_t row, int64_t* limbs)> add;  ///< adds T of a row

  WideInt total() const;
  /// For each target, less than the total: the first row i with T_0 + .. + T_i > target. O(blocks + rows of a block)
  /// each.
  std::vector<int64_t> pick(std::span<const WideInt> targets) const;
  /// Appends the rows of a sample among [first, last), ascending.
  void append_sample(const SeedSample& sample, int64_t first, int64_t last, std::vector<int64_t>& found) const;
};

}  // namespace manymeans
