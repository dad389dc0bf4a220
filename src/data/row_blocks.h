// All rows of points, widened, in pieces of a size that caches like.
#pragma once

#include <manymeans/points.h>

#include "core/data_type.h"
#include "core/row_window.h"
#include "core/threads.h"

#include <algorithm>
#include <cstddef>
#include <utility>
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
  for_each_row_range(window, pool, points.n, block * 16, [&](int worker, int64_t first, int64_t last) {
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

// What add(seen of the column, column, value) makes of each column, in any order: every thread has its own, which are
// merged.
template <class Seen, class T, class Add>
std::vector<Seen> see_columns(const PointsView& points, const RowWindow& window, ThreadPool& pool, Add&& add) {
  const auto d = static_cast<size_t>(points.d);
  std::vector<std::vector<Seen>> seen(static_cast<size_t>(pool.size()), std::vector<Seen>(d));
  for_each_block<T>(points, window, pool, [&](int worker, int64_t, int64_t rows, const T* x) {
    Seen* mine = seen[static_cast<size_t>(worker)].data();
    for (int64_t i = 0; i < rows; ++i, x += d) {
      for (size_t j = 0; j < d; ++j) add(mine[j], j, x[j]);
    }
  });
  for (size_t worker = 1; worker < seen.size(); ++worker) {
    for (size_t j = 0; j < d; ++j) seen[0][j].merge(seen[worker][j]);
  }
  return std::move(seen[0]);
}

}  // namespace manymeans
