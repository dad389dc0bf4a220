#include "product/product_certify.h"

#include "core/exact_numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace manymeans::test {
namespace {

// The float32 nearest to a rational number that is no denormal.
float nearest_float(const mpq_class& value) {
  const int unit = exponent_of(value) - 24;
  return static_cast<float>(std::ldexp(nearest_integer(scaled(value, -unit)).get_d(), unit));
}

TEST(ProductCertify, WhatIsProvedOfFloat32HoldsAtBothEnds) {
  std::mt19937_64 random(1);
  int proved = 0, left = 0;
  for (int round = 0; round < 20'000; ++round) {
    // Near the middle of two neighbours, as often on one side as on the other.
    const float below = static_cast<float>(random_double(random, -3, 3));
    const double middle = static_cast<double>(below) + std::ldexp(1.0, std::ilogb(below) - 24);
    const double sum = middle + std::ldexp(random_double(random, -1, 1), -30 - static_cast<int>(random() % 15));
    const double bound = std::ldexp(1.0, -30 - static_cast<int>(random() % 20));
    float entry = 0;
    if (!certify_float(sum, bound, false, entry)) {
      ++left;
      continue;
    }
    ++proved;
    ASSERT_EQ(entry, nearest_float(exact(sum) - exact(bound)));
    ASSERT_EQ(entry, nearest_float(exact(sum) + exact(bound)));
  }
  EXPECT_GT(proved, 1000);
  EXPECT_GT(left, 1000);
}

TEST(ProductCertify, NothingIsProvedOfWhatIsNotFinite) {
  float entry = 0;
  EXPECT_FALSE(certify_float(1, HUGE_VAL, false, entry));
  EXPECT_FALSE(certify_float(NAN, 1, false, entry));
  EXPECT_FALSE(certify_float(1, NAN, false, entry));
  EXPECT_FALSE(certify_float(0, 0x1p-200, false, entry));  // of either sign
  EXPECT_TRUE(certify_float(0, 0, true, entry));
  double wide = 0;
  EXPECT_FALSE(certify_double({NAN, 0, 0}, 1, 0, false, wide));
  EXPECT_FALSE(certify_double({0.5, 0, 0}, HUGE_VAL, 0, true, wide));
  EXPECT_FALSE(certify_double({0.5, 0, 0}, 0x1p-1022, 0, true, wide));  // may have rounded
  EXPECT_TRUE(certify_double({0, 0, 0}, 1, 0, true, wide));
}

TEST(ProductCertify, WhatIsProvedOfFloat64HoldsAtBothEnds) {
  std::mt19937_64 random(2);
  int proved = 0, left = 0;
  for (int round = 0; round < 20'000; ++round) {
    const SlicedSums sums = {random_double(random, -2, 0), std::ldexp(random_double(random, -2, 0), -22),
                             std::ldexp(random_double(random, -2, 0), -44)};
    const double error = std::ldexp(1.0, -60 - static_cast<int>(random() % 20));
    double entry = 0;
    if (!certify_double(sums, 4, error, false, entry)) {
      ++left;
      continue;
    }
    ++proved;
    const mpq_class sum = exact(sums.high) + exact(sums.middle) + exact(sums.low);
    ASSERT_EQ(entry, 4 * nearest_double(sum - exact(error)));
    ASSERT_EQ(entry, 4 * nearest_double(sum + exact(error)));
  }
  EXPECT_GT(proved, 1000);
  EXPECT_GT(left, 10);
}

}  // namespace
}  // namespace manymeans::test
