// A row scaled to length one: docs/developer/contract.md, "Cosine".
#pragma once

#include "core/fixed_point.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace manymeans {

/// out_j = RN(y_j / n) with y = RN(x * 2^-e), e = e(max |x|), and n the root of the sum of squares of y. The sum has
/// the lanes of the canonical distance. Neither y nor n overflows, whatever the values are. Returns false for a row of
/// zeros and for one with a value that is not finite; then `out` is of no use. `out` may be `x`. `column(i)` is the
/// place of value i in its row, ascending; zeros between them would add nothing.
template <class T, class Column>
bool scale_to_unit_length(const T* x, int64_t count, double* out, Column&& column) {
  double largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(static_cast<double>(x[i])));
  if (!(largest > 0) || !std::isfinite(largest)) return false;
  const int e = exponent(largest);
  const double power = std::ldexp(1.0, -e);  // infinite for the smallest numbers alone
  double p[8] = {};
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(x[i]);
    const double y = std::isfinite(power) ? value * power : std::ldexp(value, -e);
    double& lane = p[column(i) % 8];
    lane = std::fma(y, y, lane);
    out[i] = y;
  }
  const double length = std::sqrt(((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])));
  if (!std::isfinite(length)) return false;  // a NaN
  for (int64_t i = 0; i < count; ++i) out[i] /= length;
  return true;
}

/// Of a row of d values.
template <class T>
bool scale_to_unit_length(const T* x, int64_t d, double* out) {
  return scale_to_unit_length(x, d, out, [](int64_t j) { return j; });
}

}  // namespace manymeans
