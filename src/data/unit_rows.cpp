#include "data/unit_rows.h"

#include <manymeans/error.h>
#include <manymeans/io.h>
#include <manymeans/sparse.h>

#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/out_of_memory.h"
#include "core/unit_length.h"
#include "data/input.h"
#include "data/row_copy.h"

#include <fmt/format.h>

#include <atomic>
#include <limits>
#include <vector>

namespace manymeans {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

// Returns the first row that has no direction, or kNone.
template <class T>
int64_t write_unit_rows(const PointsView& points, int64_t first, int64_t last, T* out) {
  const int64_t d = points.d;
  std::vector<T> scratch(static_cast<size_t>(d));
  std::vector<double> unit(static_cast<size_t>(d));
  std::vector<std::byte> fetched;
  const PointsView rows = host_rows(points, first, last - first, fetched);
  for (int64_t row = first; row < last; ++row) {
    const T* x = rows_as<T>(rows, row - first, 1, scratch.data());
    if (!scale_to_unit_length(x, d, unit.data())) return row;
    T* to = out + row * d;
    for (int64_t j = 0; j < d; ++j) to[j] = static_cast<T>(unit[static_cast<size_t>(j)]) + T{0};  // no negative zeros
  }
  return kNone;
}

[[noreturn]] void refuse_row(const PointsView& points, int64_t row, int64_t number) {
  std::vector<double> values(static_cast<size_t>(points.d));
  widen_row(points, row, values.data());
  for (size_t j = 0; j < values.size(); ++j) check_value(values[j], number, static_cast<int64_t>(j));
  throw Error(ErrorCode::kBadData, "points",
              fmt::format("row {} is all zeros, which has no direction: metric cosine needs rows with a value other "
                          "than zero; remove such rows first, or use metric euclidean",
                          number + 1));
}

// Writes them somewhere by way of `run`, which is given what writes rows.
template <class Run>
void scale_rows(const PointsView& points, int64_t first_row, Run&& run) {
  std::atomic<int64_t> bad{kNone};
  const WriteRows write = [&](int64_t first, int64_t last, void* values) {
    as_float_type(points.type, [&]<class T>(T) {
      const int64_t row = write_unit_rows(points, first, last, static_cast<T*>(values));
      for (int64_t seen = bad.load(); row < seen && !bad.compare_exchange_weak(seen, row);) {
      }
    });
  };
  run(write);
  if (const int64_t row = bad.load(); row != kNone) refuse_row(points, row, first_row + row);
}

}  // namespace

RowCopy unit_rows(const PointsView& points, const UnitRowsTask& task) {
  if (points.place.space == kSparseSpace) {
    throw Error(
        ErrorCode::kUsage, "metric",
        "cosine of sparse points would fill in their zeros; divide each row by its length beforehand, which keeps "
        "them sparse (scikit-learn: normalize), and use metric euclidean");
  }
  RowCopy result;
  scale_rows(points, task.first_row,
             [&](const WriteRows& write) { result = copy_rows(points, task.threads, task.memory, write); });
  return result;
}

Matrix rows_of_length_one(const PointsView& points, int threads) {
  const FpEnvironmentGuard guard;
  return or_out_of_memory("points", "give it fewer rows", [&] {
    check_shape(points, points.n);
    Matrix result(points.n, points.d, prototype_type(points.type));
    scale_rows(points, 0, [&](const WriteRows& write) {
      write_rows(points, threads, {{}, const_cast<void*>(result.view().data), {}}, write);
    });
    return result;
  });
}

}  // namespace manymeans
