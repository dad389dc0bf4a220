// Between NumPy arrays and what the library speaks of. Points and weights are not copied in this file.
#pragma once

#include <manymeans/error.h>
#include <manymeans/points.h>
#include <manymeans/result.h>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans::python {

/// Any C-contiguous array in the memory of the CPU; only read.
using AnyArray = nanobind::ndarray<nanobind::ro, nanobind::c_contig, nanobind::device::cpu>;

/// Points where they lie. `bfloat16`: the array holds bfloat16 numbers, typed uint16 for want of a NumPy type.
/// Throws Error(kBadData) for other types or dimensions.
PointsView points_of(const AnyArray& array, bool bfloat16 = false);

/// The same for whatever the package passes: such an array, a DeviceArray or a SparseArray. The object must outlive the
/// view.
PointsView points_of(nanobind::handle points, bool bfloat16);

/// Throws Error(kBadData) unless there are two.
void check_dimensions(size_t count);

/// Throws Error(kBadData) where the library has no such type.
DataType checked_data_type(nanobind::dlpack::dtype type, bool bfloat16 = false);

/// Throws Error(kInternal) where values of this size are not aligned: the package copies such arrays before.
void check_aligned(const void* values, size_t bytes);

/// The address of an array of values of this size, checked.
template <class Array>
auto aligned(const Array& array, size_t bytes) {
  if (array.size() > 0) check_aligned(array.data(), bytes);
  return array.data();
}

/// N float64 values where they lie; none for None.
std::span<const double> values_of(const nanobind::object& array);

/// A NumPy array over memory that `owner` keeps; read-only if asked for.
nanobind::object numpy_view(const void* data, std::vector<size_t> shape, nanobind::dlpack::dtype type,
                            std::shared_ptr<const void> owner, bool read_only = false);
nanobind::object numpy_view(const PointsView& points, std::shared_ptr<const void> owner, bool read_only = false);

nanobind::object to_numpy(Matrix matrix);
nanobind::object to_numpy(Labels labels);  ///< uint8, uint16 or uint32

template <class T>
nanobind::object to_numpy(std::vector<T> values) {
  auto kept = std::make_shared<std::vector<T>>(std::move(values));
  return numpy_view(kept->data(), {kept->size()}, nanobind::dtype<T>(), kept);
}

/// What a dict has under a name. Throws Error(kUsage) where it is no T.
template <class T>
T value_of(const nanobind::dict& values, const char* name) {
  try {
    return nanobind::cast<T>(values[name]);
  } catch (const nanobind::cast_error&) {
    const auto shown = nanobind::cast<std::string>(nanobind::repr(values[name]));
    throw Error(ErrorCode::kUsage, name, "is " + shown + ", which is of a wrong type or out of range");
  }
}

/// Least and greatest values, and rows of the fit; None where they are not known. And the way back.
nanobind::object to_tuple(ColumnRanges ranges);
ColumnRanges ranges_in(const nanobind::object& given);

/// A matrix with the values of an array of float32 or float64.
Matrix matrix_of(const AnyArray& array);

/// The values of a one-dimensional array of exactly this type.
template <class T>
std::vector<T> vector_of(nanobind::handle array) {
  const auto values =
      nanobind::cast<nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>>(array,
                                                                                                               false);
  std::vector<T> copy(values.shape(0));
  if (!copy.empty()) std::memcpy(copy.data(), values.data(), copy.size() * sizeof(T));
  return copy;
}

}  // namespace manymeans::python
