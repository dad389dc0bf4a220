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

// Numbers of one to some hundred words, of which some cancel.
TEST(Dyadic, SumsOfProductsAreExact) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Dyadic> numbers;
    std::vector<double> factors;
    Dyadic expected(hostile_double(random));
    const Dyadic first = expected;
    for (int step = 0; step < 5; ++step) {
      Dyadic number(hostile_double(random));
      for (int more = static_cast<int>(random() % 4); more > 0; --more) {
        number = number * Dyadic(hostile_double(random)) + Dyadic(hostile_double(random));
      }
      numbers.push_back(number);
      factors.push_back(hostile_double(random));
    }
    if (round % 3 == 0) numbers.push_back(numbers[0]), factors.push_back(-factors[0]);
    DyadicDot dot(first);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (i % 2 == 0) dot.add(numbers[i], factors[i]), expected = expected + numbers[i] * Dyadic(factors[i]);
      if (i % 2 == 1) dot.subtract(numbers[i], factors[i]), expected = expected - numbers[i] * Dyadic(factors[i]);
    }
    const Dyadic rest = dot.sum() - expected;
    EXPECT_TRUE(rest.is_zero()) << round;
    EXPECT_EQ(dot.sum().negative(), expected.negative()) << round;
    EXPECT_EQ(dot.sum().exponent(), expected.exponent()) << round;
    const auto shift = -expected.exponent();
    EXPECT_EQ(dot.sum().rounded(shift), expected.rounded(shift)) << round;
  }
  const Dyadic one(1);
  DyadicDot nothing(one);
  nothing.subtract(one, 1);
  EXPECT_TRUE(nothing.sum().is_zero());
  EXPECT_FALSE(nothing.sum().negative());
  EXPECT_TRUE(DyadicDot(Dyadic()).sum().is_zero());
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
