// Columns that have a use of their own, and which are wanted, for those who read tables by other libraries.
#pragma once

#include <manymeans/error.h>
#include <manymeans/io.h>

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans {

/// Columns of a table, counted from 0.
struct ChosenColumns {
  std::vector<int64_t> columns;  ///< of the points, in their order
  int64_t weight = -1;           ///< the column of the weights; -1: none
};

/// Returns the columns that `options` mean (columns, exclude, weights, like) in a table with these names, as
/// read_points() chooses them. Throws as it does, about `path`.
ChosenColumns choose_columns(const std::vector<std::string>& names, const ReadOptions& options,
                             const std::string& path);

/// Advice for a column of targets or weights that holds text or has a gap.
struct ColumnAdvice {
  const char* for_text;
  const char* for_gap;
};
constexpr ColumnAdvice kWeightsAdvice = {"weights need numbers: name another column, or a file",
                                         "weights need a number in every row: name another column, or a file"};

/// Returns this error of reading a file. Where it is about the column of this name or number, and advises what helps
/// for columns of the points alone, it gives `advice` instead.
Error about_column(const Error& error, const std::string& column, const ColumnAdvice& advice);

}  // namespace manymeans
