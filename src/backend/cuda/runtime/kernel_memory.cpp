#include "backend/cuda/runtime/kernel_memory.h"

#include "backend/cuda/runtime/device_memory.h"

namespace manymeans::cuda {

void allow_all_shared_memory(const void* kernel, const char* doing) {
  int device = 0;
  int most = 0;
  cudaFuncAttributes compiled;
  check(cudaGetDevice(&device), doing);
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), doing);
  check(cudaFuncGetAttributes(&compiled, kernel), doing);
  const int dynamic = most - static_cast<int>(compiled.sharedSizeBytes);  // what its own variables leave
  if (compiled.maxDynamicSharedSizeBytes == dynamic) return;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic), doing);
}

int multiprocessors_here() {
  int device = 0;
  int count = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "asking for its multiprocessors");
  return count;
}

}  // namespace manymeans::cuda
