// A device that nobody has to have: for plans.
#pragma once

#include "backend/cuda/pass/cuda_plan.h"

namespace manymeans::cuda {

inline CudaDevice hopper() {
  CudaDevice device;
  device.name = "test";
  device.major = 9;
  device.multiprocessors = 132;
  device.memory_free = int64_t{1} << 34;
  device.shared_bytes = 227 << 10;
  device.matrix_unit = MatrixUnit::kHopper;
  return device;
}

}  // namespace manymeans::cuda
