// Where the screens of the cuda backend put the origin and the unit of length.
#pragma once

#include "data/input.h"

#include <vector>

namespace manymeans::cuda {

/// y = (x - centre) * 2^exponent. The centre is a median of a sample of rows, so that outliers do not move it.
/// `exponent` brings the largest |y| near 2^60: for float32 screens. `largest` bounds every component |x_j - centre_j|.
struct ScreenFrame {
  std::vector<double> centre;  ///< values of the points, so float32 unless the points are float64
  int exponent = 0;
  double largest = 0;
};

ScreenFrame find_screen_frame(const Input& input);

}  // namespace manymeans::cuda
