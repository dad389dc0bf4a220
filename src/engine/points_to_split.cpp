#include "engine/points_to_split.h"

#include <manymeans/error.h>

#include "backend/devices.h"
#include "core/memory_space.h"
#include "data/gather.h"
#include "engine/fit_on.h"

#include <algorithm>
#include <utility>

namespace manymeans {

// Rows of length one are made by the host, and a limit is for one fit's copy of the points.
void PointsToSplit::copy_to_device(const FitOptions& options, const FitHooks& hooks) {
  if (given_.n == 0 || options.metric == Metric::kCosine || options.memory.bytes > 0) return;
  try {
    copied_ = backend_of_fit(given_, options, hooks)->copy(given_, {});
  } catch (const Error& error) {  // others took the memory meanwhile
    if (error.code() != ErrorCode::kUnavailable || !devices_answer()) throw;
  }
  if (copied_ && copied_->points().copies.parts.empty()) view_ = copied_->points().points;
}

int64_t PointsToSplit::max_bytes_of_rows() const {
  return view_.on_device() ? memory_space(view_).gather_bytes(view_) : 0;
}

RowCopy PointsToSplit::rows(std::span<const int64_t> rows, ThreadPool& pool) const {
  RowCopy copy;
  const size_t bytes = rows.size() * static_cast<size_t>(view_.d) * size_of(view_.type);
  if (!view_.on_device() || static_cast<int64_t>(bytes) > max_bytes_of_rows()) {
    return in_memory(gather_rows(given_, rows, pool));
  }
  copy.owner = memory_space(view_).gather(view_, rows, copy.view);
  return copy;
}

RowCopy in_memory(Matrix rows) {
  const auto owner = std::make_shared<Matrix>(std::move(rows));
  return {owner->view(), owner};
}

Matrix gather_rows(const PointsView& points, const SharedNodes& shared, std::span<const int64_t> rows,
                   ThreadPool& pool) {
  Matrix all = Matrix::unwritten(shared.groups().back(), points.d, prototype_type(points.type));
  const auto make = [&](int64_t first, int64_t last, std::byte* to) {
    const auto some = rows.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
    std::ranges::copy(gather_rows(points, some, pool).bytes(), to);
  };
  shared.send(static_cast<size_t>(points.d) * size_of(all.type()), make, all.values<std::byte>().data());
  return all;
}

}  // namespace manymeans
