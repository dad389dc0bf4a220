#include "backend/cuda/runtime/device_memory.h"

#include <manymeans/error.h>

#include "backend/cuda/runtime/kept_memory.h"

#include <string>

namespace manymeans::cuda {
namespace {

bool device_is_missing(cudaError_t status) {
  return status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver || status == cudaErrorInvalidDevice ||
         status == cudaErrorDevicesUnavailable || status == cudaErrorNoKernelImageForDevice ||
         status == cudaErrorDeviceUninitialized || status == cudaErrorSystemDriverMismatch ||
         status == cudaErrorCompatNotSupportedOnDevice || status == cudaErrorECCUncorrectable ||
         status == cudaErrorNvlinkUncorrectable;
}

// The runtime's out-of-memory error says nothing; this says how much was asked for and how much there is.
[[noreturn]] void throw_out_of_memory(size_t bytes, const char* what, const char* where, const std::string& room) {
  throw Error(ErrorCode::kUnavailable, where,
              std::string(what) + " needs " + std::to_string(bytes) + " bytes, " + room +
                  "; use fewer points, columns or models at a time, or --backend cpu");
}

}  // namespace

void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // the next call shall not report it again
  const bool unavailable = status == cudaErrorMemoryAllocation || device_is_missing(status);
  throw Error(unavailable ? ErrorCode::kUnavailable : ErrorCode::kInternal, "cuda",
              std::string(doing) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

namespace detail {

void* allocate_device(size_t bytes, const char* what) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  const cudaError_t status = take_device_memory(&memory, bytes);
  if (status != cudaErrorMemoryAllocation) {
    check(status, what);
    return memory;
  }
  cudaGetLastError();
  DeviceMemory there;
  check(ask_device_memory(&there), "asking for the device's free memory");
  throw_out_of_memory(bytes, what, "cuda device memory",
                      "the device has " + std::to_string(there.free) + " of " + std::to_string(there.all) + " free");
}

void* allocate_pinned(size_t bytes, const char* what) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  const cudaError_t status = take_pinned_memory(&memory, bytes);
  if (status != cudaErrorMemoryAllocation) {
    check(status, what);
    return memory;
  }
  cudaGetLastError();
  throw_out_of_memory(bytes, what, "cuda pinned memory", "which the host cannot lock");
}

// Destructors cannot throw. An error here is one of earlier work, which the last synchronisation has reported. Memory
// of work that does not end is left to the end of the process.
void free_device(void* memory) noexcept {
  if (memory != nullptr && device::devices_answer_now()) return_device_memory(memory);
}

void free_pinned(void* memory) noexcept {
  if (memory != nullptr && device::devices_answer_now()) return_pinned_memory(memory);
}

}  // namespace detail

int64_t free_device_memory() {
  DeviceMemory there;
  check(ask_device_memory(&there), "asking for the device's free memory");
  return static_cast<int64_t>(there.free);
}

}  // namespace manymeans::cuda
