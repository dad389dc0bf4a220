#include "core/dyadic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>

namespace manymeans {
namespace {

constexpr int kWordBits = 64;
constexpr int kDigits = std::numeric_limits<double>::digits;
constexpr int64_t kLowestExponent = -1074;  // of a bit of a binary64

using DoubleWord = unsigned __int128;

int64_t bit_length(const DyadicWords& words) {
  return static_cast<int64_t>(words.size()) * kWordBits - std::countl_zero(words.back());
}

// Returns whether any of the lowest `bits` bits is set.
bool any_below(const DyadicWords& words, int64_t bits) {
  const auto whole = static_cast<size_t>(bits / kWordBits);
  for (size_t i = 0; i < whole; ++i) {
    if (words[i] != 0) return true;
  }
  const int rest = static_cast<int>(bits % kWordBits);
  return rest != 0 && (words[whole] & ((uint64_t{1} << rest) - 1)) != 0;
}

// Bits [first, first + 64) of a magnitude; what lies beyond it is 0.
uint64_t bits_from(const DyadicWords& words, int64_t first) {
  const auto word = static_cast<size_t>(first / kWordBits);
  const int bit = static_cast<int>(first % kWordBits);
  const uint64_t low = word < words.size() ? words[word] >> bit : 0;
  if (bit == 0 || word + 1 >= words.size()) return low;
  return low | words[word + 1] << (kWordBits - bit);
}

// A finite number other than 0 as mantissa * 2^exponent.
struct Parts {
  uint64_t mantissa;
  int64_t exponent;

  explicit Parts(double value) {
    int e = 0;
    mantissa = static_cast<uint64_t>(std::ldexp(std::frexp(std::fabs(value), &e), kDigits));
    exponent = e - kDigits;
  }
};

// total += word * 2^64i, or -= it, in two's complement.
void add_word(std::vector<uint64_t>& total, size_t i, uint64_t word, bool negative) {
  bool carry =
      negative ? __builtin_sub_overflow(total[i], word, &total[i]) : __builtin_add_overflow(total[i], word, &total[i]);
  while (carry && ++i < total.size()) {
    carry = negative ? total[i]-- == 0 : ++total[i] == 0;
  }
}

}  // namespace

Dyadic::Dyadic(double value) : negative_(value < 0) {
  if (value == 0) return;
  const Parts parts(value);
  words_.resize(1);
  words_[0] = parts.mantissa;
  exponent_ = parts.exponent;
}

Dyadic::Dyadic(const WideInt& value, int exponent) : exponent_(exponent), negative_(value.negative()) {
  const WideInt magnitude = negative_ ? -value : value;
  words_.resize(WideInt::kWords);
  for (int i = 0; i < WideInt::kWords; ++i) words_[static_cast<size_t>(i)] = magnitude.word(i);
  words_.trim();
}

Dyadic::Words Dyadic::shifted(const Words& words, int64_t bits) {
  const auto whole = static_cast<size_t>(bits / kWordBits);
  const int rest = static_cast<int>(bits % kWordBits);
  Words result(whole + words.size() + 1);
  uint64_t carry = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    result[whole + i] = words[i] << rest | carry;
    carry = rest == 0 ? 0 : words[i] >> (kWordBits - rest);
  }
  result[whole + words.size()] = carry;
  result.trim();
  return result;
}

Dyadic::Words Dyadic::sum(const Words& a, const Words& b) {
  const Words& longer = a.size() < b.size() ? b : a;
  const Words& shorter = a.size() < b.size() ? a : b;
  Words result = longer;
  DoubleWord carry = 0;
  for (size_t i = 0; i < result.size(); ++i) {
    carry += static_cast<DoubleWord>(result[i]) + (i < shorter.size() ? shorter[i] : 0);
    result[i] = static_cast<uint64_t>(carry);
    carry >>= kWordBits;
  }
  if (carry != 0) {
    result.resize(longer.size() + 1);
    result[longer.size()] = static_cast<uint64_t>(carry);
  }
  return result;
}

Dyadic::Words Dyadic::difference(const Words& larger, const Words& smaller) {
  Words result = larger;
  bool borrow = false;
  for (size_t i = 0; i < result.size(); ++i) {
    const DoubleWord taken = static_cast<DoubleWord>(i < smaller.size() ? smaller[i] : 0) + (borrow ? 1 : 0);
    borrow = result[i] < taken;
    result[i] -= static_cast<uint64_t>(taken);
  }
  result.trim();
  return result;
}

bool Dyadic::is_less(const Words& a, const Words& b) {
  if (a.size() != b.size()) return a.size() < b.size();
  for (size_t i = a.size(); i-- > 0;) {
    if (a[i] != b[i]) return a[i] < b[i];
  }
  return false;
}

Dyadic Dyadic::operator-() const {
  Dyadic result = *this;
  result.negative_ = !negative_ && !is_zero();
  return result;
}

