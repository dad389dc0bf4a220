// How kernels are cut for a device: numbers that follow from its properties and change speed only.
#pragma once

#include "backend/opencl/runtime/opencl_platform.h"

#include <string>

namespace manymeans::opencl {

/// The members have the values for a GPU.
struct LaunchParameters {
  int width = 4;            ///< rows of a work-item of the screen
  int columns = 2;          ///< columns that it looks at together, of points in registers
  int long_columns = 16;    ///< the same of others
  int group = 64;           ///< work-items of a group
  bool contiguous = false;  ///< a work-item takes neighbouring items, and is a group by itself
  int items_a_unit = 2048;  ///< work-items of a launch for each compute unit, at most
  /// Groups add up in local memory where that pays, and each begins with another model.
  bool low_contention = true;

  /// As -D options.
  std::string options() const;
};

/// MANYMEANS_OPENCL_KIND and MANYMEANS_OPENCL_CONTENTION come first.
LaunchParameters launch_parameters(const DeviceFacts& device);

}  // namespace manymeans::opencl
