// Exact numbers of any length: an integer times a power of two. Slow: for what is solved once a cluster, never for
// rows.
#pragma once

#include "core/wide_int.h"

#include <cstdint>
#include <vector>

namespace manymeans {

/// Sums and products of finite binary64 numbers and of WideInts, without any rounding.
class Dyadic {
 public:
  Dyadic() = default;
  /// A finite number.
  explicit Dyadic(double value);
  /// value * 2^exponent.
  Dyadic(const WideInt& value, int exponent);

  Dyadic operator+(const Dyadic& other) const;
  Dyadic operator-(const Dyadic& other) const { return *this + -other; }
  Dyadic operator*(const Dyadic& other) const;
  Dyadic operator-() const;

  bool is_zero() const { return words_.empty(); }
  bool negative() const { return negative_; }
  /// e(v), as of a binary64: the least e with |v| < 2^e; 0 for 0.
  int64_t exponent() const;
  /// RN(v * 2^shift), ties to even; infinite beyond the largest binary64.
  double rounded(int64_t shift = 0) const;

 private:
  using Words = std::vector<uint64_t>;

  static void trim(Words& words);
  static Words shifted(const Words& words, int64_t bits);
  static Words sum(const Words& a, const Words& b);
  static Words difference(const Words& larger, const Words& smaller);
  static bool is_less(const Words& a, const Words& b);

  Words words_;  // the magnitude, least significant first, without leading zeros; empty for 0
  int64_t exponent_ = 0;
  bool negative_ = false;
};

}  // namespace manymeans
