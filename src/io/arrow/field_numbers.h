// Shared by all code that copies numbers out of fields: messages, and notes on each value.
#pragma once

#include "io/arrow/fields.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace manymeans {

constexpr const char* kMissingValue =
    "the value is missing (null); fill it, remove the row, or leave the column out with --columns";

inline std::string wrong_length(int64_t length, int64_t width) {
  return fmt::format(": the list has {} values, those of the rows before have {}; every row needs the same number",
                     length, width);
}

/// A run of values, one after the other in an array, and where they go.
struct FieldRun {
  int64_t first = 0;
  int64_t count = 0;
  double* to = nullptr;
  int64_t step = 1;
  /// Value i of the run is in row `row + i` of column `column`, or in column `column + i` of row `row`.
  bool down = true;
  int64_t row = 0;
  size_t column = 0;
  const FieldTarget* target = nullptr;

  size_t column_of(int64_t i) const { return column + static_cast<size_t>(down ? 0 : i); }
};

/// Copies the run out of values of this type, noting what the type of the points loses.
template <class T>
void copy_plain_run(const T* values, const FieldRun& run) {
  for (int64_t i = 0; i < run.count; ++i) {
    const T value = values[run.first + i];
    run.to[i * run.step] = static_cast<double>(value);
    if constexpr (std::is_integral_v<T> && sizeof(T) >= 4) {
      const FieldTarget& target = *run.target;
      const size_t column = run.column_of(i);
      if (target.float32 != nullptr) target.float32->add(column, static_cast<double>(value), 0);
      if (target.lost == nullptr || !is_lost(value, target.type) || target.lost->seen(column)) continue;
      target.lost->add(column, run.row + (run.down ? i : 0), std::to_string(value));
    }
  }
}

/// Value i of the run from its digits: the nearest binary64, as text has it.
void copy_digits(const std::string& digits, int64_t i, const FieldRun& run);

}  // namespace manymeans
