// A number that tells the contents of two sets of points apart.
#pragma once

#include <manymeans/points.h>

#include "core/row_window.h"
#include "core/threads.h"

#include <cstdint>

namespace manymeans {

using ContentHash = unsigned __int128;

/// Sum mod 2^128 over all rows of XXH3-128(bytes of the row, seeded with its index). It depends neither on threads nor
/// on the order in which rows are read. 0 for no rows. Reads the points once, in a window. `first_row` is the index of
/// the first row; the hashes of a set's parts add up to the set's hash. No protection against people who look for two
/// contents with one hash.
ContentHash content_hash(const PointsView& points, ThreadPool& pool, const RowWindow& window = {},
                         int64_t first_row = 0);

}  // namespace manymeans
