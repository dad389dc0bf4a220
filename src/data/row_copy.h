// Copies of all rows with other values, in memory or in a temporary file.
#pragma once

#include <manymeans/points.h>

#include "core/row_window.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace manymeans {

struct RowCopy {
  PointsView view;
  std::shared_ptr<const void> owner;  ///< keeps the view alive
};

/// Writes rows [first, last) of a copy whose first value is at `values`; called from several threads.
using WriteRows = std::function<void(int64_t first, int64_t last, void* values)>;

/// How points are read, and where the rows go.
struct RowsTo {
  RowWindow window = {};
  void* values = nullptr;
  RowWindow::GiveBack done = {};  ///< is told of rows
};

/// All rows, written by several threads. Waits for the points first, and checks at the end that they are still there.
void write_rows(const PointsView& points, int threads, const RowsTo& to, const WriteRows& write);

/// Returns a copy in the type of the points' prototypes. It lies in a temporary file if `memory` demands it (as in
/// ReadOptions). `columns` is the number of its columns; 0 means the number of the points.
RowCopy copy_rows(const PointsView& points, int threads, int64_t memory, const WriteRows& write, int64_t columns = 0);

}  // namespace manymeans
