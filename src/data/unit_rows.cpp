#include "data/unit_rows.h"

#include <manymeans/error.h>
#include <manymeans/io.h>
#include <manymeans/options.h>
#include <manymeans/sparse.h>

#include "core/aligned_buffer.h"
#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/memory_space.h"
#include "core/out_of_memory.h"
#include "core/sparse_rows.h"
#include "core/threads.h"
#include "core/unit_length.h"
#include "data/input.h"
#include "data/row_copy.h"

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace manymeans {
namespace {

// Returns the first row that has no direction, or kNoRow.
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
  return kNoRow;
}

[[noreturn]] void refuse_row(const PointsView& points, int64_t row, int64_t number) {
  std::vector<double> values(static_cast<size_t>(points.d));
  widen_row(points, row, values.data());
  for (size_t j = 0; j < values.size(); ++j) check_value(values[j], number, static_cast<int64_t>(j));
  throw Error(ErrorCode::kBadData, "points",
              fmt::format("row {} is all zeros, which has no direction: metric cosine and scale unit need rows with a "
                          "value other than zero; remove such rows first",
                          number + 1));
}

// Writes them somewhere by way of `run`, which is given what writes rows.
template <class Run>
void scale_rows(const PointsView& points, int64_t first_row, Run&& run) {
  FirstBadRow bad;
  const WriteRows write = [&](int64_t first, int64_t last, void* values) {
    as_float_type(points.type,
                  [&]<class T>(T) { bad.note(write_unit_rows(points, first, last, static_cast<T*>(values))); });
  };
  run(write);
  if (bad.row() != kNoRow) refuse_row(points, bad.row(), first_row + bad.row());
}

// Writes the scaled values of sparse rows, each in its place. Returns as write_unit_rows() does.
template <class T, class Index>
int64_t write_unit_values(const SparseView& view, int64_t first, int64_t last, T* values) {
  std::vector<double> unit;
  for (int64_t row = first; row < last; ++row) {
    const SparseRow<T, Index> x = sparse_row<T, Index>(view, row);
    unit.resize(static_cast<size_t>(x.count));
    const auto column = [&](int64_t i) { return static_cast<int64_t>(x.columns[i]); };
    if (!scale_to_unit_length(x.values, x.count, unit.data(), column)) return row;
    T* to = values + view.starts[row];
    for (int64_t i = 0; i < x.count; ++i) to[i] = static_cast<T>(unit[static_cast<size_t>(i)]) + T{0};
  }
  return kNoRow;
}

void scale_values(const PointsView& points, const UnitRowsTask& task, void* values) {
  constexpr int64_t kGrain = 1024;
  await_points(points);
  const SparseView& view = sparse_view(points);
  FirstBadRow bad;
  ThreadPool pool(thread_count(task.threads));
  as_sparse_types(view, [&]<class T, class Index>(T, Index) {
    pool.for_each_range(view.n, kGrain, [&](int, int64_t first, int64_t last) {
      bad.note(write_unit_values<T, Index>(view, first, last, static_cast<T*>(values)));
    });
  });
  if (bad.row() != kNoRow) refuse_row(points, bad.row(), task.first_row + bad.row());
}

// Sparse rows of other values. Starts and columns stay where they are.
struct SparseCopy {
  AlignedBuffer<std::byte> values;
  SparseView view;
};

RowCopy unit_sparse_rows(const PointsView& points, const UnitRowsTask& task) {
  const auto copy = std::make_shared<SparseCopy>();
  copy->view = sparse_view(points);
  copy->values = AlignedBuffer<std::byte>(static_cast<size_t>(copy->view.entries) * size_of(copy->view.type));
  scale_values(points, task, copy->values.data());
  copy->view.values = copy->values.data();
  return {copy->view.points(), copy};
}

}  // namespace

RowCopy unit_rows(const PointsView& points, const UnitRowsTask& task) {
  if (is_sparse(points)) return unit_sparse_rows(points, task);
  RowCopy result;
  scale_rows(points, task.first_row,
             [&](const WriteRows& write) { result = copy_rows(points, task.threads, task.memory, write); });
  return result;
}

Matrix values_of_length_one(const SparseView& points, int threads) {
  const FpEnvironmentGuard guard;
  return or_out_of_memory("points", "give it fewer rows", [&] {
    check_shape(points.points(), points.n);
    Matrix values(1, points.entries, points.type);
    scale_values(points.points(), {.threads = threads}, const_cast<void*>(values.view().data));
    return values;
  });
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

RowCopy measured_rows(const PointsView& points, Metric metric, const UnitRowsTask& task) {
  if (metric == Metric::kEuclidean || points.n < 1 || points.d < 1 || points.data == nullptr) return {points, nullptr};
  return unit_rows(points, task);
}

}  // namespace manymeans
