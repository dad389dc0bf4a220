// The valley of density between clusters.
#pragma once

#include <manymeans/points.h>

#include "core/threads.h"

namespace manymeans {

/// Returns the valley of the worst cluster: by how many standard deviations rows are missing where it meets its
/// neighbours. Rows are not those that the prototypes were fitted to. 0: no valley, or fewer than five rows on a side.
/// Contract, "Stability".
double valley(const PointsView& rows, const Matrix& prototypes, ThreadPool& pool);

}  // namespace manymeans
