// Which columns of a table are wanted, for those who read tables by other libraries.
#pragma once

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

}  // namespace manymeans
