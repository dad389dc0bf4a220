#include "core/sparse_rows.h"

#include <manymeans/error.h>

#include <fmt/format.h>

namespace manymeans {
namespace {

void check_starts(const SparseView& view) {
  if (view.starts[0] < 0) {
    throw Error(ErrorCode::kBadData, "points",
                fmt::format("row 1 begins at value {}, before the first", view.starts[0]));
  }
  for (int64_t row = 0; row < view.n; ++row) {
    const int64_t first = view.starts[row], last = view.starts[row + 1];
    if (last >= first && last <= view.entries) continue;
    throw Error(ErrorCode::kBadData, "points",
                fmt::format("row {} has the values from {} to before {} of {} (indptr); these numbers must not fall, "
                            "nor exceed how many values there are",
                            row + 1, first, last, view.entries));
  }
}

template <class Index>
[[noreturn]] void refuse_index(const SparseView& view, int64_t row, Index column, Index before) {
  if (column < 0 || column >= view.d) {
    throw Error(ErrorCode::kBadData, "points",
                fmt::format("row {} has a value in column {} (indices, counted from 0); there are {} columns", row + 1,
                            column, view.d));
  }
  throw Error(ErrorCode::kBadData, "points",
              fmt::format("row {} has column {} after column {} (indices, counted from 0); the columns of a row must "
                          "ascend, none twice (SciPy: sum_duplicates())",
                          row + 1, column, before));
}

template <class Index>
void check_indices(const SparseView& view) {
  const auto* indices = static_cast<const Index*>(view.indices);
  for (int64_t row = 0; row < view.n; ++row) {
    Index before = -1;
    for (int64_t at = view.starts[row]; at < view.starts[row + 1]; ++at) {
      const Index column = indices[at];
      if (column <= before || column >= view.d) refuse_index(view, row, column, before);
      before = column;
    }
  }
}

}  // namespace

void check_sparse(const SparseView& view) {
  if (view.type != DataType::kFloat32 && view.type != DataType::kFloat64) {
    throw Error(ErrorCode::kUsage, "points",
                fmt::format("sparse points are of {}; float32 or float64 are right", name_of(view.type)));
  }
  if (view.n <= 0) return;
  if (view.starts == nullptr || (view.entries > 0 && (view.values == nullptr || view.indices == nullptr))) {
    throw Error(ErrorCode::kUsage, "points", "a pointer of the sparse points is null (values, indices, starts)");
  }
  check_starts(view);
  if (view.wide_indices) return check_indices<int64_t>(view);
  check_indices<int32_t>(view);
}

}  // namespace manymeans
