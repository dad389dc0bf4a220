// Arrays in the memory of a CUDA device, as their owners (torch, CuPy, numba, ...) hand them over: read in place.
#pragma once

#include <manymeans/points.h>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace manymeans::python {

/// Keeps the owner's object, or its DLPack capsule, alive. Python sees a shape and NumPy's name of the type.
class DeviceArray {
 public:
  /// From what __dlpack__(stream=1) of the owner returned.
  static DeviceArray from_capsule(const nanobind::object& capsule);
  /// From what its owner says of an array without strides: `place` is the number of its device, and the stream whose
  /// work is waited for.
  static DeviceArray from_address(const nanobind::object& owner, uintptr_t address, std::vector<int64_t> shape,
                                  const std::string& type, const std::pair<int, uintptr_t>& place);
  /// From an object with a __cuda_array_interface__ (version 2 or 3).
  static DeviceArray from_interface(const nanobind::object& owner);

  /// Throws Error(kBadData) unless it has two dimensions.
  PointsView view() const;
  nanobind::tuple shape() const;
  nanobind::object dtype() const;
  bool bfloat16() const { return type_ == DataType::kBFloat16; }

 private:
  nanobind::object owner_;
  nanobind::ndarray<nanobind::ro, nanobind::c_contig, nanobind::device::cuda> array_;
  const void* data_ = nullptr;
  std::vector<int64_t> shape_;
  DataType type_ = DataType::kFloat32;
  MemoryPlace place_;
};

void add_device_arrays(nanobind::module_& module);

}  // namespace manymeans::python
