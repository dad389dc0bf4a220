// A sum from its residues, and what is proved of it (docs/developer/screens.md, "Products by residues"), for compilers
// of device code as well.
#pragma once

#include "core/everywhere.h"
#include "product/cuda/residue_basis.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace manymeans::cuda {

template <class T>
struct RoundedAs;
template <>
struct RoundedAs<float> {
  using Bits = uint32_t;
  using Window = uint64_t;
  static constexpr int kDigits = 24, kMin = -126, kMax = 127;
};
__extension__ using LongWindow = unsigned __int128;
template <>
struct RoundedAs<double> {
  using Bits = uint64_t;
  using Window = LongWindow;
  static constexpr int kDigits = 53, kMin = -1022, kMax = 1023;
};

/// A sum's size: its highest bits, the number of the integer's bits below them, and whether any lower bit is set. A
/// short integer has a negative number of bits below.
template <class T>
struct WindowedSum {
  typename RoundedAs<T>::Window bits;
  int below;
  bool more;
  bool negative;
};

/// sum r_i w_i less the multiple of M next to it. `parts`: sum of r_i times limb j of w_i, basis.limbs of them.
template <class T, int kLimbs>
MANYMEANS_EVERYWHERE inline WindowedSum<T> windowed_sum(const uint64_t (&parts)[kLimbs], const ResidueBasis& basis) {
  using Window = typename RoundedAs<T>::Window;
  constexpr int kOfWindow = sizeof(Window) / 4;
  static_assert(kLimbs > kOfWindow);
  // The sum is within M / 4 of a multiple; 5000 multiples are possible. So float32 and these limbs are enough.
  const uint64_t upper = (parts[kLimbs - 1] << 16) + (parts[kLimbs - 2] >> 16);
  const auto times = static_cast<int64_t>(rintf(static_cast<float>(upper) * basis.inverse));
  uint32_t limbs[kLimbs];
  int64_t carry = 0;
  for (int j = 0; j < kLimbs; ++j) {
    carry += static_cast<int64_t>(parts[j]) - times * static_cast<int64_t>(basis.product[j]);
    limbs[j] = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  WindowedSum<T> sum = {0, 32 * (kLimbs - kOfWindow), false, carry < 0};
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
  for (int j = kLimbs - 1; j >= kLimbs - kOfWindow; --j) sum.bits = sum.bits << 32 | limbs[j];
  const uint64_t lower = uint64_t{limbs[kLimbs - kOfWindow - 1]} << zeros;
  sum.bits = sum.bits << zeros | lower >> 32;
  sum.more = static_cast<uint32_t>(lower) != 0;
  for (int j = kLimbs - kOfWindow - 2; j >= 0; --j) sum.more = sum.more || limbs[j] != 0;
  return sum;
}

/// Returns true if all numbers that differ from the sum by at most `error` round to the same T, `entry`. All numbers
/// are times 2^scale. An error of 0 says that the sum is exact.
template <class T>
MANYMEANS_EVERYWHERE inline bool certify_sum(const WindowedSum<T>& sum, float error, int scale, T& entry) {
  using As = RoundedAs<T>;
  using Bits = typename As::Bits;
  using Window = typename As::Window;
  constexpr int kWindow = 8 * static_cast<int>(sizeof(Window)), kBelow = kWindow - As::kDigits;
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
    if (!(error < HUGE_VALF)) return false;
    uint32_t field = 0;
    memcpy(&field, &error, sizeof field);
    const int shift =
        static_cast<int>(field >> 23) - 150 - sum.below;  // size << shift is at least the error, even if subnormal
    if (shift > kWindow - 26) return false;
    const Window size = Window{(field & 0x7fffff) | 0x800000};
    // Up, and two more: for bits that are not there, and for ends of the interval that are ties.
    const Window distance = (shift >= 0 ? size << shift : shift > -24 ? size >> -shift : 0) + 3;
    const Window low = sum.bits - distance, high = sum.bits + distance;
    if (low >> (kWindow - 1) == 0 || high < sum.bits) return false;  // another number of digits
    digits = (low >> kBelow) + ((low & kHalf) != 0 ? 1 : 0);
    if (digits != (high >> kBelow) + ((high & kHalf) != 0 ? 1 : 0)) return false;
  }
  int exponent = kWindow - 1 + sum.below + scale;
  if (digits >> As::kDigits != 0) {
    digits >>= 1;
    ++exponent;
  }
  if (exponent < As::kMin || exponent > As::kMax) return false;
  constexpr Bits kFraction = (Bits{1} << (As::kDigits - 1)) - 1;
  const Bits bits = (sum.negative ? Bits{1} << (8 * sizeof(Bits) - 1) : 0) |
                    static_cast<Bits>(exponent - As::kMin + 1) << (As::kDigits - 1) |
                    (static_cast<Bits>(digits) & kFraction);
  memcpy(&entry, &bits, sizeof entry);
  return true;
}

}  // namespace manymeans::cuda
