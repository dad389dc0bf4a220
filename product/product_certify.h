// Proofs of an entry of a product from the sums of a screen (docs/developer/screens.md, "Products"), also for compilers
// of device code. Binary64, each operation rounded alone.
#pragma once

#include "core/everywhere.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace manymeans {

namespace detail {
MANYMEANS_EVERYWHERE inline bool same_bits(float a, float b) {
  uint32_t x = 0, y = 0;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  return x == y;
}
MANYMEANS_EVERYWHERE inline bool same_bits(double a, double b) {
  uint64_t x = 0, y = 0;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  return x == y;
}
}  // namespace detail

/// Returns whether both ends of the interval round to the same number, which is `entry`. The two sums round by less
/// than 2^-51 of the sum; an exact one has no interval. NaN and infinite errors prove nothing.
MANYMEANS_EVERYWHERE inline bool certify_float(double sum, double bound, bool exact, float& entry) {
  const double error = exact ? 0.0 : bound + fabs(sum) * 0x1p-51;
  const double low = sum - error, high = sum + error;
  entry = static_cast<float>(low);
  return detail::same_bits(entry, static_cast<float>(high)) && error < HUGE_VAL;
}

struct SumAndRest {
  double sum, rest;
};

/// a + b = sum + rest, exactly.
MANYMEANS_EVERYWHERE inline SumAndRest two_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  const double before = sum - part;
  return {sum, (a - before) + (b - part)};
}

struct SlicedSums {
  double high, middle, low;
};

/// For float64, with sums of scaled slices whose low ones are off by at most `error`; `scale` brings them back.
MANYMEANS_EVERYWHERE inline bool certify_double(const SlicedSums& sums, double scale, double error, bool exact,
                                                double& entry) {
  const SumAndRest upper = two_sum(sums.high, sums.middle);
  const double lower = upper.rest + sums.low;
  const SumAndRest all = two_sum(upper.sum, lower);
  const double rounding = (fabs(lower) + fabs(all.rest)) * 0x1p-51;
  const double away = exact ? 0.0 : rounding + error;
  const double low = all.sum + (all.rest - away), high = all.sum + (all.rest + away);
  entry = low * scale;
  const double size = fabs(entry);
  const bool normal = size >= 0x1p-1021 && size <= 0x1p1022;  // scaling was exact
  const bool zero = exact && low == 0 && size == 0;
  return detail::same_bits(low, high) && (normal || zero);
}

}  // namespace manymeans
