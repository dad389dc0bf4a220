// Sorting values together with their places.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace manymeans {

template <class T>
struct SortedValue {
  T value;     ///< -0 is +0
  size_t row;  ///< among the given values
};

/// Finite values in ascending order, equal ones in the order given. T: float or double. By digits: comparisons take
/// five times as long for 4,096 values.
template <class T>
std::vector<SortedValue<T>> sorted_values(std::span<const T> values) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  constexpr int kBits = 8 * sizeof(T), kDigit = 11;
  constexpr size_t kDigits = (kBits + kDigit - 1) / kDigit, kMask = (size_t{1} << kDigit) - 1;
  const auto key = [](T value) {  // unsigned integers in the order of the values
    const auto bits = std::bit_cast<Bits>(value);
    return bits >> (kBits - 1) != 0 ? ~bits : bits | Bits{1} << (kBits - 1);
  };
  std::vector<SortedValue<T>> sorted(values.size());
  for (size_t i = 0; i < values.size(); ++i) sorted[i] = {values[i] + T{0}, i};
  constexpr size_t kFew = 1024;  // where counting digits takes longer than comparing
  if (values.size() < kFew) {
    std::ranges::stable_sort(sorted, {}, &SortedValue<T>::value);
    return sorted;
  }
  std::vector<std::array<size_t, kMask + 1>> places(kDigits);
  for (const SortedValue<T>& item : sorted) {
    for (size_t digit = 0; digit < kDigits; ++digit) ++places[digit][key(item.value) >> (kDigit * digit) & kMask];
  }
  std::vector<SortedValue<T>> moved(values.size());
  for (size_t digit = 0; digit < kDigits; ++digit) {
    auto& place = places[digit];
    if (place[key(sorted[0].value) >> (kDigit * digit) & kMask] == values.size()) continue;  // one digit for all
    size_t before = 0;
    for (size_t& count : place) before += std::exchange(count, before);
    for (const SortedValue<T>& item : sorted) moved[place[key(item.value) >> (kDigit * digit) & kMask]++] = item;
    sorted.swap(moved);
  }
  return sorted;
}

}  // namespace manymeans
