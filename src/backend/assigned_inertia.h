// Inertia from the distances of all rows, one after the other: for backends and steps that have no sums of their own.
#pragma once

#include <manymeans/points.h>

#include "backend/row_queries.h"
#include "core/threads.h"
#include "data/input.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// Returns d2 of every row to the prototype that its label names.
std::vector<double> assigned_distances(const Input& input, const Matrix& prototypes, const Labels& labels,
                                       ThreadPool& pool);

/// Returns the limbs of the sum of RN(w' * d2). `d2`: one of each row.
std::vector<int64_t> limbs_of_distances(const Input& input, std::span<const double> d2, const SumFormat& format);

/// The sum in the format that follows from the farthest row.
InertiaSum inertia_of_distances(const Input& input, std::span<const double> d2);

}  // namespace manymeans
