// The exact sum of any number of binary64 numbers, in whatever order they come.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace manymeans {

/// A fixed-point number of 32-bit digits, from 2^-1074 on, that takes sums of up to 2^60 finite numbers >= 0. Digits
/// carry late: each is a 64-bit integer.
class ExactSum {
 public:
  static constexpr size_t kDigits = 68;

  /// A finite number >= 0.
  void add(double value) {
    const auto bits = std::bit_cast<uint64_t>(value);
    const uint64_t exponent = bits >> 52;
    const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
    const uint64_t integer = exponent == 0 ? fraction : fraction | uint64_t{1} << 52;
    const uint64_t place = exponent == 0 ? 0 : exponent - 1;  // the number is integer * 2^(place - 1074)
    const auto shifted = static_cast<unsigned __int128>(integer) << (place % 32);
    const size_t digit = place / 32;
    digits_[digit] += static_cast<int64_t>(static_cast<uint32_t>(shifted));
    digits_[digit + 1] += static_cast<int64_t>(static_cast<uint32_t>(shifted >> 32));
    digits_[digit + 2] += static_cast<int64_t>(static_cast<uint32_t>(shifted >> 64));
    if (++added_ == kMaxAdded) carry();
  }
  void add(const ExactSum& other);
  /// The digits, each below 2^32: sums of them over ranks are exact.
  std::span<int64_t> digits() {
    carry();
    return digits_;
  }
  /// The sum, rounded once to nearest even; infinite beyond the largest binary64.
  double rounded() const;

 private:
  static constexpr int64_t kMaxAdded = int64_t{1} << 30;
  void carry();

  std::array<int64_t, kDigits> digits_{};
  int64_t added_ = 0;  // since digits carried
};

/// A sum of numbers of any sign, rounded twice.
struct SignedSum {
  ExactSum above = {}, below = {};
  void add(double value) { value < 0 ? below.add(-value) : above.add(value); }
  void add(const SignedSum& other) {
    above.add(other.above);
    below.add(other.below);
  }
  double rounded() const { return above.rounded() - below.rounded(); }
};

}  // namespace manymeans
