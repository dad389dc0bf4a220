// Small subsets of different rows, for prototypes that take as many rows as they have parameters.
#pragma once

#include "core/random.h"
#include "data/input.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace manymeans {

/// Rows of a subset: features and an intercept.
inline int64_t rows_of_subset(const Input& input) {
  return input.points.d;
}

/// Returns the draws for a subset of `rows` different rows. Rows that come twice are left out, so there are more draws.
inline int64_t draws_of_subset(int64_t rows) {
  return 4 * rows;
}

/// Where the random numbers of a subset begin.
struct SubsetDraws {
  uint64_t key;
  int64_t index;
  int64_t first_draw;
  Purpose purpose;
};

inline void append_subset_draws(const SubsetDraws& subset, int64_t rows, std::vector<uint64_t>& u) {
  for (int64_t j = 0; j < draws_of_subset(rows); ++j) {
    u.push_back(random_u64(subset.key, static_cast<uint64_t>(subset.index),
                           static_cast<uint32_t>(subset.first_draw + j), subset.purpose));
  }
}

/// Returns a subset of each group of draws: the first different rows that its draws picked, `rows` of them or as many
/// as there are.
inline std::vector<std::vector<int64_t>> distinct_rows(const std::vector<int64_t>& picked, int64_t rows) {
  const int64_t draws = draws_of_subset(rows);
  std::vector<std::vector<int64_t>> subsets(picked.size() / static_cast<size_t>(draws));
  for (size_t i = 0; i < subsets.size(); ++i) {
    for (int64_t j = 0; j < draws && static_cast<int64_t>(subsets[i].size()) < rows; ++j) {
      const int64_t row = picked[i * static_cast<size_t>(draws) + static_cast<size_t>(j)];
      if (std::ranges::find(subsets[i], row) == subsets[i].end()) subsets[i].push_back(row);
    }
  }
  return subsets;
}

}  // namespace manymeans
