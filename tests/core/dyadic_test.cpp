#include "core/dyadic.h"

#include "core/exact_numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

// Numbers of few and many bits, of all exponents, with neighbours that cancel.
double hostile_double(std::mt19937_64& random) {
  switch (random() % 5) {
    case 0: return static_cast<double>(static_cast<int64_t>(random() % 9) - 4);
    case 1: return random_double(random, -1074, -1000);
    case 2: return random_double(random, 300, 500);
    case 3: return std::nextafter(1e5, random() % 2 == 0 ? 0 : 1e6);
    default: return random_double(random, -60, 60);
  }
}

double judged(const mpq_class& value) {
  if (exponent_of(value) > 1024) return value < 0 ? -HUGE_VAL : HUGE_VAL;
  return nearest_double(value);
}

TEST(Dyadic, SumsAndProductsAreExact) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    Dyadic value(0.0);
    mpq_class truth = 0;
    for (int step = 0; step < 6; ++step) {
      const double number = hostile_double(random);
      const int what = static_cast<int>(random() % 3);
      if (what == 0) value = value + Dyadic(number), truth += exact(number);
      if (what == 1) value = value - Dyadic(number) * Dyadic(number), truth -= exact(number) * exact(number);
      if (what == 2) value = value * Dyadic(number), truth *= exact(number);
    }
    EXPECT_EQ(value.is_zero(), truth == 0);
    EXPECT_EQ(value.negative(), truth < 0);
    EXPECT_EQ(value.exponent(), exponent_of(truth));
    for (const int shift : {0, -static_cast<int>(value.exponent()), -1060 - static_cast<int>(value.exponent())}) {
      EXPECT_EQ(value.rounded(shift), judged(scaled(truth, shift))) << round;
    }
  }
}

TEST(Dyadic, RoundsTiesToEven) {
  const Dyadic one(1), half(0x1p-53);
  EXPECT_EQ((one + half).rounded(), 1);
  EXPECT_EQ((one + half + half + half).rounded(), 1 + 0x1p-51);
  EXPECT_EQ((one + half + Dyadic(0x1p-1000)).rounded(), 1 + 0x1p-52);
  EXPECT_EQ((Dyadic(0) - one - half).rounded(), -1);
  EXPECT_EQ(Dyadic(1).rounded(-1075), 0);
  EXPECT_EQ(Dyadic(1.5).rounded(-1075), 0x1p-1074);
  EXPECT_EQ(Dyadic(3).rounded(-1075), 0x1p-1073);
  const double largest = std::numeric_limits<double>::max();
  EXPECT_EQ((Dyadic(largest) + Dyadic(largest)).rounded(), HUGE_VAL);
  EXPECT_EQ((Dyadic(largest) + Dyadic(largest)).rounded(-1), largest);
}

TEST(Dyadic, TakesWideIntegers) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 500; ++round) {
    const mpz_class a = random_integer(random, 370), b = random_integer(random, 100);
    const Dyadic sum = Dyadic(to_wide(a), -200) + Dyadic(to_wide(b), 3);
    EXPECT_EQ(sum.rounded(), nearest_double(scaled(a, -200) + scaled(b, 3)));
  }
}

}  // namespace
}  // namespace manymeans::test
