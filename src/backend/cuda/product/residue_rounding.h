// A sum from its residues, and what is proved of it (docs/developer/screens.md, "Products by residues"), for compilers
// of device code as well.
#pragma once

#include "backend/cuda/product/residue_basis.h"
#include "core/everywhere.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace manymeans::cuda {

// Of numbers of kLimbs times 32 bits. float32 needs four limbs, float64 five.
template <class T>
struct RoundedAs;
template <>
struct RoundedAs<float> {
  using Bits = uint32_t;
  static constexpr int kLimbs = 4, kDigits = 24, kLeast = -126, kMost = 127;
};
template <>
struct RoundedAs<double> {
  using Bits = uint64_t;
  static constexpr int kLimbs = 5, kDigits = 53, kLeast = -1022, kMost = 1023;
};

__extension__ using Window = unsigned __int128;

/// A sum's size: the highest 128 bits from its first one on, how many bits of the integer stand below them (fewer than
/// none where the integer is short), and whether any of those is set.
struct WindowedSum {
  Window bits;
  int below;
  bool more;
  bool negative;
};

/// sum r_i w_i less the multiple of M next to it. `parts`: sum of r_i times limb j of w_i.
template <int kLimbs>
MANYMEANS_EVERYWHERE inline WindowedSum windowed_sum(const uint64_t (&parts)[kLimbs], const ResidueBasis& basis) {
  double size = 0;
  for (int j = kLimbs - 1; j >= 0; --j) size = size * 0x1p32 + static_cast<double>(parts[j]);
  const auto times = static_cast<int64_t>(rint(size * basis.inverse));  // the sum is within M / 4 of a multiple
  uint32_t limbs[kLimbs];
  int64_t carry = 0;
  for (int j = 0; j < kLimbs; ++j) {
    carry += static_cast<int64_t>(parts[j]) - times * static_cast<int64_t>(basis.product[j]);
    limbs[j] = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  WindowedSum sum = {0, 32 * (kLimbs - 4), false, carry < 0};
  uint64_t one = 1;
  for (int j = 0; j < kLimbs; ++j) {
    one += static_cast<uint32_t>(~limbs[j]);
    if (sum.negative) limbs[j] = static_cast<uint32_t>(one);
    one >>= 32;
  }
  for (int shift = 1; shift < kLimbs; ++shift) {
    const bool short_one = limbs[kLimbs - 1] == 0;
    for (int j = kLimbs - 1; j > 0; --j) limbs[j] = short_one ? limbs[j - 1] : limbs[j];
    limbs[0] = short_one ? 0 : limbs[0];
    sum.below -= short_one ? 32 : 0;
  }
  if (limbs[kLimbs - 1] == 0) return sum;
#if defined(__CUDA_ARCH__)
  const int zeros = __clz(static_cast<int>(limbs[kLimbs - 1]));
#else
  const int zeros = std::countl_zero(limbs[kLimbs - 1]);
#endif
  sum.below -= zeros;
  for (int j = kLimbs - 1; j > kLimbs - 5; --j) sum.bits = sum.bits << 32 | limbs[j];
  const uint64_t lower = kLimbs > 4 ? uint64_t{limbs[0]} << zeros : 0;
  sum.bits = sum.bits << zeros | lower >> 32;
  sum.more = static_cast<uint32_t>(lower) != 0;
  return sum;
}

/// Whether all numbers that differ from the sum by at most `error` (times 2^scale all of them) round to the same T,
/// which is `entry`. An error of 0 says that the sum is exact.
template <class T>
MANYMEANS_EVERYWHERE inline bool certify_sum(const WindowedSum& sum, double error, int scale, T& entry) {
  using As = RoundedAs<T>;
  using Bits = typename As::Bits;
  constexpr int kBelow = 128 - As::kDigits;
  constexpr Window kHalf = Window{1} << (kBelow - 1);
  entry = 0;
  if (sum.bits == 0) return error == 0;
  Window digits = 0;
  if (error == 0) {
    const Window rest = sum.bits & ((kHalf << 1) - 1);
    digits = sum.bits >> kBelow;
    const bool odd = (digits & 1) != 0;
    if (rest > kHalf || (rest == kHalf && (sum.more || odd))) digits += 1;
  } else {
    const double away = ldexp(error, -sum.below);
    if (!(away < 0x1p100)) return false;
    const double upper = floor(away * 0x1p-48);
    const auto rest = static_cast<uint64_t>(away - upper * 0x1p48);
    const Window distance = (Window{static_cast<uint64_t>(upper)} << 48) + rest + 3;  // two: bits that are not there
    const Window low = sum.bits - distance, high = sum.bits + distance;
    if (low >> 127 == 0 || high < sum.bits) return false;  // another number of digits
    digits = (low >> kBelow) + ((low & kHalf) != 0 ? 1 : 0);
    if (digits != (high >> kBelow) + ((high & kHalf) != 0 ? 1 : 0)) return false;
  }
  int exponent = 127 + sum.below + scale;
  if (digits >> As::kDigits != 0) {
    digits >>= 1;
    ++exponent;
  }
  if (exponent < As::kLeast || exponent > As::kMost) return false;
  constexpr Bits kFraction = (Bits{1} << (As::kDigits - 1)) - 1;
  const Bits bits = (sum.negative ? Bits{1} << (8 * sizeof(Bits) - 1) : 0) |
                    static_cast<Bits>(exponent - As::kLeast + 1) << (As::kDigits - 1) |
                    (static_cast<Bits>(digits) & kFraction);
  memcpy(&entry, &bits, sizeof entry);
  return true;
}

}  // namespace manymeans::cuda
