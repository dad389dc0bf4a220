// Exact numbers of any length: an integer times a power of two. Slow: for what is solved once a cluster, never for
// rows.
#pragma once

#include "core/wide_int.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace manymeans {

/// The words of a magnitude, least significant first. The words that sums and products of sums usually have are stored
/// in place. A solve makes thousands of magnitudes, and memory for each took two thirds of its time.
class DyadicWords {
 public:
  DyadicWords() = default;
  explicit DyadicWords(size_t size) { resize(size); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  uint64_t* data() { return more_.empty() ? few_.data() : more_.data(); }
  const uint64_t* data() const { return more_.empty() ? few_.data() : more_.data(); }
  uint64_t& operator[](size_t i) { return data()[i]; }
  uint64_t operator[](size_t i) const { return data()[i]; }
  uint64_t back() const { return data()[size_ - 1]; }
  /// New words are 0.
  void resize(size_t size) {
    if (!more_.empty()) {
      more_.resize(std::max(size, more_.size()));
    } else if (size > kFew) {
      more_.assign(few_.begin(), few_.end());
      more_.resize(size);
    }
    for (size_t i = size_; i < size; ++i) data()[i] = 0;
    size_ = size;
  }
  /// Without zeros at the end.
  void trim() {
    while (size_ > 0 && back() == 0) --size_;
  }

 private:
  static constexpr size_t kFew = 12;

  size_t size_ = 0;
  std::array<uint64_t, kFew> few_{};
  std::vector<uint64_t> more_;
};

/// Sums and products of finite binary64 numbers and of WideInts, without any rounding.
class Dyadic {
 public:
  Dyadic() = default;
  /// A finite number.
  explicit Dyadic(double value);
  /// value * 2^exponent.
  Dyadic(const WideInt& value, int exponent);

  Dyadic operator+(const Dyadic& other) const { return plus(other, false); }
  Dyadic operator-(const Dyadic& other) const { return plus(other, true); }
  Dyadic operator*(const Dyadic& other) const;
  Dyadic operator-() const;

  bool is_zero() const { return words_.empty(); }
  bool negative() const { return negative_; }
  /// e(v), as of a binary64: the least e with |v| < 2^e; 0 for 0.
  int64_t exponent() const;
  /// RN(v * 2^shift), ties to even; infinite beyond the largest binary64.
  double rounded(int64_t shift = 0) const;

 private:
  friend class DyadicDot;
  using Words = DyadicWords;

  Dyadic plus(const Dyadic& other, bool negated) const;
  static Words shifted(const Words& words, int64_t bits);
  static Words sum(const Words& a, const Words& b);
  static Words difference(const Words& larger, const Words& smaller);
  static bool is_less(const Words& a, const Words& b);

  Words words_;  // the magnitude, least significant first, without leading zeros; empty for 0
  int64_t exponent_ = 0;
  bool negative_ = false;
};

/// The exact sum of a number and of products of numbers with binary64 numbers: what rounding leaves of a linear
/// equation. One long integer takes all of it, which is some times faster than the same by Dyadic's operators. The
/// numbers are referred to, so they must outlive it.
class DyadicDot {
 public:
  explicit DyadicDot(const Dyadic& first) { add(first, 1.0); }
  /// Adds number * factor; the factor is finite.
  void add(const Dyadic& number, double factor);
  void subtract(const Dyadic& number, double factor) { add(number, -factor); }
  Dyadic sum() const;

 private:
  struct Term {
    const Dyadic* number;
    uint64_t mantissa;  // of the factor
    int64_t exponent;   // of the product's lowest bit
    bool negative;
  };
  static void add_to(std::vector<uint64_t>& total, const Term& term, int64_t bits);

  std::vector<Term> terms_;
};

}  // namespace manymeans
