// Choosing rows by their integer terms T: alike in every session that keeps the sums of T over blocks of rows.
#pragma once

#include "core/fixed_point.h"
#include "core/wide_int.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace manymeans {

struct SeedTerms {
  int64_t n = 0;
  int64_t block_rows = 0;
  std::span<const int64_t> blocks;  ///< sums over blocks of rows, kDistanceLimbs limbs each
  SumFormat format;
  std::function<void(int64_t row, int64_t* limbs)> add;  ///< adds T of a row

  WideInt total() const;
  /// For each u: the first row i with T_0 + .. + T_i > floor(u * total / 2^64). O(blocks + rows of a block) each.
  std::vector<int64_t> pick(std::span<const uint64_t> u) const;
};

/// Which rows k-means|| takes in one round: u_i * total < factor * T_i * 2^64.
struct SeedSample {
  uint64_t key = 0;
  uint32_t draw = 0;
  int64_t factor = 0;
  WideInt total;

  /// Appends those of rows [first, last), ascending.
  void append(const SeedTerms& terms, int64_t first, int64_t last, std::vector<int64_t>& found) const;
};

}  // namespace manymeans
