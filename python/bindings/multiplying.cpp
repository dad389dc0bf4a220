// The matrix product.
#include <manymeans/multiply.h>

#include "arrays.h"
#include "module.h"
#include "waiting.h"

#include <nanobind/stl/string.h>

#include <string>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using OutMatrix = nb::ndarray<nb::ndim<2>, nb::device::cpu>;

MatrixView matrix_view(const AnyMatrix& array, bool bfloat16) {
  MatrixView view(array.data(), static_cast<int64_t>(array.shape(0)), static_cast<int64_t>(array.shape(1)),
                  checked_data_type(array.dtype(), bfloat16));
  view.row_stride = array.stride(0);
  view.column_stride = array.stride(1);
  return view;
}

ProductView product_view(const OutMatrix& array) {
  return {.data = array.data(),
          .rows = static_cast<int64_t>(array.shape(0)),
          .columns = static_cast<int64_t>(array.shape(1)),
          .type = checked_data_type(array.dtype()),
          .row_stride = array.stride(0),
          .column_stride = array.stride(1)};
}

// The names of the dict are those of MultiplyOptions, and whether factors hold bfloat16. None where the product is in
// `out`.
nb::tuple product_of(const AnyMatrix& a, const AnyMatrix& b, const nb::object& out, const nb::dict& wanted) {
  Waiting waiting;
  MultiplyOptions options;
  options.transpose_a = value_of<bool>(wanted, "transpose_a");
  options.transpose_b = value_of<bool>(wanted, "transpose_b");
  options.threads = value_of<int>(wanted, "threads");
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
    const ProductView to = product_view(nb::cast<OutMatrix>(out));
    waiting.run([&] { counts = multiply_into(x, y, to, options); }, brief);
  }
  const nb::object made = out.is_none() ? to_numpy(std::move(product)) : nb::none();
  return nb::make_tuple(made, counts.entries, counts.certified, counts.resolved);
}

}  // namespace

void add_multiplying(nb::module_& module) {
  module.def("multiply", &product_of, nb::arg("a").noconvert(), nb::arg("b").noconvert(), nb::arg("out").none(),
             nb::arg("wanted"));
}

}  // namespace manymeans::python
