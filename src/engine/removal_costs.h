// The worth of each prototype of a model: by how much the error grows without it. Contract, "Swaps".
#pragma once

#include <manymeans/points.h>

#include "backend/row_queries.h"
#include "core/threads.h"
#include "data/input.h"

#include <span>
#include <vector>

namespace manymeans {

/// Returns for each model (of two or more prototypes) a cost per prototype. It is the sum over the prototype's rows of
/// RN(w' * RN(d2 to the second nearest - d2 to the nearest)), exact and rounded once. `rows` may know the distances;
/// otherwise the host reads the points once for all models. All ranks call it.
std::vector<std::vector<double>> removal_costs(const Input& input, std::span<const Matrix* const> models,
                                               RowQueries& rows, ThreadPool& pool);

}  // namespace manymeans
