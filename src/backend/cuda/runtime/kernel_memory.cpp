#include "backend/cuda/runtime/kernel_memory.h"

#include "backend/cuda/runtime/device_memory.h"

#include <map>
#include <mutex>
#include <utility>

namespace manymeans::cuda {
namespace {

// By device and kernel; until the process ends, as kernels are there.
struct KnownKernels {
  std::mutex mutex;
  std::map<std::pair<int, const void*>, CompiledKernel> kernels;
};

KnownKernels& known_kernels() {
  static auto* const kept = new KnownKernels;
  return *kept;
}

}  // namespace

void allow_all_shared_memory(const void* kernel, const char* doing) {
  int device = 0;
  int most = 0;
  check(cudaGetDevice(&device), doing);
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), doing);
  const int dynamic = most - static_cast<int>(compiled_kernel(kernel, doing).shared_bytes);
  // A query whether it is allowed already takes longer, and a reset of the device revokes it.
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic), doing);
}

CompiledKernel compiled_kernel(const void* kernel, const char* doing) {
  int device = 0;
  check(cudaGetDevice(&device), doing);
  KnownKernels& all = known_kernels();
  const std::lock_guard lock(all.mutex);
  const auto found = all.kernels.find({device, kernel});
  if (found != all.kernels.end()) return found->second;
  cudaFuncAttributes compiled;
  check(cudaFuncGetAttributes(&compiled, kernel), doing);
  return all.kernels[{device, kernel}] = {compiled.ptxVersion, compiled.sharedSizeBytes};
}

int multiprocessors_here() {
  int device = 0;
  int count = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "asking for its multiprocessors");
  return count;
}

}  // namespace manymeans::cuda
