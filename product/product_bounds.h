// Proved bounds of the sums of a screened product, for all backends that screen in binary64 (docs/developer/screens.md,
// "Products").
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace manymeans {

/// Bits of `depth` - 1: a sum of `depth` numbers has at most that many bits more.
inline int bits_of_sum(int64_t depth) {
  return static_cast<int>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(depth, 1) - 1)));
}

/// Lines whose widths add up to no more have sums that are exact in binary64.
inline int exact_width(int64_t depth) {
  return 53 - bits_of_sum(depth);
}

/// beta: sums of products of two slices of float64 are exact.
inline int slice_bits(int64_t depth) {
  return (53 - bits_of_sum(depth)) / 2;
}

/// n u / (1 - n u), rounded up, for n roundings.
inline double gamma_of_roundings(int64_t roundings) {
  return static_cast<double>(roundings) * 0x1p-53 * (1 + 0x1p-10);
}

/// The error of the low sums of sliced lines, whose largest value is below 1; `gamma` covers their roundings.
inline double sliced_error(int64_t depth, double gamma) {
  const auto count = static_cast<double>(depth);
  return gamma * count * 1.25 * std::ldexp(1.0, -2 * slice_bits(depth)) * (1 + 0x1p-10) +
         count * 0x1p-1000;  // the least numbers, which scaling may round
}

}  // namespace manymeans
