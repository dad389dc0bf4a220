// The exact sum of products of binary64 numbers, as one long integer; rounded once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace manymeans {

/// A sum of products, of any numbers and of up to 2^62 of them, without any rounding. Some nanoseconds a product.
class ProductSum {
 public:
  /// Adds a * b.
  void add(double a, double b);
  /// The sum in T, float or double, to nearest even: +0 for zero; the NaN of std::numeric_limits where a product is NaN
  /// or infinities of both signs occur; else an infinity where one occurs.
  template <class T>
  T rounded();

 private:
  // Digits of 32 bits in integers of 64, so that 2^29 sums need no carry. Digit 0 weighs 2^-2148, the least bit of a
  // product; the largest products have bits below digit 132, and sums of them some more.
  static constexpr int kDigits = 136;
  static constexpr int kDigitBits = 32;
  static constexpr int64_t kLeastExponent = -2148;

  void add_special(double a, double b);
  void carry();
  bool make_magnitude();
  uint64_t bits_from(int64_t first) const;
  bool any_below(int64_t bits) const;

  std::array<int64_t, kDigits> digits_{};
  int lowest_ = kDigits, highest_ = -1;  // digits that may not be 0
  int since_carry_ = 0;
  bool nan_ = false, plus_ = false, minus_ = false;
};

}  // namespace manymeans
