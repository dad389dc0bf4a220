// Philox for many rows at once: sums of label terms and draws of rows, in the vectors of whatever processor runs.
// About a nanosecond a row; core/random.h, one row at a time, takes ten.
#pragma once

#include "core/label_term.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// A row and its random number.
struct RowDraw {
  uint64_t u = 0;
  int64_t row = 0;
  auto operator<=>(const RowDraw&) const = default;
};

/// Numbers u = random_u64(key, row, draw, purpose). The task looks for those that are at most `most`.
struct DrawTask {
  uint64_t key = 0;
  uint32_t draw = 0;
  Purpose purpose = Purpose::kRandomRow;
  uint64_t most = 0;
};

/// One instruction set's functions.
struct PhiloxLanes {
  const char* name;
  /// Adds to `sum` the terms of first + rows[i], or of first + i where `rows` is null; count <= 2^31.
  void (*label_terms)(const int64_t* rows, int64_t first, const uint32_t* labels, int64_t count, LabelSum* sum);
  /// Writes the wanted ones; `found` has room for last - first. Returns how many there are.
  int64_t (*draws)(const DrawTask& task, int64_t first, int64_t last, RowDraw* found);
};
/// Those that this processor can run, the best one first: the functions below call that.
std::span<const PhiloxLanes> philox_lanes();

/// The sum, mod 2^128, of the label terms of `count` pairs of row and label; row 0 is number `first` of all. Without
/// `rows` (null) these are the neighbouring rows 0 .. count - 1.
LabelSum sum_of_label_terms(const int64_t* rows, int64_t first, const uint32_t* labels, int64_t count);

/// Appends the wanted ones of the rows first .. last - 1, in ascending order of rows.
void append_draws(const DrawTask& task, int64_t first, int64_t last, std::vector<RowDraw>& found);

}  // namespace manymeans
