// The devices that the ICD loader knows: what they are called, and what they can do.
#pragma once

#include "backend/opencl/runtime/opencl_api.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans::opencl {

struct DeviceFacts {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  int index = 0;  ///< in the order of find_devices()
  std::string name, version, driver, platform_name, platform_version;
  bool processor = false;  ///< it computes on the host's processors, in the host's memory
  int compute_units = 1;
  int float_lanes = 1;         ///< of a register
  int64_t global_memory = 0;   ///< bytes
  int64_t largest_buffer = 0;  ///< bytes of one allocation
  int64_t local_memory = 0;    ///< bytes of a work-group
  int64_t largest_group = 1;   ///< work-items
  bool binary64 = false;       ///< with everything that the contract asks of it, by the device's own words
  bool atomics64 = false;      ///< cl_khr_int64_base_atomics
  bool compiler = true;        ///< it builds programs from source
  bool little_endian = true;
  /// Kernels of two queues may run at once.
  bool several_queues = true;
};

/// Returns all devices in the loader's order, but processors after all others: the backend's device 0 is a GPU if there
/// is one. Empty without a platform. Throws Error(kUnavailable) without a loader.
std::vector<DeviceFacts> find_devices();

/// Throws Error(kUnavailable) for a device that lacks double precision, 64-bit atomics or the host's order of bytes.
void check_usable(const DeviceFacts& device);

/// By a platform's version, "OpenCL 3.0 PoCL 5.0 ...". PoCL before 6 aborts if kernels that differ only in their number
/// of work-items end in another order than they began. Kernels of two queues may. An assertion of PoCL's cache of
/// compiled kernels fails; its commit c9ac4c0c3 fixes it.
bool runs_several_queues(std::string_view platform_version);

}  // namespace manymeans::opencl
