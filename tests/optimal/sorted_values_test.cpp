#include "optimal/sorted_values.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace manymeans {
namespace {

template <class T>
void compare_with_stable_sort(size_t count) {
  std::mt19937_64 random(count);
  std::vector<T> values(count);
  for (T& value : values) {
    value = std::ldexp(static_cast<T>(static_cast<int64_t>(random() % 7) - 3), static_cast<int>(random() % 60) - 30);
  }
  values[0] = std::numeric_limits<T>::max();
  values[count / 2] = std::numeric_limits<T>::lowest();
  values[count - 1] = -std::numeric_limits<T>::denorm_min();
  std::vector<size_t> rows(count);
  for (size_t i = 0; i < count; ++i) rows[i] = i;
  std::ranges::stable_sort(rows, {}, [&](size_t row) { return values[row]; });
  const auto sorted = sorted_values(std::span<const T>(values));
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(sorted[i].row, rows[i]) << i;
    ASSERT_EQ(sorted[i].value, values[rows[i]]) << i;
  }
}

TEST(SortedValues, AreThoseOfAStableSort) {
  for (const size_t count : {1, 3, 1023, 1024, 5000}) {
    compare_with_stable_sort<float>(count);
    compare_with_stable_sort<double>(count);
  }
}

TEST(SortedValues, HaveNoNegativeZero) {
  const std::vector<float> values(2000, -0.0F);
  for (const auto& item : sorted_values(std::span<const float>(values))) EXPECT_FALSE(std::signbit(item.value));
}

}  // namespace
}  // namespace manymeans
