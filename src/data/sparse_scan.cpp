#include "data/sparse_scan.h"

#include "core/sparse_rows.h"

#include <cmath>
#include <limits>

namespace manymeans {
namespace {

// Calls use(row, column, value) for every value that is there, until it returns false.
template <class Use>
void for_each_entry(const SparseView& view, Use&& use) {
  as_sparse_types(view, [&]<class T, class Index>(T, Index) {
    for (int64_t row = 0; row < view.n; ++row) {
      const SparseRow<T, Index> x = sparse_row<T, Index>(view, row);
      for (int64_t i = 0; i < x.count; ++i) {
        if (!use(row, static_cast<int64_t>(x.columns[i]), static_cast<double>(x.values[i]))) return;
      }
    }
  });
}

}  // namespace

DeviceScan scan_sparse_columns(const SparseView& view, std::span<const double> weights) {
  DeviceScan scan{ColumnScan(view.d)};
  std::vector<int64_t> entries(static_cast<size_t>(view.d));  // of each column
  for_each_entry(view, [&](int64_t row, int64_t column, double value) {
    if (!std::isfinite(value)) {
      scan.bad = row * view.d + column;
      return false;
    }
    const double term = weights.empty() ? value : weights[static_cast<size_t>(row)] * value;
    scan.columns.take(static_cast<size_t>(column), value, value, std::fabs(term), value_of_lowest_bit(term));
    ++entries[static_cast<size_t>(column)];
    return true;
  });
  for (size_t j = 0; j < entries.size(); ++j) {
    if (entries[j] < view.n) scan.columns.take(j, 0, 0, 0, value_of_lowest_bit(0));
  }
  return scan;
}

std::vector<MomentSums> sum_sparse_moments(const SparseView& view, std::span<const MomentFormats> formats) {
  std::vector<MomentSums> sums(formats.size());
  std::vector<int64_t> entries(formats.size());
  const std::vector<MomentAdder> adders(formats.begin(), formats.end());
  for_each_entry(view, [&](int64_t, int64_t column, double value) {
    const auto j = static_cast<size_t>(column);
    adders[j].add(value, sums[j]);
    ++entries[j];
    return true;
  });
  for (size_t j = 0; j < sums.size(); ++j) {
    MomentSums zero;
    adders[j].add(0, zero);
    for (int g = 0; g < kDistanceLimbs; ++g) {  // an integer, so that a product is the sum
      sums[j].y[g] += (view.n - entries[j]) * zero.y[g];
      sums[j].yy[g] += (view.n - entries[j]) * zero.yy[g];
    }
  }
  return sums;
}

}  // namespace manymeans
