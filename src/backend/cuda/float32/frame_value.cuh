// A value of the points in the screen's frame: centred, scaled, rounded to float32.
#pragma once

#include "backend/cuda/device/point_value.cuh"
#include "backend/cuda/float32/float_kernels.h"

namespace manymeans::cuda {

/// fl(y), y = 2^exponent (x_j - centre_j), for value `at` = row * d + j of the points. Off by at most u |y| and, where
/// something underflows, 2^-148 more.
__device__ inline float frame_value(const DevicePoints& points, const DeviceFrame& frame, int64_t at, int j) {
  if (frame.in_float) {
    return __fsub_rn(__fmul_rn(load_float(points, at), frame.float_scale), frame.scaled_centre[j]);
  }
  return __double2float_rn(__dmul_rn(__dsub_rn(load_double(points, at), frame.centre[j]), frame.scale));
}

}  // namespace manymeans::cuda
