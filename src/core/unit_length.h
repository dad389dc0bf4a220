// A row scaled to length one: docs/developer/contract.md, "Cosine".
#pragma once

#include "core/fixed_point.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace manymeans {

/// out_j = RN(y_j / n) with y = RN(x * 2^-e), e = e(max |x|), and n the root of the sum of squares of y, in the lanes
/// of the canonical distance: neither overflows, whatever the values are. False, and nothing is of use, for a row of
/// zeros and for one with a value that is not finite. `out` may be `x`.
template <class T>
bool scale_to_unit_length(const T* x, int64_t d, double* out) {
  double largest = 0;
  for (int64_t j = 0; j < d; ++j) largest = std::max(largest, std::fabs(static_cast<double>(x[j])));
  if (!(largest > 0) || !std::isfinite(largest)) return false;
  const int e = exponent(largest);
  const double power = std::ldexp(1.0, -e);  // infinite for the smallest numbers alone
  double p[8] = {};
  for (int64_t j = 0; j < d; ++j) {
    const auto value = static_cast<double>(x[j]);
    const double y = std::isfinite(power) ? value * power : std::ldexp(value, -e);
    p[j % 8] = std::fma(y, y, p[j % 8]);
    out[j] = y;
  }
  const double length = std::sqrt(((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])));
  if (!std::isfinite(length)) return false;  // a NaN
  for (int64_t j = 0; j < d; ++j) out[j] /= length;
  return true;
}

}  // namespace manymeans
