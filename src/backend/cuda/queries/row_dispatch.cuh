// Kernels over rows in the type that the points came in.
#pragma once

#include "backend/cuda/device/canonical.cuh"
#include "backend/cuda/device/device_points.h"

#include <cstdint>

namespace manymeans::cuda {

/// From this number of columns on, eight threads share a row. In shorter rows a thread reads whole sectors anyway.
constexpr int64_t kColumnsForEight = 9;

/// Calls body with a storage type and whether eight threads share a row.
template <class Body>
void dispatch_rows(const DevicePoints& points, Body&& body) {
  dispatch_type(points.type, [&](auto type) {
    using T = decltype(type);
    if (points.d >= kColumnsForEight) {
      body.template operator()<T, true>();
    } else {
      body.template operator()<T, false>();
    }
  });
}

}  // namespace manymeans::cuda
