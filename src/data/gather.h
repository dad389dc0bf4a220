// Some rows of the points as a matrix of their own.
#pragma once

#include <manymeans/points.h>

#include <span>

namespace manymeans {

/// These rows, in this order, as T (float32, or float64 for float64 points), -0 as +0.
Matrix gather_rows(const PointsView& points, std::span<const int64_t> rows);

}  // namespace manymeans
