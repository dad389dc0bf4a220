#include "engine/resident_points.h"

#include "backend/devices.h"
#include "core/memory_space.h"
#include "data/gather.h"
#include "engine/fit_on.h"

#include <utility>

namespace manymeans {

// Rows of length one are made by the host, and several devices share the rows in each fit.
void ResidentPoints::copy_to_device(const FitOptions& options, const FitHooks& hooks) {
  const bool alone = backend_names(options.backend).size() == 1;
  if (given_.n == 0 || options.metric == Metric::kCosine || limited_ || !alone) return;
  try {
    copied_ = backend_of_fit(given_, options, hooks)->copy(given_, {});
  } catch (const Error& error) {  // others took the memory meanwhile
    if (error.code() != ErrorCode::kUnavailable || !devices_answer()) throw;
  }
  if (copied_) view_ = copied_->points().points;
}

bool ResidentPoints::release(const Error& error) {
  if (error.code() != ErrorCode::kUnavailable || !copied_ || !devices_answer()) return false;
  view_ = given_;
  copied_.reset();
  return true;
}

int64_t ResidentPoints::row_bytes() const {
  const DataType type = gathers_on_device() ? view_.type : prototype_type(view_.type);
  return view_.d * static_cast<int64_t>(size_of(type));
}

int64_t ResidentPoints::max_gather_bytes() const {
  return gathers_on_device() ? memory_space(view_).gather_bytes(view_) : 0;
}

RowCopy ResidentPoints::rows(std::span<const int64_t> rows, ThreadPool& pool) const {
  RowCopy copy;
  if (rows.empty() || std::ssize(rows) * row_bytes() > max_gather_bytes()) {
    return in_memory(gather_rows(given_, rows, pool));
  }
  copy.owner = memory_space(view_).gather(view_, rows, copy.view);
  return copy;
}

RowCopy in_memory(Matrix rows) {
  const auto owner = std::make_shared<Matrix>(std::move(rows));
  return {owner->view(), owner};
}

}  // namespace manymeans
