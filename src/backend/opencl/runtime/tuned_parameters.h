// How kernels are cut for a device: numbers that change speed only. `manymeans bench --tune opencl` measures them.
#pragma once

#include "backend/opencl/runtime/opencl_platform.h"

#include <cstdint>
#include <string>

namespace manymeans::opencl {

struct TunedParameters {
  int width = 4;            ///< rows of a work-item of the screen
  int columns = 2;          ///< columns that it looks at together, of points in registers
  int long_columns = 16;    ///< the same of others
  int group = 64;           ///< work-items of a group
  bool contiguous = false;  ///< a work-item takes neighbouring items, and is a group by itself
  int items_a_unit = 2048;  ///< work-items of a launch for each compute unit, at most
  bool fused = true;        ///< products and sums of the screen are fma()
  /// Groups add up in local memory where that pays, and each begins with another model.
  bool low_contention = true;

  /// As -D options.
  std::string options() const;
};

/// These, but for what `settings` has: "width=8,columns=2", by the names of members, true and false as 1 and 0. Throws
/// Error(kUsage) for names and numbers that there are not, and for contiguous=1 with groups of several.
TunedParameters with_settings(const TunedParameters& parameters, const std::string& settings);

/// The table's line for this device, the first that fits what it can do, with the settings of MANYMEANS_OPENCL_TUNED.
TunedParameters tuned_for(const DeviceFacts& device);

}  // namespace manymeans::opencl
