#include "backend/device/slice_planner.h"

#include <manymeans/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace manymeans::device {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

}  // namespace

SlicePlanner::SlicePlanner(const Points& points, int64_t room, Bytes bytes)
    : points_(points), room_(room), bytes_(std::move(bytes)) {
  points_.row_bytes = std::max<int64_t>(1, points.row_bytes);
}

SlicePlanner::Choice SlicePlanner::measured(int64_t slice_rows, int64_t resident_rows) const {
  SlicePlan plan{slice_rows, points_.on_device ? points_.rows : std::min(resident_rows, points_.rows)};
  if (plan.whole(points_.rows)) plan = {points_.rows, points_.rows};
  return {plan, bytes_(plan)};
}

bool SlicePlanner::holds_all() const {
  const int64_t n = points_.rows;
  return points_.forced_rows == 0 && n <= points_.max_rows && measured(n, n).bytes <= room_;
}

// The largest slices for which there is room; else the smallest.
SlicePlanner::Choice SlicePlanner::in_slices(int64_t resident_rows) const {
  // The link fetches this many bytes in milliseconds, much more than the launches of their kernels take. Most of the
  // room is better used for rows that stay.
  const int64_t slice_bytes = std::min(128 * kMiB, room_ / 32);
  const int64_t unit = points_.slice_unit;
  const auto whole_units = [unit](int64_t rows) { return std::max(unit, rows / unit * unit); };
  const int64_t most = std::min({slice_bytes / points_.row_bytes, 64 * kMiB, points_.max_rows});
  for (int64_t rows = whole_units(most);; rows = whole_units(rows / 2)) {
    const Choice choice = measured(rows, resident_rows);
    if (choice.bytes <= room_ || rows == unit) return choice;
  }
}

SlicePlanner::Choice SlicePlanner::choose() const {
  const int64_t n = points_.rows;
  if (points_.forced_rows > 0) return measured(points_.forced_rows, points_.forced_rows);
  if (holds_all()) return measured(n, n);
  const Choice points_stay = in_slices(n);  // the points do, but not what is made of them
  if (points_stay.bytes <= room_) return points_stay;
  const Choice least = in_slices(0);
  if (least.bytes > room_) return least;
  const int64_t rows = least.plan.slice_rows;
  const int64_t fitting = (room_ - least.bytes) / points_.row_bytes / rows * rows;
  const Choice some_stay = measured(rows, fitting);
  // Where all points stay, more may be made of them than there is room for: then the last of them do not.
  return some_stay.bytes <= room_ || fitting < n ? some_stay : measured(rows, (n - 1) / rows * rows);
}

void check_room(std::string_view backend, int64_t bytes, int64_t room, std::string_view what) {
  if (bytes <= room) return;
  throw Error(
      ErrorCode::kUnavailable, fmt::format("{} device memory", backend),
      fmt::format("{} need {} MiB, and {} MiB are free; use more memory, fewer rows or models at a time (strategy "
                  "data), or --backend cpu",
                  what, (bytes + kMiB - 1) / kMiB, std::max<int64_t>(0, room) / kMiB));
}

}  // namespace manymeans::device
