// Memory that the process keeps when a fit is over, for the next one: the driver takes 40 microseconds for a small
// array of the device and some hundred for a pinned one, a small fit needs thirty, and cudaFree() waits for every
// kernel that runs.
//
// A device's memory comes from a pool of the driver's, which serves nobody else. What a call returns may be used in
// every stream, and what is given back must not be in use any more. What the pool keeps is a 64th of the device's
// memory at most once trim_device_memory() was called, and nothing where memory is short.
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
/// Of the current device.
cudaError_t ask_device_memory(DeviceMemory* memory);

/// Memory of the host that the devices read and write.
cudaError_t take_pinned_memory(void** memory, size_t bytes);
void return_pinned_memory(void* memory) noexcept;

}  // namespace manymeans::cuda
