// One value of the points, whatever their type.
#pragma once

#include "backend/cuda/device/canonical.cuh"
#include "backend/cuda/device/device_points.h"

#include <type_traits>

namespace manymeans::cuda {

/// Exact.
__host__ __device__ __forceinline__ double load_double(const DevicePoints& points, int64_t at) {
  switch (points.type) {
    case DataType::kFloat32: return widened(static_cast<const float*>(points.data)[at]);
    case DataType::kFloat64: return static_cast<const double*>(points.data)[at];
    case DataType::kFloat16: return widened(static_cast<const __half*>(points.data)[at]);
    case DataType::kBFloat16: return widened(static_cast<const __nv_bfloat16*>(points.data)[at]);
    case DataType::kUInt8: return widened(static_cast<const uint8_t*>(points.data)[at]);
    case DataType::kInt8: return widened(static_cast<const int8_t*>(points.data)[at]);
  }
  return 0;
}

/// Calls body with the points' first value, whatever their type.
template <class Body>
__device__ __forceinline__ void with_values(const DevicePoints& points, const Body& body) {
  switch (points.type) {
    case DataType::kFloat32: return body(static_cast<const float*>(points.data));
    case DataType::kFloat64: return body(static_cast<const double*>(points.data));
    case DataType::kFloat16: return body(static_cast<const __half*>(points.data));
    case DataType::kBFloat16: return body(static_cast<const __nv_bfloat16*>(points.data));
    case DataType::kUInt8: return body(static_cast<const uint8_t*>(points.data));
    case DataType::kInt8: return body(static_cast<const int8_t*>(points.data));
  }
}

/// The type argument of a kernel that reads points of every type. Such kernels are seldom used.
struct AnyType {};

/// Value `at` of points of type T; of AnyType, widened.
template <class T>
__device__ __forceinline__ auto loaded(const DevicePoints& points, int64_t at) {
  if constexpr (std::is_same_v<T, AnyType>) {
    return load_double(points, at);
  } else {
    return static_cast<const T*>(points.data)[at];
  }
}

/// Exact for every type but float64.
__device__ __forceinline__ float load_float(const DevicePoints& points, int64_t at) {
  switch (points.type) {
    case DataType::kFloat32: return static_cast<const float*>(points.data)[at];
    case DataType::kFloat64: return __double2float_rn(static_cast<const double*>(points.data)[at]);
    case DataType::kFloat16: return __half2float(static_cast<const __half*>(points.data)[at]);
    case DataType::kBFloat16: return __bfloat162float(static_cast<const __nv_bfloat16*>(points.data)[at]);
    case DataType::kUInt8: return static_cast<float>(static_cast<const uint8_t*>(points.data)[at]);
    case DataType::kInt8: return static_cast<float>(static_cast<const int8_t*>(points.data)[at]);
  }
  return 0;
}

}  // namespace manymeans::cuda
