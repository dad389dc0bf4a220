// Rounding in one direction.
#pragma once

#include <cmath>

namespace manymeans {

/// The smallest float that is at least v; a NaN stays one.
inline float rounded_up(double v) {
  const auto nearest = static_cast<float>(v);
  return nearest < v ? std::nextafter(nearest, HUGE_VALF) : nearest;
}

}  // namespace manymeans
