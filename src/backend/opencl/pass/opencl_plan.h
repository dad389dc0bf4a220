// The backend's plan for a shape.
#pragma once

#include "backend/backend.h"
#include "backend/device/row_slices.h"
#include "backend/opencl/runtime/launch_parameters.h"
#include "backend/opencl/runtime/opencl_platform.h"

#include <cstdint>
#include <span>
#include <string>

namespace manymeans::opencl {

/// A device, as a fit may use it.
struct UsedDevice {
  DeviceFacts facts;
  LaunchParameters launch;
};

struct OpenClPlan : device::SlicePlan {
  bool linear = false;  ///< prototypes are linear models
  bool exact = false;   ///< no scores: every canonical distance, or those that a tree leaves
  bool tree = false;
  int64_t upload_bytes = 0;  ///< of the device's memory
  double usual_seconds = 0;  ///< see Patience
  std::string text;
};

OpenClPlan make_plan(const Input& input, const UsedDevice& device, const BackendOptions& options,
                     const Workload& workload);

/// Rows of a slice as packed rows lie: in whole blocks.
int64_t packed_rows(int64_t rows);
/// Bytes that a session takes of the device's memory.
int64_t session_bytes(const Input& input, std::span<const int64_t> k, const OpenClPlan& plan);
/// Bytes of the device's memory that may be taken.
int64_t room_on(const DeviceFacts& device, const BackendOptions& options);

}  // namespace manymeans::opencl
