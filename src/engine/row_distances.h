// Distances of many rows to a few points that are prepared once.
#pragma once

#include <manymeans/error.h>
#include <manymeans/points.h>

#include "backend/backend.h"
#include "core/data_type.h"
#include "core/threads.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace manymeans {

/// Distances of all rows, some at a time, to points in binary64: the rounded roots of canonical distances.
class RowDistances {
 public:
  /// Distances that are in memory at a time, about.
  static constexpr int64_t kValues = int64_t{1} << 21;

  RowDistances(std::shared_ptr<const Matrix> to, ThreadPool& pool)
      : backend_(make_backend("cpu", {.threads = pool.size(), .abort = pool.abort()})),
        labeller_(backend_->labeller(to)),
        to_(std::move(to)),
        pool_(pool) {}

  /// Calls take(first, distances): of rows [first, first + distances.rows()), columns are the points.
  template <class Take>
  void of_all(const PointsView& points, Take&& take, int64_t values = kValues) const {
    const int64_t most = std::clamp<int64_t>(values / std::max(to_->rows(), points.d), 64, 1 << 16);
    std::vector<std::byte> fetched;
    Matrix rows, distances;
    for (int64_t first = 0; first < points.n; first += most) {
      const int64_t count = std::min(most, points.n - first);
      if (rows.rows() != count) {
        rows = Matrix::unwritten(count, points.d, DataType::kFloat64);
        distances = Matrix::unwritten(count, to_->rows(), DataType::kFloat64);
      }
      const PointsView range = host_rows(points, first, count, fetched);
      widen(range.data, range.type, 0, count * points.d, rows.values<double>().data());
      const LabelCall call{.threads = pool_.size(), .abort = pool_.abort()};
      if (!labeller_->transform(rows.view(), call, distances)) {
        throw Error(ErrorCode::kInternal, "criteria", "rows that were checked are not finite");
      }
      take(first, std::as_const(distances));
    }
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Labeller> labeller_;
  std::shared_ptr<const Matrix> to_;
  ThreadPool& pool_;
};

}  // namespace manymeans
