// Rows of sparse points (manymeans/sparse.h) as the library reads them.
#pragma once

#include <manymeans/sparse.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace manymeans {

inline bool is_sparse(const PointsView& points) {
  return points.place.space == kSparseSpace;
}

/// Returns the view whose SparseView::points() returned these points.
inline const SparseView& sparse_view(const PointsView& points) {
  return *static_cast<const SparseView*>(points.data);
}

/// The values of one row that are there, and their columns.
template <class T, class Index>
struct SparseRow {
  const T* values;
  const Index* columns;
  int64_t count;
};

/// use(T{}, Index{}) for the types of its values and indices.
template <class Use>
auto as_sparse_types(const SparseView& view, Use&& use) {
  if (view.type == DataType::kFloat64) return view.wide_indices ? use(double{}, int64_t{}) : use(double{}, int32_t{});
  return view.wide_indices ? use(float{}, int64_t{}) : use(float{}, int32_t{});
}

template <class T, class Index>
SparseRow<T, Index> sparse_row(const SparseView& view, int64_t row) {
  const int64_t first = view.starts[row];
  return {static_cast<const T*>(view.values) + first, static_cast<const Index*>(view.indices) + first,
          view.starts[row + 1] - first};
}

/// One row, widened: for callers that do not depend on the types.
struct WideSparseRow {
  std::vector<double> values;
  std::vector<int64_t> columns;

  int64_t count() const { return static_cast<int64_t>(values.size()); }
  void read(const SparseView& view, int64_t row) {
    as_sparse_types(view, [&]<class T, class Index>(T, Index) {
      const SparseRow<T, Index> from = sparse_row<T, Index>(view, row);
      values.assign(from.values, from.values + from.count);
      columns.assign(from.columns, from.columns + from.count);
    });
  }
};

/// Throws Error for a view that is none: types, starts and indices. Reads no value.
void check_sparse(const SparseView& view);

}  // namespace manymeans
