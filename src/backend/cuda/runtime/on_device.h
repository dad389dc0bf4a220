// The calling thread's device, for the time of a call that comes from outside the backend.
#pragma once

#include "backend/cuda/runtime/device_memory.h"

namespace manymeans::cuda {

/// Restores the thread's current device afterwards.
class CurrentDevice {
 public:
  CurrentDevice() : known_(cudaGetDevice(&before_) == cudaSuccess) {}
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  ~CurrentDevice() {
    int now = before_;
    if (known_ && cudaGetDevice(&now) == cudaSuccess && now != before_) cudaSetDevice(before_);
  }

 private:
  int before_ = 0;
  bool known_;
};

/// Makes `device` the thread's device, until it goes.
class OnDevice {
 public:
  explicit OnDevice(int device) { check(cudaSetDevice(device), "choosing the device of the points"); }

 private:
  CurrentDevice back_;
};

}  // namespace manymeans::cuda
