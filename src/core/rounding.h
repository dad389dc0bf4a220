// Rounding in one direction.
#pragma once

#include <cmath>
#include <cstdint>

namespace manymeans {

/// The smallest float that is at least v; a NaN stays one.
inline float rounded_up(double v) {
  const auto nearest = static_cast<float>(v);
  return nearest < v ? std::nextafter(nearest, HUGE_VALF) : nearest;
}

/// The least multiple of `group` that is at least `count`, which is not negative.
inline int64_t padded(int64_t count, int64_t group) {
  return (count + group - 1) / group * group;
}

}  // namespace manymeans
