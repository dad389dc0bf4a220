#include "device_arrays.h"

#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "arrays.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

// How the array interface spells types; all are the machine's byte order.
DataType type_of_interface(const std::string& name) {
  constexpr std::array<std::pair<const char*, DataType>, 5> kNames = {{{"<f4", DataType::kFloat32},
                                                                       {"<f8", DataType::kFloat64},
                                                                       {"<f2", DataType::kFloat16},
                                                                       {"|u1", DataType::kUInt8},
                                                                       {"|i1", DataType::kInt8}}};
  for (const auto& [known, type] : kNames) {
    if (name == known) return type;
  }
  throw Error(ErrorCode::kBadData, "points",
              "they are of the type " + name + "; float32, float64, float16, uint8 or int8 are right");
}

bool is_contiguous(const nb::dict& interface, const std::vector<int64_t>& shape, DataType type) {
  if (!interface.contains("strides") || interface["strides"].is_none()) return true;
  const nb::tuple strides = nb::cast<nb::tuple>(interface["strides"]);
  if (nb::len(strides) != shape.size()) return false;
  auto expected = static_cast<int64_t>(size_of(type));
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] > 1 && nb::cast<int64_t>(strides[i]) != expected) return false;
    expected *= shape[i];
  }
  return true;
}

}  // namespace

DeviceArray DeviceArray::from_capsule(const nb::object& capsule) {
  DeviceArray result;
  if (!nb::try_cast(capsule, result.array_, false)) {
    throw Error(ErrorCode::kBadData, "points", "this is no contiguous array in the memory of a CUDA device");
  }
  result.data_ = result.array_.data();
  for (size_t i = 0; i < result.array_.ndim(); ++i) {
    result.shape_.push_back(static_cast<int64_t>(result.array_.shape(i)));
  }
  result.type_ = checked_data_type(result.array_.dtype());
  result.place_ = {"cuda", result.array_.device_id()};
  return result;
}

DeviceArray DeviceArray::from_address(const nb::object& owner, uintptr_t address, std::vector<int64_t> shape,
                                      const std::string& type, const std::pair<int, uintptr_t>& place) {
  const std::optional<DataType> known = data_type_from_name(type);
  if (!known) throw Error(ErrorCode::kBadData, "points", "they are of the type " + type + ", which cannot be read");
  DeviceArray result;
  result.owner_ = owner;
  result.data_ = reinterpret_cast<const void*>(address);
  result.shape_ = std::move(shape);
  result.type_ = *known;
  result.place_ = {"cuda", place.first, reinterpret_cast<void*>(place.second)};
  return result;
}

DeviceArray DeviceArray::from_interface(const nb::object& owner) {
  const nb::dict interface = nb::cast<nb::dict>(owner.attr("__cuda_array_interface__"));
  DeviceArray result;
  result.owner_ = owner;
  for (const nb::handle size : nb::cast<nb::tuple>(interface["shape"])) {
    result.shape_.push_back(nb::cast<int64_t>(size));
  }
  const auto address = nb::cast<nb::tuple>(interface["data"]);
  if (nb::len(address) != 2 || std::ranges::any_of(result.shape_, [](int64_t size) { return size < 0; })) {
    throw Error(ErrorCode::kBadData, "points", "their __cuda_array_interface__ has a negative size, or no address");
  }
  result.type_ = type_of_interface(nb::cast<std::string>(interface["typestr"]));
  if (!is_contiguous(interface, result.shape_, result.type_)) {
    throw Error(ErrorCode::kBadData, "points", "the array on the device has strides; give a contiguous copy of it");
  }
  result.data_ = reinterpret_cast<const void*>(nb::cast<uintptr_t>(address[0]));
  result.place_ = place_of(result.data_);
  if (result.place_.on_host()) {
    throw Error(ErrorCode::kBadData, "points", "they do not lie in the memory of a CUDA device that can be used here");
  }
  if (interface.contains("mask") && !interface["mask"].is_none()) {
    throw Error(ErrorCode::kBadData, "points", "some values are masked; fill or remove such rows first");
  }
  if (interface.contains("stream") && !interface["stream"].is_none()) {
    result.place_.queue = reinterpret_cast<void*>(nb::cast<uintptr_t>(interface["stream"]));
  }
  return result;
}

PointsView DeviceArray::view() const {
  check_dimensions(shape_.size());
  PointsView view(data_, shape_[0], shape_[1], type_);
  view.place = place_;
  return view;
}

nb::tuple DeviceArray::shape() const {
  nb::list sizes;
  for (const int64_t size : shape_) sizes.append(size);
  return nb::tuple(sizes);
}

nb::object DeviceArray::dtype() const {
  const std::string name = bfloat16() ? "uint16" : std::string(name_of(type_));
  return nb::module_::import_("numpy").attr("dtype")(name);
}

void add_device_arrays(nb::module_& module) {
  nb::class_<DeviceArray>(module, "DeviceArray")
      .def_static("from_capsule", &DeviceArray::from_capsule, nb::arg("capsule"))
      .def_static("from_address", &DeviceArray::from_address, nb::arg("owner"), nb::arg("address"), nb::arg("shape"),
                  nb::arg("dtype"), nb::arg("place"))
      .def_static("from_interface", &DeviceArray::from_interface, nb::arg("owner"))
      .def_prop_ro("shape", &DeviceArray::shape)
      .def_prop_ro("dtype", &DeviceArray::dtype)
      .def_prop_ro("ndim", [](const DeviceArray& array) { return nb::len(array.shape()); })
      .def_prop_ro("bfloat16", &DeviceArray::bfloat16);
}

}  // namespace manymeans::python
