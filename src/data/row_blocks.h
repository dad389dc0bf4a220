// All rows of points, widened, in pieces of a size that caches like.
#pragma once

#include <manymeans/points.h>

#include "core/data_type.h"
#include "core/row_window.h"
#include "core/threads.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace manymeans {

// Rows that are handled together; one piece of about 32 KiB.
inline int64_t rows_per_block(int64_t d) {
  return std::max<int64_t>(1, 8192 / std::max<int64_t>(1, d));
}

// Calls body(worker, first row, rows, pointer to float or double rows) over all points.
template <class T, class Body>
void for_each_block(const PointsView& points, const RowWindow& window, ThreadPool& pool, Body&& body) {
  const int64_t block = rows_per_block(points.d);
  std::vector<std::vector<T>> scratch(static_cast<size_t>(pool.size()));
  std::vector<std::vector<std::byte>> fetched(static_cast<size_t>(pool.size()));
  window.for_each_range(pool, points.n, block * 16, [&](int worker, int64_t first, int64_t last) {
    std::vector<T>& space = scratch[static_cast<size_t>(worker)];
    space.resize(static_cast<size_t>(block * points.d));
    // A whole range at a time: that is as much as a copy from a device needs to be fast.
    const PointsView range = host_rows(points, first, last - first, fetched[static_cast<size_t>(worker)]);
    for (int64_t row = first; row < last; row += block) {
      const int64_t rows = std::min(block, last - row);
      body(worker, row, rows, rows_as<T>(range, row - first, rows, space.data()));
    }
  });
}

}  // namespace manymeans
