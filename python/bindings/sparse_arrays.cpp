#include "sparse_arrays.h"

#include <manymeans/error.h>

#include "arrays.h"

#include <algorithm>
#include <string>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::kBadData, "points", "the sparse matrix " + what);
}

// How wide the integers of an array are; 0: these are none that SciPy uses.
int index_bytes(const nb::dlpack::dtype& type) {
  const bool is_integer = type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Int) && type.lanes == 1;
  return is_integer && (type.bits == 32 || type.bits == 64) ? type.bits / 8 : 0;
}

}  // namespace

SparseArray::SparseArray(const nb::object& matrix) : matrix_(matrix) {
  Array starts;
  if (!nb::try_cast(matrix.attr("data"), values_, false) || !nb::try_cast(matrix.attr("indices"), indices_, false) ||
      !nb::try_cast(matrix.attr("indptr"), starts, false)) {
    refuse("has parts that are no contiguous arrays of one dimension (data, indices, indptr)");
  }
  const nb::tuple shape = nb::cast<nb::tuple>(matrix.attr("shape"));
  view_.n = nb::cast<int64_t>(shape[0]);
  view_.d = nb::cast<int64_t>(shape[1]);
  view_.type = checked_data_type(values_.dtype());
  const int of_indices = index_bytes(indices_.dtype()), of_starts = index_bytes(starts.dtype());
  if (of_indices == 0 || of_starts == 0) refuse("has indices that are neither int32 nor int64");
  if (starts.shape(0) != static_cast<size_t>(view_.n) + 1) {
    refuse("has " + std::to_string(view_.n) + " rows and an indptr of " + std::to_string(starts.shape(0)) +
           " numbers; one more than rows is right");
  }
  starts_.resize(starts.shape(0));
  if (of_starts == 8) {
    std::copy_n(static_cast<const int64_t*>(starts.data()), starts_.size(), starts_.data());
  } else {
    std::copy_n(static_cast<const int32_t*>(starts.data()), starts_.size(), starts_.data());
  }
  view_.values = values_.data();
  view_.indices = indices_.data();
  view_.starts = starts_.data();
  view_.entries = static_cast<int64_t>(std::min(values_.shape(0), indices_.shape(0)));
  view_.wide_indices = of_indices == 8;
}

void add_sparse_arrays(nb::module_& module) {
  nb::class_<SparseArray>(module, "SparseArray")
      .def(nb::init<const nb::object&>(), nb::arg("matrix"))
      .def_prop_ro("shape", [](const SparseArray& array) { return array.matrix().attr("shape"); })
      .def_prop_ro("dtype", [](const SparseArray& array) { return array.matrix().attr("dtype"); })
      .def_prop_ro("ndim", [](const SparseArray&) { return 2; })
      .def_prop_ro("matrix", &SparseArray::matrix);
}

}  // namespace manymeans::python
