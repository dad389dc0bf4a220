// Rows scaled to length one, for the metric cosine and the scaling unit.
#pragma once

#include <manymeans/points.h>

#include "data/row_copy.h"

#include <atomic>
#include <cstdint>
#include <limits>

namespace manymeans {

enum class Metric : uint8_t;

inline constexpr int64_t kNoRow = std::numeric_limits<int64_t>::max();

/// The first row that cannot be used, found by several threads.
class FirstBadRow {
 public:
  void note(int64_t row) {
    for (int64_t seen = row_.load(); row < seen && !row_.compare_exchange_weak(seen, row);) {
    }
  }
  int64_t row() const { return row_.load(); }  ///< kNoRow: there is none

 private:
  std::atomic<int64_t> row_{kNoRow};
};

struct UnitRowsTask {
  int threads = 0;
  int64_t memory = 0;     ///< as in ReadOptions
  int64_t first_row = 0;  ///< number of the first among the rows of all ranks
};

/// A copy in float32 (float64 for float64 points) of the rows, each scaled to length one: contract, "Cosine". Sparse
/// rows stay sparse: their zeros and columns are where they were, with the caller's. Throws Error(kBadData) naming the
/// first row that is all zeros, or a value that is not finite.
RowCopy unit_rows(const PointsView& points, const UnitRowsTask& task);

/// The rows as this metric compares them: the points themselves, without an owner, or unit_rows(). Points without
/// values stay as they are: prepare_input() refuses them.
RowCopy measured_rows(const PointsView& points, Metric metric, const UnitRowsTask& task);

}  // namespace manymeans
