// Lists CUDA devices, and says of each whether this build holds machine code for it.
#include "backend/cuda/runtime/on_device.h"
#include "backend/devices.h"

#include <cuda_runtime.h>

#include <string>
#include <vector>

namespace manymeans {
namespace {

// Never launched: describe() queries whether this build could launch it.
__global__ void probe() {}

std::string describe(int device) {
  const std::string where = "cuda:" + std::to_string(device) + " ";
  cuda::CurrentDevice back;  // the caller's, which this leaves as it was
  cudaDeviceProp properties;
  cudaError_t status = cudaGetDeviceProperties(&properties, device);
  if (status == cudaSuccess) status = cudaSetDevice(device);
  if (status != cudaSuccess) return where + "cannot be used: " + cudaGetErrorString(status);

  const std::string text = where + properties.name + ", " + std::to_string(properties.totalGlobalMem >> 20) +
                           " MiB, compute capability " + std::to_string(properties.major) + "." +
                           std::to_string(properties.minor);
  cudaFuncAttributes attributes;
  status = cudaFuncGetAttributes(&attributes, probe);
  if (status == cudaSuccess) return text;
  cudaGetLastError();  // clears the error, so that the next call does not report it
  return text + "; this build cannot run on it: " + cudaGetErrorString(status);
}

}  // namespace

std::vector<std::string> cuda_devices() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();
    const char* why = status == cudaSuccess ? "the driver knows none" : cudaGetErrorString(status);
    return {std::string("cuda: no device: ") + why};
  }
  std::vector<std::string> lines;
  for (int device = 0; device < count; ++device) lines.push_back(describe(device));
  return lines;
}

int cuda_device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();  // clears the error: "none" says enough
  return 0;
}

}  // namespace manymeans
