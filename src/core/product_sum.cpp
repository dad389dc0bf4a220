#include "core/product_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace manymeans {
namespace {

constexpr int64_t kDigitMask = 0xffffffff;

// A finite number as +-mantissa * 2^exponent.
struct Parts {
  uint64_t mantissa;
  int exponent;
  bool negative;

  explicit Parts(double value) {
    const auto bits = std::bit_cast<uint64_t>(value);
    const int field = static_cast<int>(bits >> 52 & 0x7ff);
    mantissa = (bits & 0xfffffffffffff) | (field != 0 ? uint64_t{1} << 52 : 0);
    exponent = (field != 0 ? field : 1) - 1075;
    negative = bits >> 63 != 0;
  }
};

}  // namespace

void ProductSum::add_special(double a, double b) {
  const double product = a * b;
  nan_ = nan_ || std::isnan(product);
  plus_ = plus_ || product > 0;
  minus_ = minus_ || product < 0;
}

void ProductSum::add(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return add_special(a, b);
  const Parts x(a), y(b);
  if (x.mantissa == 0 || y.mantissa == 0) return;
  const unsigned __int128 product = static_cast<unsigned __int128>(x.mantissa) * y.mantissa;
  const int place = static_cast<int>(x.exponent + y.exponent - kLeastExponent);
  const int first = place / kDigitBits, shift = place % kDigitBits;
  const unsigned __int128 low = static_cast<unsigned __int128>(static_cast<uint64_t>(product)) << shift;
  const unsigned __int128 high = (product >> 64) << shift;
  const int64_t sign = x.negative == y.negative ? 1 : -1;
  int64_t* digits = digits_.data() + first;
  digits[0] += sign * static_cast<int64_t>(low & kDigitMask);
  digits[1] += sign * static_cast<int64_t>(low >> 32 & kDigitMask);
  digits[2] += sign * static_cast<int64_t>((low >> 64) + (high & kDigitMask));
  digits[3] += sign * static_cast<int64_t>(high >> 32 & kDigitMask);
  digits[4] += sign * static_cast<int64_t>(high >> 64);
  lowest_ = std::min(lowest_, first);
  highest_ = std::max(highest_, first + 4);
  if (++since_carry_ == 1 << 29) carry();
}

// Every digit but the highest one becomes 0 <= digit < 2^32.
void ProductSum::carry() {
  since_carry_ = 0;
  highest_ = std::min(highest_ + 2, kDigits - 1);  // 2^63 sums carry no further
  for (int i = lowest_; i < highest_; ++i) {
    const auto place = static_cast<size_t>(i);
    digits_[place + 1] += digits_[place] >> kDigitBits;
    digits_[place] &= kDigitMask;
  }
}

// The digits of the magnitude, each 0 <= digit < 2^32; whether the sum is negative.
bool ProductSum::make_magnitude() {
  carry();
  const bool negative = digits_[static_cast<size_t>(highest_)] < 0;
  if (negative) {
    for (int i = lowest_; i <= highest_; ++i) digits_[static_cast<size_t>(i)] *= -1;
    carry();
  }
  while (highest_ > lowest_ && digits_[static_cast<size_t>(highest_)] == 0) --highest_;
  return negative;
}

// Bits [first, first + 64) of the magnitude.
uint64_t ProductSum::bits_from(int64_t first) const {
  const auto digit = static_cast<size_t>(first / kDigitBits);
  const int shift = static_cast<int>(first % kDigitBits);
  unsigned __int128 bits = 0;
  for (size_t i = 3; i-- > 0;) {
    const uint64_t value = digit + i < digits_.size() ? static_cast<uint64_t>(digits_[digit + i]) : 0;
    bits = bits << kDigitBits | value;
  }
  return static_cast<uint64_t>(bits >> shift);
}

// Whether any of the lowest `bits` bits of the magnitude is set.
bool ProductSum::any_below(int64_t bits) const {
  const auto whole = static_cast<size_t>(bits / kDigitBits);
  for (auto i = static_cast<size_t>(lowest_); i < whole; ++i) {
    if (digits_[i] != 0) return true;
  }
  return (digits_[whole] & ((int64_t{1} << bits % kDigitBits) - 1)) != 0;
}

template <class T>
T ProductSum::rounded() {
  if (nan_ || (plus_ && minus_)) return std::numeric_limits<T>::quiet_NaN();
  if (plus_ || minus_) return plus_ ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
  if (highest_ < 0) return 0;
  const bool negative = make_magnitude();
  const auto top = static_cast<uint64_t>(digits_[static_cast<size_t>(highest_)]);
  if (top == 0) return 0;
  using Limits = std::numeric_limits<T>;
  const int64_t length = int64_t{highest_} * kDigitBits + std::bit_width(top);
  const int64_t least = Limits::min_exponent - Limits::digits - kLeastExponent;  // the last bit of denormals
  const int64_t cut = std::max(length - Limits::digits, least);                  // bits that are rounded away
  uint64_t kept = 0;
  if (length >= cut) {
    kept = bits_from(cut) & ((uint64_t{1} << Limits::digits) - 1);
    const bool half = (bits_from(cut - 1) & 1) != 0;
    if (half && ((kept & 1) != 0 || any_below(cut - 1))) ++kept;
  }
  const T magnitude = std::ldexp(static_cast<T>(kept), static_cast<int>(cut + kLeastExponent));
  return negative ? -magnitude : magnitude;
}

template float ProductSum::rounded<float>();
template double ProductSum::rounded<double>();

}  // namespace manymeans
