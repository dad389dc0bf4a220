// A signed integer of 448 bits: large enough for every sum of the contract, exact, and slow.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace manymeans {

class WideInt {
 public:
  static constexpr int kWords = 7;

  WideInt() = default;
  explicit WideInt(int64_t value) { add_shifted(value, 0); }

  /// *this += value * 2^shift, for 0 <= shift < 384.
  void add_shifted(int64_t value, int shift);
  WideInt& operator+=(const WideInt& other);
  WideInt operator-() const;
  WideInt operator-(const WideInt& other) const { return WideInt(*this) += -other; }
  /// this * factor.
  WideInt times(uint64_t factor) const;
  /// this * 2^64.
  WideInt shift_left_64() const;
  /// floor(this / 2^64).
  WideInt shift_right_64() const;

  bool negative() const { return static_cast<int64_t>(words_[kWords - 1]) < 0; }
  bool is_zero() const;
  /// One of its 64-bit words in two's complement, the least significant first.
  uint64_t word(int i) const { return words_[static_cast<std::size_t>(i)]; }
  std::strong_ordering operator<=>(const WideInt& other) const;
  bool operator==(const WideInt& other) const = default;

  /// The nearest binary64, ties to even.
  double to_double() const;

 private:
  int bit_length() const;  // of a non-negative number

  std::array<uint64_t, kWords> words_{};  // two's complement, least significant first
};

}  // namespace manymeans
