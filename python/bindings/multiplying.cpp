// The matrix product.
#include <manymeans/multiply.h>

#include "arrays.h"
#include "device_arrays.h"
#include "module.h"
#include "waiting.h"

#include <nanobind/stl/string.h>

#include <string>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using OutMatrix = nb::ndarray<nb::ndim<2>, nb::device::cpu>;

MatrixView matrix_view(const nb::object& array, bool bfloat16) {
  if (nb::isinstance<DeviceArray>(array)) return {nb::cast<const DeviceArray&>(array).view()};
  const auto values = nb::cast<AnyMatrix>(array, false);
  const DataType type = checked_data_type(values.dtype(), bfloat16);
  MatrixView view(aligned(values, size_of(type)), static_cast<int64_t>(values.shape(0)),
                  static_cast<int64_t>(values.shape(1)), type);
  view.row_stride = values.stride(0);
  view.column_stride = values.stride(1);
  return view;
}

ProductView product_view(const nb::object& array) {
  if (nb::isinstance<DeviceArray>(array)) {
    const PointsView view = nb::cast<const DeviceArray&>(array).view();
    return {.data = const_cast<void*>(view.data),
            .rows = view.n,
            .columns = view.d,
            .type = view.type,
            .row_stride = view.d,
            .place = view.place};
  }
  const auto values = nb::cast<OutMatrix>(array);
  return {.data = values.data(),
          .rows = static_cast<int64_t>(values.shape(0)),
          .columns = static_cast<int64_t>(values.shape(1)),
          .type = checked_data_type(values.dtype()),
          .row_stride = values.stride(0),
          .column_stride = values.stride(1)};
}

// The names of the dict are those of MultiplyOptions, and whether factors hold bfloat16. None where the product is in
// `out`.
nb::tuple product_of(const nb::object& a, const nb::object& b, const nb::object& out, const nb::dict& wanted) {
  Waiting waiting;
  MultiplyOptions options;
  options.transpose_a = value_of<bool>(wanted, "transpose_a");
  options.transpose_b = value_of<bool>(wanted, "transpose_b");
  options.threads = value_of<int>(wanted, "threads");
  options.backend = value_of<std::string>(wanted, "backend");
  options.abort = &waiting.abort();
  const MatrixView x = matrix_view(a, value_of<bool>(wanted, "a_bfloat16"));
  const MatrixView y = matrix_view(b, value_of<bool>(wanted, "b_bfloat16"));
  const double columns = static_cast<double>(options.transpose_b ? y.rows : y.columns);
  const bool brief = is_brief(static_cast<double>(x.rows) * static_cast<double>(x.columns) * columns);
  ProductCounts counts;
  Matrix product;
  if (out.is_none()) {
    waiting.run([&] { product = multiply(x, y, options, &counts); }, brief);
  } else {
    const ProductView to = product_view(out);
    waiting.run([&] { counts = multiply_into(x, y, to, options); }, brief);
  }
  const nb::object made = out.is_none() ? to_numpy(std::move(product)) : nb::none();
  return nb::make_tuple(made, counts.entries, counts.certified, counts.resolved, std::string(counts.screen));
}

}  // namespace

void add_multiplying(nb::module_& module) {
  module.def("multiply", &product_of, nb::arg("a"), nb::arg("b"), nb::arg("out").none(), nb::arg("wanted"));
}

}  // namespace manymeans::python
