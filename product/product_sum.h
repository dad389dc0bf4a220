// The exact sum of products of binary64 numbers, as one long integer; rounded once. For compilers of device code as
// well.
#pragma once

#include "core/everywhere.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace manymeans {

/// Constants of T that rounding to T needs.
template <class T>
struct RoundedNumbers {
  static constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();
  static constexpr int kDigits = std::numeric_limits<T>::digits;
  static constexpr int kMinExponent = std::numeric_limits<T>::min_exponent - kDigits;  // of the last bit of denormals
};

/// A sum of products, of any numbers and of up to 2^62 of them, without any rounding. Some nanoseconds a product.
class ProductSum {
 public:
  /// Adds a * b.
  MANYMEANS_EVERYWHERE void add(double a, double b);
  /// Adds up the sums of a team's members. Each member calls this and has the sum of all then. The team returns the
  /// least() and the most() of its members' numbers, their sum(), and whether any() of them says so. At most 2^29
  /// members may be in it.
  template <class Team>
  MANYMEANS_EVERYWHERE void join(const Team& team);
  /// Returns the sum in T, float or double, to nearest even: +0 for zero. Returns the NaN of std::numeric_limits where
  /// a product is NaN or infinities of both signs occur; else an infinity where one occurs.
  template <class T>
  MANYMEANS_EVERYWHERE T rounded();

 private:
  // Digits of 32 bits in integers of 64, so that 2^29 sums need no carry. Digit 0 weighs 2^-2148, the least bit of a
  // product; the largest products have bits below digit 132, and sums of them some more.
  static constexpr int kDigits = 136;
  static constexpr int kDigitBits = 32;
  static constexpr int64_t kDigitMask = 0xffffffff;
  static constexpr int64_t kMinExponent = -2148;

  // A number as +-mantissa * 2^exponent, if it is finite.
  struct Parts {
    uint64_t mantissa;
    int exponent;
    bool negative, finite;

    MANYMEANS_EVERYWHERE explicit Parts(double value) {
      uint64_t bits = 0;
      memcpy(&bits, &value, sizeof bits);
      const int field = static_cast<int>(bits >> 52 & 0x7ff);
      mantissa = (bits & 0xfffffffffffff) | (field != 0 ? uint64_t{1} << 52 : 0);
      exponent = (field != 0 ? field : 1) - 1075;
      negative = bits >> 63 != 0;
      finite = field != 0x7ff;
    }
  };

  MANYMEANS_EVERYWHERE static int width_of(uint64_t value) {
    int width = 0;
    for (; value != 0; value >>= 1) ++width;
    return width;
  }
  MANYMEANS_EVERYWHERE void add_special(double product);
  MANYMEANS_EVERYWHERE void carry();
  MANYMEANS_EVERYWHERE bool make_magnitude();
  MANYMEANS_EVERYWHERE uint64_t bits_from(int64_t first) const;
  MANYMEANS_EVERYWHERE bool any_below(int64_t bits) const;

  int64_t digits_[kDigits] = {};
  int lowest_ = kDigits, highest_ = -1;  // digits that may not be 0
  int since_carry_ = 0;
  bool nan_ = false, plus_ = false, minus_ = false;
};

MANYMEANS_EVERYWHERE inline void ProductSum::add_special(double product) {
  nan_ = nan_ || product != product;
  plus_ = plus_ || product > 0;
  minus_ = minus_ || product < 0;
}

MANYMEANS_EVERYWHERE inline void ProductSum::add(double a, double b) {
  const Parts x(a), y(b);
  if (!x.finite || !y.finite) return add_special(a * b);
  if (x.mantissa == 0 || y.mantissa == 0) return;
  const unsigned __int128 product = static_cast<unsigned __int128>(x.mantissa) * y.mantissa;
  const int place = static_cast<int>(x.exponent + y.exponent - kMinExponent);
  const int first = place / kDigitBits, shift = place % kDigitBits;
  const unsigned __int128 low = static_cast<unsigned __int128>(static_cast<uint64_t>(product)) << shift;
  const unsigned __int128 high = (product >> 64) << shift;
  const int64_t sign = x.negative == y.negative ? 1 : -1;
  int64_t* digits = digits_ + first;
  digits[0] += sign * static_cast<int64_t>(low & kDigitMask);
  digits[1] += sign * static_cast<int64_t>(low >> 32 & kDigitMask);
  digits[2] += sign * static_cast<int64_t>((low >> 64) + (high & kDigitMask));
  digits[3] += sign * static_cast<int64_t>(high >> 32 & kDigitMask);
  digits[4] += sign * static_cast<int64_t>(high >> 64);
  lowest_ = first < lowest_ ? first : lowest_;
  highest_ = first + 4 > highest_ ? first + 4 : highest_;
  if (++since_carry_ == 1 << 29) carry();
}

