// Choosing rows by counter-based random numbers.
#pragma once

#include "data/input.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// The `count` rows with the smallest (Philox(row), row) that are not in `excluded`, in that order.
std::vector<int64_t> random_rows(int64_t n, int64_t count, uint64_t seed, std::span<const int64_t> excluded,
                                 ThreadPool& pool);

/// For each u: the first row i with q_0 + .. + q_i > floor(u * total / 2^64), q the integer weights.
std::vector<int64_t> rows_by_weight(const Input& input, std::span<const uint64_t> u);

}  // namespace manymeans
