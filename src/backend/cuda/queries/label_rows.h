// All canonical distances of some rows, and the nearest prototype of each.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/pass_ranges.h"
#include "backend/cuda/exact/resolve.h"

#include <cuda_runtime.h>

namespace manymeans::cuda {

/// Labels every row by the float32 prototypes of `range`. If a value is not finite, the distance is infinite or `k` is
/// range.k.
void label_rows(const DevicePoints& points, const PassRange& range, SliceNearest* found, cudaStream_t stream);

}  // namespace manymeans::cuda
