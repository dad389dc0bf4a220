#include "core/column_lanes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace manymeans::test {
namespace {

constexpr int64_t kColumns[] = {1, 2, 3, 5, 7, 8, 12, 16, 63, 64, 127, 511, 513};
constexpr int64_t kRows[] = {0, 1, 2, 7, 8, 9, 31, 200};

// Values of every kind: zeros, powers of two, denormals, integers, and some of any exponent.
template <class T>
T any_value(std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  const auto mantissa = static_cast<T>(std::ldexp(static_cast<double>(random() >> 40), -24));
  const int exponent = static_cast<int>(random() % 40) - 20;
  switch (random() % 8) {
    case 0: return 0;
    case 1: return -static_cast<T>(0);
    case 2: return std::ldexp(static_cast<T>(random() % 2 == 0 ? 1 : -1), exponent);
    case 3: return Limits::denorm_min() * static_cast<T>(random() % 1000);
    case 4: return static_cast<T>(static_cast<int64_t>(random() % 2001) - 1000);
    case 5: return std::ldexp(mantissa, Limits::max_exponent / 8);
    default: return std::ldexp(mantissa - static_cast<T>(0.5), exponent);
  }
}

template <class T>
std::vector<T> any_values(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(static_cast<size_t>(count));
  for (T& value : values) value = any_value<T>(random);
  return values;
}

template <class T>
class ColumnLanesOf : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ColumnLanesOf, Types);

TYPED_TEST(ColumnLanesOf, SeeExtremesAndLowestBits) {
  for (const ColumnLanes& lanes : column_lanes()) {
    for (const int64_t d : kColumns) {
      for (const int64_t rows : kRows) {
        const auto x = any_values<TypeParam>(rows * d, static_cast<uint64_t>(1000 * d + rows));
        ColumnScan expected(d), found(d);
        for (int64_t at = 0; at < rows * d; ++at) {
          const double v = x[static_cast<size_t>(at)];
          const double low = v == 0 ? std::numeric_limits<double>::infinity() : std::ldexp(1.0, lowest_bit(v));
          expected.take(static_cast<size_t>(at % d), v, v, 0, low);
        }
        ColumnScanner<TypeParam> scanner(d, lanes);
        const int64_t first = rows / 3;
        EXPECT_TRUE(scanner.add(x.data(), first));
        EXPECT_TRUE(scanner.add(x.data() + first * d, rows - first));
        scanner.merge_into(found);
        EXPECT_EQ(found.minimum, expected.minimum) << lanes.name << " " << d << " " << rows;
        EXPECT_EQ(found.maximum, expected.maximum) << lanes.name << " " << d << " " << rows;
        EXPECT_EQ(found.low, expected.low) << lanes.name << " " << d << " " << rows;
      }
    }
  }
}

TYPED_TEST(ColumnLanesOf, SeeEveryValueThatIsNotFinite) {
  using Limits = std::numeric_limits<TypeParam>;
  for (const ColumnLanes& lanes : column_lanes()) {
    for (const int64_t d : {1, 3, 8, 17}) {
      auto x = any_values<TypeParam>(11 * d, 5);
      for (size_t at = 0; at < x.size(); ++at) {
        for (const TypeParam bad : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
          const TypeParam before = std::exchange(x[at], bad);
          EXPECT_FALSE(ColumnScanner<TypeParam>(d, lanes).add(x.data(), 11)) << lanes.name << " " << d << " " << at;
          x[at] = before;
        }
      }
    }
  }
}

// The sums as MomentAdder has them: other limbs, the same integers. With 51 bits a double holds four of them.
TYPED_TEST(ColumnLanesOf, AddUpTheIntegersOfTheContract) {
  for (const ColumnLanes& lanes : column_lanes()) {
    for (const int64_t d : kColumns) {
      for (const int bits : {20, 44, 51, 52, 61}) {
        const int64_t all = bits > limb_bits(200) ? 2 : 200;  // more would overflow
        const auto x = any_values<TypeParam>(all * d, static_cast<uint64_t>(d * 100 + bits));
        ColumnScanner<TypeParam> scanner(d, lanes);
        scanner.add(x.data(), all);
        ColumnScan scan(d);
        scanner.merge_into(scan);
        std::vector<MomentFormats> formats;
        for (size_t j = 0; j < static_cast<size_t>(d); ++j) {
          formats.push_back(MomentFormats::make(bits, scan.minimum[j], scan.maximum[j]));
        }
        MomentSummer<TypeParam> summer(formats, lanes);
        std::vector<MomentSums> expected(static_cast<size_t>(d));
        for (int64_t row = 0; row < all;) {
          const int64_t some = std::min<int64_t>(all - row, 1 + row % 29);
          summer.add(x.data() + row * d, some);
          row += some;
        }
        for (size_t at = 0; at < x.size(); ++at) {
          const size_t j = at % static_cast<size_t>(d);
          MomentAdder(formats[j]).add(x[at], expected[j]);
        }
        const std::vector<MomentSums>& found = summer.sums();
        for (size_t j = 0; j < expected.size(); ++j) {
          ASSERT_EQ(recombine(found[j].y, formats[j].y), recombine(expected[j].y, formats[j].y))
              << lanes.name << " " << d << " " << bits << " " << j;
          ASSERT_EQ(recombine(found[j].yy, formats[j].yy), recombine(expected[j].yy, formats[j].yy))
              << lanes.name << " " << d << " " << bits << " " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace manymeans::test
