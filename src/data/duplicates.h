// Rows that occur more than once, as in tables of counts and categories or in the pixels of a picture. A result for one
// row holds for all that equal it.
#pragma once

#include "core/aligned_buffer.h"
#include "data/input.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace manymeans {

/// The points as distinct rows and their multiplicities. A row that occurs very often is several distinct rows, since
/// the terms of each must be exact.
struct Duplicates {
  Input input;                      ///< the distinct rows; Input::counted, its weights are their multiplicities
  AlignedBuffer<std::byte> values;  ///< its points
  std::vector<uint32_t> distinct;   ///< of every row: which distinct row it equals
  std::vector<uint32_t> rows;       ///< rows that equal distinct row 0, ascending, then those of distinct row 1, ..
  std::vector<uint32_t> first;      ///< where the rows of each distinct row begin, and the end

  int64_t distinct_rows() const { return input.points.n; }
  std::span<const uint32_t> rows_of(int64_t which) const {
    const auto at = static_cast<size_t>(which);
    return {rows.data() + first[at], rows.data() + first[at + 1]};
  }
};

/// When it pays to look for duplicates.
struct DuplicatesRule {
  int64_t min_rows = int64_t{1} << 14;
  double max_distinct = 2.0 / 3;  ///< as a share of the rows
  bool sample_first = true;       ///< look at some rows only, where these say that few rows are equal
};

/// Returns none if it does not pay, or if the terms of a distinct row would not be exact. This is so with weights, with
/// limited memory, and if a column's span rounds the last limb. Reads the points once, O(N D); up to 52 bytes a row of
/// memory meanwhile.
std::optional<Duplicates> find_duplicates(const Input& input, ThreadPool& pool, const DuplicatesRule& rule = {});

}  // namespace manymeans
