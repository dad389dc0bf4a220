// The optimal parts of a line in exact arithmetic, among few cuts.
#pragma once

#include "optimal/weighted_line.h"

#include <cstddef>
#include <vector>

namespace manymeans {

/// Does what optimal_parts() does. layers[m], ascending, holds all cuts that may end part m - 1 of an optimum.
/// layers[0] is {0} and layers[k] is {n}. It takes O(log n) comparisons for each cut of a layer.
std::vector<size_t> exact_parts(const WeightedLine& line, const std::vector<std::vector<size_t>>& layers);

}  // namespace manymeans
