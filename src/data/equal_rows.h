// Rows that occur more than once, as in tables of counts and categories or in the pixels of a picture: what is found
// out of a row holds for all that equal it.
#pragma once

#include "core/aligned_buffer.h"
#include "data/input.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace manymeans {

/// The points as groups of equal rows. A row that occurs very often is in several groups: see most_repeats.
struct EqualRows {
  Input input;                      ///< a row of each group; Input::counted, its weights say how large the groups are
  AlignedBuffer<std::byte> values;  ///< its points
  std::vector<uint32_t> group;      ///< of every row
  std::vector<uint32_t> members;    ///< rows of group 0, ascending, then those of group 1, ..
  std::vector<uint32_t> first;      ///< where the members of each group begin, and the end

  int64_t groups() const { return input.points.n; }
  std::span<const uint32_t> members_of(int64_t g) const {
    const auto at = static_cast<size_t>(g);
    return {members.data() + first[at], members.data() + first[at + 1]};
  }
};

/// When grouping pays.
struct EqualRowsRule {
  int64_t least_rows = int64_t{1} << 14;
  double most_groups = 2.0 / 3;  ///< as a share of the rows
  bool sample_first = true;      ///< look at some rows only, where these say that few rows are equal
};

/// None where it does not pay or the terms of a group would not be exact: with weights, with limited memory, where a
/// column spans so much that the last limb rounds. Reads the points once, O(N D); up to 52 bytes a row of
/// memory meanwhile.
std::optional<EqualRows> find_equal_rows(const Input& input, ThreadPool& pool, const EqualRowsRule& rule = {});

}  // namespace manymeans
