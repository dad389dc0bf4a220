// Prototypes of rows that somebody has put together, without a pass.
#pragma once

#include "data/input.h"
#include "prototype/prototype.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// Returns the prototype that each group of different rows would have as a cluster. Rows are numbers among the rows of
/// all ranks. All ranks call this.
Matrix prototypes_of_groups(const Input& input, std::span<const std::vector<int64_t>> groups, ThreadPool& pool);

/// The prototypes of the clusters that labels below k say; 0 for one that weighs nothing. Reads the points once.
Matrix prototypes_of_labels(const Input& input, const Labels& labels, int64_t k, ThreadPool& pool);

}  // namespace manymeans
