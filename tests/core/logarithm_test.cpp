#include "core/logarithm.h"

#include "core/hostile_environment.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();

// In units in the last place of the right answer. A long double has 11 bits more here.
double error_of(double found, long double right) {
  const auto rounded = static_cast<double>(right);
  const double unit = std::nextafter(std::fabs(rounded), kInfinity) - std::fabs(rounded);
  return static_cast<double>(std::fabs(static_cast<long double>(found) - right)) / unit;
}

TEST(Logarithm, IsRightToOneUnit) {
  std::mt19937_64 random(5);
  std::vector<double> values = {kSmallest, 3 * kSmallest,         0x1p-1022, 1 - 0x1p-53, 1 + 0x1p-52, 2,
                                10,        0x1.fffffffffffffp1023};
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(std::bit_cast<double>(random() % 0x7ff0000000000000));
    values.push_back(std::ldexp(static_cast<double>(random()), -64 + i % 3));
  }
  for (const double x : values) {
    if (x == 0 || x == 1) continue;
    EXPECT_LT(error_of(logarithm(x), std::log(static_cast<long double>(x))), 1) << std::hexfloat << x;
    EXPECT_LT(error_of(logarithm_of_one_plus(x), std::log1p(static_cast<long double>(x))), 4) << std::hexfloat << x;
  }
  for (double x = 0x1p-60; x < 1; x *= 1.7) {
    EXPECT_LT(error_of(logarithm_of_one_plus(-x), std::log1p(-static_cast<long double>(x))), 4) << std::hexfloat << x;
  }
}

// Bits that an other order of the operations would not give: contract, "Logarithm".
TEST(Logarithm, HasTheseBits) {
  EXPECT_EQ(logarithm(2), 0x1.62e42fefa39efp-1);
  EXPECT_EQ(logarithm(10), 0x1.26bb1bbb55516p+1);
  EXPECT_EQ(logarithm(kSmallest), -0x1.74385446d71c3p+9);
  EXPECT_EQ(logarithm_of_one_plus(0.1), 0x1.8663f793c46c7p-4);
}

TEST(Logarithm, AtTheEnds) {
  EXPECT_EQ(logarithm(1), 0);
  EXPECT_EQ(logarithm(0), -kInfinity);
  EXPECT_EQ(logarithm(-0.0), -kInfinity);
  EXPECT_EQ(logarithm(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(logarithm(-1)));
  EXPECT_TRUE(std::isnan(logarithm(std::nan(""))));
  EXPECT_EQ(logarithm_of_one_plus(0), 0);
  EXPECT_EQ(logarithm_of_one_plus(1e-300), 1e-300);
  EXPECT_EQ(logarithm_of_one_plus(-1), -kInfinity);
  EXPECT_EQ(logarithm_of_one_plus(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(logarithm_of_one_plus(-2)));
  EXPECT_TRUE(std::isnan(logarithm_of_one_plus(-kInfinity)));
}

}  // namespace
}  // namespace manymeans::test
