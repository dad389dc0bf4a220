// Some rows of the points as a matrix of their own.
#pragma once

#include <manymeans/points.h>

#include "data/input.h"

#include <span>
#include <vector>

namespace manymeans {

/// These rows, in this order, as T (float32, or float64 for float64 points), -0 as +0.
Matrix gather_rows(const PointsView& points, std::span<const int64_t> rows);
/// As above, for very many rows.
Matrix gather_rows(const PointsView& points, std::span<const int64_t> rows, ThreadPool& pool);
/// As above, for rows of this rank's points of a fit, counted from its first row, within its memory.
Matrix gather_rows(const Input& input, std::span<const int64_t> rows);
/// As above, for rows of all ranks, by their numbers among all. All ranks call it, and get the same.
Matrix gather_from_all(const Input& input, std::span<const int64_t> rows);
/// The integer weights of such rows, on all ranks.
std::vector<int64_t> weights_from_all(const Input& input, std::span<const int64_t> rows);

/// The rows [first, first + rows) of dense points, where they lie.
inline PointsView rows_of_view(PointsView points, int64_t first, int64_t rows) {
  points.data = static_cast<const std::byte*>(points.data) +
                static_cast<size_t>(first) * static_cast<size_t>(points.d) * size_of(points.type);
  points.n = rows;
  return points;
}

/// `count` rows of n, evenly spread: floor(i n / count).
std::vector<int64_t> spread_rows(int64_t n, int64_t count);

}  // namespace manymeans
