// Quartiles of the columns, over the rows of all ranks.
#pragma once

#include "data/input.h"

#include <vector>

namespace manymeans {

/// Contract: "Moments", robust scaling.
struct Quartiles {
  double lower = 0, median = 0, upper = 0;
};

/// Of every column; each row counts once. All ranks call it, and get the same. Reads the points eight times for each
/// 512 columns.
std::vector<Quartiles> column_quartiles(const Input& input, ThreadPool& pool);

}  // namespace manymeans
