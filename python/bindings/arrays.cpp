#include "arrays.h"

#include <manymeans/error.h>

#include "device_arrays.h"
#include "sparse_arrays.h"

#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

std::optional<DataType> data_type_of(nb::dlpack::dtype type, bool bfloat16) {
  using Code = nb::dlpack::dtype_code;
  const auto is = [&](Code code, int bits) {
    return type.code == static_cast<uint8_t>(code) && type.bits == bits && type.lanes == 1;
  };
  if (bfloat16) return is(Code::UInt, 16) ? std::optional(DataType::kBFloat16) : std::nullopt;
  if (is(Code::Float, 32)) return DataType::kFloat32;
  if (is(Code::Float, 64)) return DataType::kFloat64;
  if (is(Code::Float, 16)) return DataType::kFloat16;
  if (is(Code::Bfloat, 16)) return DataType::kBFloat16;
  if (is(Code::UInt, 8)) return DataType::kUInt8;
  if (is(Code::Int, 8)) return DataType::kInt8;
  return std::nullopt;
}

nb::dlpack::dtype numpy_type_of(DataType type) {
  using Code = nb::dlpack::dtype_code;
  const auto make = [](Code code, uint8_t bits) { return nb::dlpack::dtype{static_cast<uint8_t>(code), bits, 1}; };
  switch (type) {
    case DataType::kFloat32: return make(Code::Float, 32);
    case DataType::kFloat64: return make(Code::Float, 64);
    case DataType::kFloat16: return make(Code::Float, 16);
    case DataType::kBFloat16: return make(Code::UInt, 16);
    case DataType::kUInt8: return make(Code::UInt, 8);
    case DataType::kInt8: return make(Code::Int, 8);
  }
  return {};
}

}  // namespace

DataType checked_data_type(nb::dlpack::dtype type, bool bfloat16) {
  const std::optional<DataType> known = data_type_of(type, bfloat16);
  if (known) return *known;
  throw Error(ErrorCode::kBadData, "points",
              "they are of another type; float32, float64, float16, bfloat16, uint8 or int8 are right");
}

void check_dimensions(size_t count) {
  if (count == 2) return;
  throw Error(ErrorCode::kBadData, "points",
              "the array has " + std::to_string(count) + " dimensions; rows and columns are right");
}

void check_aligned(const void* values, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(values) % bytes == 0) return;
  throw Error(ErrorCode::kInternal, "points", "the values are not aligned, and nothing has copied them");
}

PointsView points_of(const AnyArray& array, bool bfloat16) {
  const DataType type = checked_data_type(array.dtype(), bfloat16);
  check_dimensions(array.ndim());
  return {array.data(), static_cast<int64_t>(array.shape(0)), static_cast<int64_t>(array.shape(1)), type};
}

PointsView points_of(nb::handle points, bool bfloat16) {
  if (nb::isinstance<DeviceArray>(points)) return nb::cast<const DeviceArray&>(points).view();
  if (nb::isinstance<SparseArray>(points)) return nb::cast<const SparseArray&>(points).view();
  AnyArray array;
  if (!nb::try_cast(points, array, false)) throw nb::type_error("points: a C-contiguous array is needed");
  const PointsView view = points_of(array, bfloat16);
  aligned(array, size_of(view.type));
  return view;
}

std::span<const double> values_of(const nb::object& array) {
  if (array.is_none()) return {};
  const auto values = nb::cast<nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(array, false);
  return {aligned(values, sizeof(double)), values.shape(0)};
}

nb::object numpy_view(const void* data, std::vector<size_t> shape, nb::dlpack::dtype type,
                      std::shared_ptr<const void> owner, bool read_only) {
  auto* kept = new std::shared_ptr<const void>(std::move(owner));
  nb::capsule capsule(kept, [](void* pointer) noexcept { delete static_cast<std::shared_ptr<const void>*>(pointer); });
  static const char kNothing = 0;  // an empty vector has no address
  if (data == nullptr) data = &kNothing;
  if (read_only) {
    return nb::ndarray<nb::numpy, nb::ro>(data, shape.size(), shape.data(), capsule, nullptr, type).cast();
  }
  return nb::ndarray<nb::numpy>(const_cast<void*>(data), shape.size(), shape.data(), capsule, nullptr, type).cast();
}

nb::object numpy_view(const PointsView& points, std::shared_ptr<const void> owner, bool read_only) {
  return numpy_view(points.data, {static_cast<size_t>(points.n), static_cast<size_t>(points.d)},
                    numpy_type_of(points.type), std::move(owner), read_only);
}

nb::object to_numpy(Matrix matrix) {
  auto kept = std::make_shared<Matrix>(std::move(matrix));
  return numpy_view(kept->view(), kept);
}

nb::object to_numpy(Labels labels) {
  auto kept = std::make_shared<Labels>(std::move(labels));
  const nb::dlpack::dtype type{static_cast<uint8_t>(nb::dlpack::dtype_code::UInt),
                               static_cast<uint8_t>(8 * kept->width()), 1};
  return numpy_view(kept->bytes().data(), {static_cast<size_t>(kept->size())}, type, kept);
}

nb::object to_tuple(ColumnRanges ranges) {
  if (ranges.minimum.empty()) return nb::none();
  return nb::make_tuple(to_numpy(std::move(ranges.minimum)), to_numpy(std::move(ranges.maximum)), ranges.rows);
}

ColumnRanges ranges_in(const nb::object& given) {
  if (given.is_none()) return {};
  return {vector_of<double>(given[0]), vector_of<double>(given[1]), nb::cast<double>(given[2])};
}

Matrix matrix_of(const AnyArray& array) {
  const PointsView view = points_of(array);
  Matrix matrix(view.n, view.d, view.type);
  if (view.bytes() > 0) std::memcpy(matrix.values<char>().data(), view.data, view.bytes());
  return matrix;
}

}  // namespace manymeans::python