Dyadic Dyadic::plus(const Dyadic& other, bool negated) const {
  const bool other_negative = other.negative_ != negated;
  if (is_zero() || other.is_zero()) {
    Dyadic result = is_zero() ? other : *this;
    if (is_zero()) result.negative_ = other_negative && !other.is_zero();
    return result;
  }
  Dyadic result;
  result.exponent_ = std::min(exponent_, other.exponent_);
  Words moved;
  const bool mine_moves = exponent_ > other.exponent_;
  if (exponent_ != other.exponent_) {
    moved = shifted(mine_moves ? words_ : other.words_, std::abs(exponent_ - other.exponent_));
  }
  const Words& mine = mine_moves ? moved : words_;
  const Words& theirs = exponent_ < other.exponent_ ? moved : other.words_;
  if (negative_ == other_negative) {
    result.negative_ = negative_;
    result.words_ = sum(mine, theirs);
    return result;
  }
  const bool less = is_less(mine, theirs);
  result.words_ = less ? difference(theirs, mine) : difference(mine, theirs);
  result.negative_ = (less ? other_negative : negative_) && !result.is_zero();
  return result;
}

Dyadic Dyadic::operator*(const Dyadic& other) const {
  Dyadic result;
  if (is_zero() || other.is_zero()) return result;
  result.exponent_ = exponent_ + other.exponent_;
  result.negative_ = negative_ != other.negative_;
  result.words_.resize(words_.size() + other.words_.size());
  for (size_t i = 0; i < words_.size(); ++i) {
    DoubleWord carry = 0;
    for (size_t j = 0; j < other.words_.size(); ++j) {
      carry += static_cast<DoubleWord>(words_[i]) * other.words_[j] + result.words_[i + j];
      result.words_[i + j] = static_cast<uint64_t>(carry);
      carry >>= kWordBits;
    }
    result.words_[i + other.words_.size()] = static_cast<uint64_t>(carry);
  }
  result.words_.trim();
  return result;
}

int64_t Dyadic::exponent() const {
  return is_zero() ? 0 : bit_length(words_) + exponent_;
}

double Dyadic::rounded(int64_t shift) const {
  if (is_zero()) return 0;
  const double sign = negative_ ? -1 : 1;
  const int64_t exponent = this->exponent() + shift;
  if (exponent > std::numeric_limits<double>::max_exponent) return sign * std::numeric_limits<double>::infinity();
  if (exponent < kLowestExponent) return sign * 0.0;  // below half of the least binary64
  // The lowest bit that the result can have, as a bit of the magnitude. Below 0 everything fits.
  const int64_t unit = std::max(exponent - kDigits, kLowestExponent);
  const int64_t first = unit - shift - exponent_;
  if (first <= 0)
    return sign * std::ldexp(static_cast<double>(bits_from(words_, 0)), static_cast<int>(exponent_ + shift));
  uint64_t kept = bits_from(words_, first);
  const bool half = (bits_from(words_, first - 1) & 1) != 0;
  if (half && ((kept & 1) != 0 || any_below(words_, first - 1))) ++kept;
  return sign * std::ldexp(static_cast<double>(kept), static_cast<int>(unit));
}

void DyadicDot::add(const Dyadic& number, double factor) {
  if (number.is_zero() || factor == 0) return;
  const Parts parts(factor);
  terms_.push_back({&number, parts.mantissa, number.exponent_ + parts.exponent, number.negative_ != (factor < 0)});
}

// Two's complement; the term's lowest bit is number `bits`.
void DyadicDot::add_to(std::vector<uint64_t>& total, const Term& term, int64_t bits) {
  const auto place = static_cast<size_t>(bits / kWordBits);
  const int rest = static_cast<int>(bits % kWordBits);
  const DyadicWords& words = term.number->words_;
  uint64_t carry = 0;  // of the product
  uint64_t below = 0;  // the product's word before
  for (size_t i = 0; i <= words.size() + 1; ++i) {
    const DoubleWord product = (i < words.size() ? static_cast<DoubleWord>(words[i]) * term.mantissa : 0) + carry;
    const auto word = static_cast<uint64_t>(product);
    carry = static_cast<uint64_t>(product >> kWordBits);
    const uint64_t moved = rest == 0 ? word : word << rest | below >> (kWordBits - rest);
    below = word;
    if (moved != 0) add_word(total, place + i, moved, term.negative);
  }
}

Dyadic DyadicDot::sum() const {
  Dyadic result;
  if (terms_.empty()) return result;
  int64_t lowest = std::numeric_limits<int64_t>::max();
  int64_t highest = std::numeric_limits<int64_t>::min();
  for (const Term& term : terms_) {
    lowest = std::min(lowest, term.exponent);
    const auto words = static_cast<int64_t>(term.number->words_.size());
    highest = std::max(highest, term.exponent + (words + 2) * kWordBits);
  }
  // A word for carries and the sign.
  std::vector<uint64_t> total(static_cast<size_t>((highest - lowest) / kWordBits + 2));
  for (const Term& term : terms_) add_to(total, term, term.exponent - lowest);
  result.negative_ = total.back() >> (kWordBits - 1) != 0;
  if (result.negative_) {
    for (uint64_t& word : total) word = ~word;
    add_word(total, 0, 1, false);
  }
  result.words_.resize(total.size());
  std::ranges::copy(total, result.words_.data());
  result.words_.trim();
  result.negative_ = result.negative_ && !result.is_zero();
  result.exponent_ = lowest;
  return result;
}

}  // namespace manymeans
