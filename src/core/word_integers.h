// Exact integers of a fixed number of 64-bit words times powers of two. Host and device compilers accept these
// functions. core/dyadic.h does this for any length, on the host. Numbers that do not fit are refused, not lost.
#pragma once

#include "core/everywhere.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace manymeans {

MANYMEANS_EVERYWHERE inline int bits_of(uint64_t v) {
#ifdef __CUDA_ARCH__
  return 64 - __clzll(static_cast<long long>(v));
#else
  return v == 0 ? 0 : 64 - __builtin_clzll(v);
#endif
}

/// low and high word of a * b + c; it cannot overflow.
struct DoubleWord {
  uint64_t low, high;

  MANYMEANS_EVERYWHERE static DoubleWord product(uint64_t a, uint64_t b, uint64_t c) {
    const unsigned __int128 value = static_cast<unsigned __int128>(a) * b + c;
    return {static_cast<uint64_t>(value), static_cast<uint64_t>(value >> 64)};
  }
};

/// A finite binary64 as mantissa * 2^exponent.
struct DoubleParts {
  uint64_t mantissa;
  int exponent;
  bool negative;

  MANYMEANS_EVERYWHERE explicit DoubleParts(double value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    const auto biased = static_cast<int>(bits >> 52 & 0x7ff);
    const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
    mantissa = biased == 0 ? fraction : fraction | uint64_t{1} << 52;
    exponent = (biased == 0 ? 1 : biased) - 1075;
    negative = bits >> 63 != 0;
  }
};

/// W words in two's complement, the least significant first, to which things are added.
template <int W>
struct WordSum {
  uint64_t word[W] = {};

  /// += value * factor * 2^shift, or -= it; `words` of a magnitude. Bits beyond W words are lost: see Magnitude.
  MANYMEANS_EVERYWHERE void add_product(const uint64_t* value, int words, uint64_t factor, int shift, bool negative) {
    const int first = shift / 64;
    const int bit = shift % 64;
    const uint64_t flip = negative ? ~uint64_t{0} : 0;
    uint64_t high = 0;   // of the product so far
    uint64_t below = 0;  // the product's word before
    uint64_t carry = negative ? 1 : 0;
    for (int i = first; i < W; ++i) {
      const int at = i - first;
      const DoubleWord product = at < words ? DoubleWord::product(value[at], factor, high) : DoubleWord{high, 0};
      const uint64_t moved = bit == 0 ? product.low : product.low << bit | below >> (64 - bit);
      high = product.high;
      below = product.low;
      carry = add_word(word[i], moved ^ flip, carry);
    }
  }
  MANYMEANS_EVERYWHERE bool negative() const { return static_cast<int64_t>(word[W - 1]) < 0; }
  MANYMEANS_EVERYWHERE void negate() {
    uint64_t carry = 1;
    for (int i = 0; i < W; ++i) {
      word[i] = ~word[i] + carry;
      carry = carry != 0 && word[i] == 0 ? 1 : 0;
    }
  }

 private:
  MANYMEANS_EVERYWHERE static uint64_t add_word(uint64_t& to, uint64_t term, uint64_t carry) {
    const uint64_t sum = to + term;
    to = sum + carry;
    return (sum < term ? 1 : 0) | (to < carry ? 1 : 0);
  }
};

/// +-magnitude * 2^exponent, the magnitude below 2^length.
template <int W>
struct Magnitude {
  uint64_t word[W];
  int32_t exponent;
  int16_t length;  ///< bits; 0 of zero
  bool negative;

  MANYMEANS_EVERYWHERE bool is_zero() const { return length == 0; }
  MANYMEANS_EVERYWHERE int words() const { return (length + 63) / 64; }
  /// e(v), as of a binary64: the least e with |v| < 2^e; 0 for 0.
  MANYMEANS_EVERYWHERE int top() const { return length == 0 ? 0 : length + exponent; }

  template <int S>
  MANYMEANS_EVERYWHERE void take(WordSum<S>& sum, int power) {
    static_assert(S >= W);
    negative = sum.negative();
    if (negative) sum.negate();
    exponent = power;
    length = 0;
    for (int i = 0; i < W; ++i) {
      word[i] = sum.word[i];
      if (word[i] != 0) length = static_cast<int16_t>(64 * i + bits_of(word[i]));
    }
  }
  /// RN(v * 2^shift), ties to even; infinite beyond the largest binary64.
  MANYMEANS_EVERYWHERE double rounded(int shift) const {
    if (is_zero()) return 0;
    const int end = top() + shift;  // v * 2^shift is in [2^(end - 1), 2^end)
    if (end > 1024) return negative ? -HUGE_VAL : HUGE_VAL;
    const int digits = end >= -1021 ? 53 : end + 1074;
    if (digits < 0) return negative ? -0.0 : 0.0;
    const uint64_t leading = leading_bits();
    uint64_t kept = digits == 0 ? 0 : leading >> (64 - digits);
    const bool half = (leading >> (63 - digits) & 1) != 0;
    const bool more = (leading & ((uint64_t{1} << (63 - digits)) - 1)) != 0 || any_behind();
    if (half && ((kept & 1) != 0 || more)) ++kept;
    const double value = std::ldexp(static_cast<double>(kept), end - digits);
    return negative ? -value : value;
  }

 private:
  // The 64 bits from the highest one, zeros below the magnitude's lowest.
  MANYMEANS_EVERYWHERE uint64_t leading_bits() const {
    const int last = (length - 1) / 64;
    const int missing = 63 - (length - 1) % 64;
    const uint64_t next = last > 0 ? word[last - 1] : 0;
    return missing == 0 ? word[last] : word[last] << missing | next >> (64 - missing);
  }
  MANYMEANS_EVERYWHERE bool any_behind() const {
    const int behind = length - 64;  // bits
    if (behind <= 0) return false;
    for (int i = 0; i < behind / 64; ++i) {
      if (word[i] != 0) return true;
    }
    return (word[behind / 64] & ((uint64_t{1} << behind % 64) - 1)) != 0;
  }
};

}  // namespace manymeans
