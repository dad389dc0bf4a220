// For tests that need a CUDA device, and are skipped where there is none.
#pragma once

#include <cuda_runtime.h>

namespace manymeans::test {

inline bool device_present() {
  int count = 0;
  const bool present = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  cudaGetLastError();
  return present;
}

}  // namespace manymeans::test
