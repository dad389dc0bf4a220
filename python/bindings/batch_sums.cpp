// The sums of a batch's rows, cluster by cluster, for MiniBatchKMeans.
#include "arrays.h"
#include "module.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

constexpr int64_t kColumns = 16;  // a number that the compiler knows, so that it adds several columns at once

// Adds a row to sums, in binary64: the order of the rows is that of the calls, whatever the machine.
template <class T>
void add_row(const T* __restrict x, int64_t d, double weight, double* __restrict sums) {
  int64_t j = 0;
  for (; j + kColumns <= d; j += kColumns) {
    for (int64_t i = j; i < j + kColumns; ++i) sums[i] += weight * static_cast<double>(x[i]);
  }
  for (; j < d; ++j) sums[j] += weight * static_cast<double>(x[j]);
}

std::vector<uint32_t> numbers_of(const AnyArray& labels, int64_t n) {
  std::vector<uint32_t> numbers(static_cast<size_t>(n));
  const auto copy = [&](const auto* from) { std::copy_n(from, numbers.size(), numbers.data()); };
  const nb::dlpack::dtype type = labels.dtype();
  if (type == nb::dtype<uint8_t>()) {
    copy(static_cast<const uint8_t*>(labels.data()));
  } else if (type == nb::dtype<uint16_t>()) {
    copy(static_cast<const uint16_t*>(labels.data()));
  } else if (type == nb::dtype<uint32_t>()) {
    copy(static_cast<const uint32_t*>(labels.data()));
  } else {
    throw Error(ErrorCode::kInternal, "labels", "they are of a type that no prediction has");
  }
  return numbers;
}

// `weights`: None, or one for each row.
nb::object batch_sums(const AnyArray& rows, const AnyArray& labels, const nb::object& weights, int64_t k) {
  const PointsView points = points_of(rows);
  const std::span<const double> by = values_of(weights);
  const bool fits = labels.ndim() == 1 && labels.shape(0) == static_cast<size_t>(points.n);
  if (!fits || (!by.empty() && by.size() != static_cast<size_t>(points.n))) {
    throw Error(ErrorCode::kInternal, "labels", "labels and weights need to be as many as rows");
  }
  Matrix sums(k, points.d, DataType::kFloat64);
  const std::vector<uint32_t> clusters = numbers_of(labels, points.n);
  const auto add = [&](const auto* x) {
    for (int64_t i = 0; i < points.n; ++i) {
      const auto row = static_cast<size_t>(i);
      if (clusters[row] >= k) throw Error(ErrorCode::kInternal, "labels", "a label is no cluster");
      double* to = sums.values<double>().data() + clusters[row] * points.d;
      add_row(x + i * points.d, points.d, by.empty() ? 1 : by[row], to);
    }
  };
  if (points.type == DataType::kFloat64) {
    add(static_cast<const double*>(points.data));
  } else if (points.type == DataType::kFloat32) {
    add(static_cast<const float*>(points.data));
  } else {
    throw Error(ErrorCode::kInternal, "rows", "float32 or float64 is right");
  }
  return to_numpy(std::move(sums));
}

}  // namespace

void add_batch_sums(nb::module_& module) {
  module.def("batch_sums", &batch_sums, nb::arg("rows").noconvert(), nb::arg("labels").noconvert(),
             nb::arg("weights").none(), nb::arg("k"));
}

}  // namespace manymeans::python
