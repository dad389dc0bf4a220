// Memory that the process keeps for the next fit when a fit is over. The driver takes 40 microseconds for a small
// device array and some hundred for a pinned one. A small fit needs thirty, and cudaFree() waits for every running
// kernel.
//
// Device memory comes from a driver pool that serves only this library. Every stream may use memory that a call
// returns. Returned memory must not be in use any more. After trim_device_memory() the pool keeps at most a 16th of the
// device's memory, and nothing if memory is short.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace manymeans::cuda {

/// Memory of the current device.
cudaError_t take_device_memory(void** memory, size_t bytes);
void return_device_memory(void* memory) noexcept;
/// Gives the driver back what the current device's pool has too much.
void trim_device_memory() noexcept;

/// Lets another device read and write this device's memory, what is taken later included; whether that is possible.
bool open_device_memory(int device, int to) noexcept;

struct DeviceMemory {
  size_t free = 0;  ///< with what the pool keeps
  size_t all = 0;
};
/// Queries the current device.
cudaError_t ask_device_memory(DeviceMemory* memory);

/// Memory of the host that the devices read and write.
cudaError_t take_pinned_memory(void** memory, size_t bytes);
void return_pinned_memory(void* memory) noexcept;

}  // namespace manymeans::cuda
