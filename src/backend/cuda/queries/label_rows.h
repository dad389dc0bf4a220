// All canonical distances of some rows, and the nearest prototype of each.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/pass_ranges.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

struct LabelledRow {
  double d2;
  int64_t label;
};

/// Labels every row by the float32 prototypes of `range`. If a value is not finite, d2 is infinite or `label` is
/// range.k.
void label_rows(const DevicePoints& points, const PassRange& range, LabelledRow* found, cudaStream_t stream);

}  // namespace manymeans::cuda
