#include "core/wide_int.h"

#include <bit>
#include <cmath>

namespace manymeans {

void WideInt::add_shifted(int64_t value, int shift) {
  const uint64_t low = static_cast<uint64_t>(value);
  const uint64_t sign = value < 0 ? ~uint64_t{0} : 0;
  const int word = shift / 64;
  const int bit = shift % 64;
  unsigned __int128 carry = 0;
  for (int i = word; i < kWords; ++i) {
    // Word i of the sign-extended value, shifted left by `shift`.
    const uint64_t here = i == word ? low : sign;
    const uint64_t below = i == word ? 0 : (i == word + 1 ? low : sign);
    const uint64_t term = bit == 0 ? here : (here << bit) | (below >> (64 - bit));
    carry += static_cast<unsigned __int128>(words_[i]) + term;
    words_[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
}

WideInt& WideInt::operator+=(const WideInt& other) {
  unsigned __int128 carry = 0;
  for (int i = 0; i < kWords; ++i) {
    carry += static_cast<unsigned __int128>(words_[i]) + other.words_[i];
    words_[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  return *this;
}

WideInt WideInt::operator-() const {
  WideInt result;
  for (int i = 0; i < kWords; ++i) result.words_[i] = ~words_[i];
  return result += WideInt(1);
}

WideInt WideInt::times(uint64_t factor) const {
  const WideInt magnitude = negative() ? -*this : *this;
  WideInt result;
  unsigned __int128 carry = 0;
  for (int i = 0; i < kWords; ++i) {
    carry += static_cast<unsigned __int128>(magnitude.words_[i]) * factor;
    result.words_[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  return negative() ? -result : result;
}

WideInt WideInt::shift_left_64() const {
  WideInt result;
  for (int i = 1; i < kWords; ++i) result.words_[i] = words_[i - 1];
  return result;
}

WideInt WideInt::shift_right_64() const {
  WideInt result;
  for (int i = 0; i + 1 < kWords; ++i) result.words_[i] = words_[i + 1];
  result.words_[kWords - 1] = negative() ? ~uint64_t{0} : 0;
  return result;
}

bool WideInt::is_zero() const {
  return *this == WideInt();
}

std::strong_ordering WideInt::operator<=>(const WideInt& other) const {
  const int64_t top = static_cast<int64_t>(words_[kWords - 1]);
  const int64_t other_top = static_cast<int64_t>(other.words_[kWords - 1]);
  if (top != other_top) return top <=> other_top;
  for (int i = kWords - 2; i >= 0; --i) {
    if (words_[i] != other.words_[i]) return words_[i] <=> other.words_[i];
  }
  return std::strong_ordering::equal;
}

int WideInt::bit_length() const {
  for (int i = kWords - 1; i >= 0; --i) {
    if (words_[i] != 0) return i * 64 + static_cast<int>(std::bit_width(words_[i]));
  }
  return 0;
}

double WideInt::to_double() const {
  const WideInt magnitude = negative() ? -*this : *this;
  const int length = magnitude.bit_length();
  if (length == 0) return 0;
  // The top 64 bits, with everything below them folded into the lowest bit: 64 bits are more than
  // 53 + guard + sticky, so the conversion below rounds once and correctly.
  const int shift = length - 64;
  uint64_t top = 0;
  if (shift <= 0) {
    top = magnitude.words_[0];
    return std::ldexp(static_cast<double>(top), 0) * (negative() ? -1 : 1);
  }
  const int word = shift / 64;
  const int bit = shift % 64;
  top = magnitude.words_[word] >> bit;
  if (bit != 0 && word + 1 < kWords) top |= magnitude.words_[word + 1] << (64 - bit);
  uint64_t below = bit == 0 ? 0 : magnitude.words_[word] << (64 - bit);
  for (int i = 0; i < word; ++i) below |= magnitude.words_[i];
  if (below != 0) top |= 1;
  const double value = std::ldexp(static_cast<double>(top), shift);
  return negative() ? -value : value;
}

}  // namespace manymeans
