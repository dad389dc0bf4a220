#include <manymeans/error.h>
#include <manymeans/regress.h>

#include "core/data_type.h"
#include "core/mapped_range.h"
#include "core/memory_space.h"
#include "core/out_of_memory.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

constexpr int64_t kPiece = 4096;  // rows that are fetched from a device at a time

// Some columns of points, and where they go.
struct Columns {
  int64_t from;
  int64_t count;
  int64_t to;
};

// Copies columns of `points` into rows of `out_d` columns of `out_type`.
void copy_columns(const PointsView& points, const Columns& columns, std::byte* out, int64_t out_d, DataType out_type) {
  const size_t size = size_of(out_type);
  std::vector<std::byte> fetched;
  for (int64_t first = 0; first < points.n; first += kPiece) {
    const int64_t rows = std::min(kPiece, points.n - first);
    const std::byte* bytes = row_bytes(points, first, rows, fetched);
    for (int64_t i = 0; i < rows; ++i) {
      std::byte* to = out + static_cast<size_t>((first + i) * out_d + columns.to) * size;
      const int64_t value = i * points.d + columns.from;
      if (points.type == out_type) {
        std::memcpy(to, bytes + static_cast<size_t>(value) * size, static_cast<size_t>(columns.count) * size);
      } else {
        widen(bytes, points.type, value, columns.count, reinterpret_cast<double*>(to));
      }
    }
  }
  check_mapped(points.data);
}

std::shared_ptr<std::byte[]> room_for(int64_t rows, int64_t columns, DataType type) {
  const size_t bytes = static_cast<size_t>(rows) * static_cast<size_t>(columns) * size_of(type);
  return or_out_of_memory("memory", "give the target as the last column: then the rows are not copied",
                          [&] { return std::shared_ptr<std::byte[]>(new std::byte[bytes]); });
}

// A rank among several may have no rows. The fit reports that there are none at all.
void check_values(const PointsView& points) {
  if (points.n < 0 || (points.n > 0 && points.data == nullptr)) {
    throw Error(ErrorCode::kBadData, "points", "there are no values");
  }
}

}  // namespace

RegressionRows RegressionRows::with_target(const PointsView& points, int64_t target, FeatureUnits units) {
  const int64_t at = target == -1 ? points.d - 1 : target;
  if (at < 0 || at >= points.d) {
    throw Error(ErrorCode::kUsage, "target",
                fmt::format("there is no column {}; the points have columns 0 to {}", target, points.d - 1));
  }
  if (points.d < 2) {
    throw Error(ErrorCode::kBadData, "points", "there is no column except the target; at least one feature is needed");
  }
  RegressionRows rows;
  rows.view_ = points;
  rows.units_ = std::move(units);
  if (at == points.d - 1) return rows;
  check_values(points);
  await_points(points);
  const std::shared_ptr<std::byte[]> copy = room_for(points.n, points.d, points.type);
  copy_columns(points, {0, at, 0}, copy.get(), points.d, points.type);
  copy_columns(points, {at + 1, points.d - 1 - at, at}, copy.get(), points.d, points.type);
  copy_columns(points, {at, 1, points.d - 1}, copy.get(), points.d, points.type);
  rows.view_ = {copy.get(), points.n, points.d, points.type};
  rows.copy_ = copy;
  return rows;
}

RegressionRows RegressionRows::joined(const PointsView& x, const PointsView& y) {
  check_values(x);
  check_values(y);
  if (y.d != 1) {
    throw Error(ErrorCode::kBadData, "target", fmt::format("it has {} columns; one is needed", y.d));
  }
  if (y.n != x.n) {
    throw Error(ErrorCode::kBadData, "target", fmt::format("it has {} rows, the features have {}", y.n, x.n));
  }
  if (x.d < 1) throw Error(ErrorCode::kBadData, "points", "there are no columns; at least one feature is needed");
  await_points(x);
  await_points(y);
  const DataType type = x.type == y.type ? x.type : DataType::kFloat64;
  const std::shared_ptr<std::byte[]> copy = room_for(x.n, x.d + 1, type);
  copy_columns(x, {0, x.d, 0}, copy.get(), x.d + 1, type);
  copy_columns(y, {0, 1, x.d}, copy.get(), x.d + 1, type);
  RegressionRows rows;
  rows.view_ = {copy.get(), x.n, x.d + 1, type};
  rows.copy_ = copy;
  return rows;
}

}  // namespace manymeans
