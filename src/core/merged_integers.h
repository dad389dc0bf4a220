// Numbers as 64-bit integers that may be added up or compared wherever they come from: of ranks, or of shards.
#pragma once

#include "core/label_term.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace manymeans {

/// An integer for each binary64 that is not NaN, in their order; -0 is before 0.
inline int64_t in_order(double value) {
  const auto bits = std::bit_cast<int64_t>(value);
  return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
}
inline double from_order(int64_t place) {
  return std::bit_cast<double>(place < 0 ? place ^ std::numeric_limits<int64_t>::max() : place);
}

/// A number of 128 bits in words of 32, whose sums over less than 2^31 parties do not overflow.
constexpr size_t kLabelSumWords = 4;
inline std::array<int64_t, kLabelSumWords> words_of(LabelSum sum) {
  std::array<int64_t, kLabelSumWords> words;
  for (size_t w = 0; w < kLabelSumWords; ++w) words[w] = static_cast<uint32_t>(sum >> (32 * w));
  return words;
}
/// The sum, mod 2^128, of what the words were added up from.
inline LabelSum label_sum_of(std::span<const int64_t> words) {
  LabelSum sum = 0;
  for (size_t w = 0; w < kLabelSumWords; ++w) sum += static_cast<LabelSum>(words[w]) << (32 * w);
  return sum;
}

}  // namespace manymeans
