// Where the screens' numbers are centred and how they are scaled.
#pragma once

#include "core/threads.h"
#include "data/input.h"

#include <vector>

namespace manymeans {

/// y = (x - centre) * 2^exponent. The centre is any point (a median of a sample, so that outliers do not move it). The
/// exponent brings the largest norm near 2^60, where no product overflows or vanishes.
struct Frame {
  std::vector<double> centre;
  int exponent = 0;
  double scale = 1;    ///< 2^exponent
  double largest = 0;  ///< bounds every component |x_j - centre_j|
  /// Where every column has a scale of its own, these powers of two; then `scale` says nothing.
  std::vector<double> scales = {};
};

/// On the pool's threads, if there is one.
Frame find_frame(const Input& input, ThreadPool* pool = nullptr);

/// A frame in which no |x_j - centre_j| is above 1, and the largest of every column above 1/2, if it is above 2^-1000.
Frame find_column_frame(const Input& input);

/// A frame for points that are not known yet. They may lie 2^20 times as far away as any point of the input.
Frame find_wide_frame(const Input& input);

}  // namespace manymeans
