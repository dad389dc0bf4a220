// Choosing rows by counter-based random numbers.
#pragma once

#include "data/input.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// Rows that one model wants.
struct RowWish {
  int64_t count = 0;
  uint64_t seed = 0;
  std::span<const int64_t> excluded = {};  ///< the rows that it has
};

// Rows are those of all ranks, by their numbers among all; all ranks call these functions and get the same.

/// For each model `count` rows that are not in `excluded`, as `random` chooses them: by weight where there are
/// different weights, rows of weight zero last; else those with the smallest (Philox(row), row), in that order. All
/// threads share the draws of every model.
std::vector<std::vector<int64_t>> random_rows(const Input& input, std::span<const RowWish> models, ThreadPool& pool);

/// The same for one model.
std::vector<int64_t> random_rows(const Input& input, const RowWish& model, ThreadPool& pool);

/// For each u: the first row i with q_0 + .. + q_i > floor(u * total / 2^64), q the integer weights.
std::vector<int64_t> rows_by_weight(const Input& input, std::span<const uint64_t> u);

}  // namespace manymeans
