// All canonical distances of some rows, and the nearest prototype of each.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/pass_ranges.h"
#include "backend/cuda/exact/resolve.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

/// What label_rows() writes of every row: `found`, or else `labels`. If a value is not finite, the distance is infinite
/// or `k` is range.k; then it sets *refused, which may lie in pinned memory of the host.
struct LabelledRows {
  SliceNearest* found = nullptr;
  int32_t* labels = nullptr;
  uint32_t* refused = nullptr;
};

/// Labels every row by the float32 prototypes of `range`. Asynchronous.
void label_rows(const DevicePoints& points, const PassRange& range, const LabelledRows& out, cudaStream_t stream);

}  // namespace manymeans::cuda
