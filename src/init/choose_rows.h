// Choosing rows by counter-based random numbers.
#pragma once

#include "data/input.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// The rows that one model requests.
struct RowWish {
  int64_t count = 0;
  uint64_t seed = 0;
  std::span<const int64_t> excluded = {};  ///< the rows that it has
};

// Rows are numbers among the rows of all ranks. All ranks call these functions and get the same.

/// Returns for each model `count` rows that are not in `excluded`, as `random` chooses them. Different weights: by
/// weight, rows of weight zero last. Otherwise: the rows with the smallest (Philox(row), row), in that order. All
/// threads share the draws of every model.
std::vector<std::vector<int64_t>> random_rows(const Input& input, std::span<const RowWish> models, ThreadPool& pool);

/// Returns the rows of one model.
std::vector<int64_t> random_rows(const Input& input, const RowWish& model, ThreadPool& pool);

/// For each u: the first row i with q_0 + .. + q_i > floor(u * total / 2^64), q the integer weights.
std::vector<int64_t> rows_by_weight(const Input& input, std::span<const uint64_t> u);

}  // namespace manymeans
