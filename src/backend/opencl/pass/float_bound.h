// Max error of a score of the float32 screen: docs/developer/screens.md, "Float32 in OpenCL".
#pragma once

#include "backend/opencl/kernels/kernel_types.h"

#include <cstdint>

namespace manymeans::opencl {

/// The error of a score is at most |y| slope + error, slope being `slope` times |z|, error `square` times |z|^2 / 2 and
/// `absolute` more.
struct FloatBound {
  double slope = 0;
  double square = 0;
  double absolute = 0;
  ScoreBound score = {};  ///< what the kernel gets

  /// `exponent`: of the frame's scale. All is multiplied by `scale`.
  static FloatBound make(int64_t d, int exponent, double scale);
  /// Returns true if d columns have a bound: its proof requires gamma <= 1/2.
  static bool holds(int64_t d);
};

}  // namespace manymeans::opencl