// Every digit but the highest one becomes 0 <= digit < 2^32.
MANYMEANS_EVERYWHERE inline void ProductSum::carry() {
  since_carry_ = 0;
  highest_ = highest_ + 2 < kDigits - 1 ? highest_ + 2 : kDigits - 1;  // 2^63 sums carry no further
  for (int i = lowest_; i < highest_; ++i) {
    digits_[i + 1] += digits_[i] >> kDigitBits;
    digits_[i] &= kDigitMask;
  }
}

template <class Team>
MANYMEANS_EVERYWHERE void ProductSum::join(const Team& team) {
  if (highest_ >= 0) carry();
  lowest_ = team.least(lowest_);
  highest_ = team.most(highest_);
  for (int i = lowest_; i <= highest_; ++i) digits_[i] = team.sum(digits_[i]);
  nan_ = team.any(nan_);
  plus_ = team.any(plus_);
  minus_ = team.any(minus_);
}

// The digits of the magnitude, each 0 <= digit < 2^32; whether the sum is negative.
MANYMEANS_EVERYWHERE inline bool ProductSum::make_magnitude() {
  carry();
  const bool negative = digits_[highest_] < 0;
  if (negative) {
    for (int i = lowest_; i <= highest_; ++i) digits_[i] *= -1;
    carry();
  }
  while (highest_ > lowest_ && digits_[highest_] == 0) --highest_;
  return negative;
}

// Bits [first, first + 64) of the magnitude.
MANYMEANS_EVERYWHERE inline uint64_t ProductSum::bits_from(int64_t first) const {
  const auto digit = static_cast<int>(first / kDigitBits);
  const int shift = static_cast<int>(first % kDigitBits);
  unsigned __int128 bits = 0;
  for (int i = 3; i-- > 0;) {
    const uint64_t value = digit + i < kDigits ? static_cast<uint64_t>(digits_[digit + i]) : 0;
    bits = bits << kDigitBits | value;
  }
  return static_cast<uint64_t>(bits >> shift);
}

// Returns whether any of the lowest `bits` bits of the magnitude is set.
MANYMEANS_EVERYWHERE inline bool ProductSum::any_below(int64_t bits) const {
  const auto whole = static_cast<int>(bits / kDigitBits);
  for (int i = lowest_; i < whole; ++i) {
    if (digits_[i] != 0) return true;
  }
  return (digits_[whole] & ((int64_t{1} << bits % kDigitBits) - 1)) != 0;
}

template <class T>
MANYMEANS_EVERYWHERE T ProductSum::rounded() {
  using Numbers = RoundedNumbers<T>;
  constexpr int kKept = Numbers::kDigits;
  constexpr int64_t kMin = Numbers::kMinExponent - kMinExponent;
  if (nan_ || (plus_ && minus_)) return Numbers::kNan;
  if (plus_ || minus_) return plus_ ? Numbers::kInfinity : -Numbers::kInfinity;
  if (highest_ < 0) return 0;
  const bool negative = make_magnitude();
  const auto top = static_cast<uint64_t>(digits_[highest_]);
  if (top == 0) return 0;
  const int64_t length = int64_t{highest_} * kDigitBits + width_of(top);
  const int64_t cut = length - kKept > kMin ? length - kKept : kMin;  // bits that are rounded away
  uint64_t kept = 0;
  if (length >= cut) {
    kept = bits_from(cut) & ((uint64_t{1} << kKept) - 1);
    const bool half = (bits_from(cut - 1) & 1) != 0;
    if (half && ((kept & 1) != 0 || any_below(cut - 1))) ++kept;
  }
  // In binary64: 2^24 units at most, so that float32 rounds nothing but what is beyond it.
  const double magnitude = ldexp(static_cast<double>(kept), static_cast<int>(cut + kMinExponent));
  const T result = static_cast<T>(magnitude);
  return negative ? -result : result;
}

}  // namespace manymeans
