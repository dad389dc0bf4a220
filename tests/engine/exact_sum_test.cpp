#include "engine/exact_sum.h"

#include "core/exact_numbers.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

TEST(ExactSum, IsTheRationalSumRoundedOnce) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    const int range = 1 + static_cast<int>(random() % 1000);
    ExactSum sum, half;
    mpq_class truth = 0;
    for (int i = 0; i < 50; ++i) {
      const int power = static_cast<int>(random() % static_cast<uint64_t>(2 * range)) - range;
      const double value = std::ldexp(static_cast<double>(random() % 1000003), power);
      (i % 2 == 0 ? sum : half).add(value);
      truth += exact(value);
    }
    sum.add(half);
    EXPECT_EQ(sum.rounded(), nearest_double(truth)) << round;
  }
}

TEST(ExactSum, TakesTheSmallestAndTheLargestNumbers) {
  ExactSum sum;
  EXPECT_EQ(sum.rounded(), 0);
  sum.add(std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(sum.rounded(), std::numeric_limits<double>::denorm_min());
  sum.add(std::numeric_limits<double>::max());
  EXPECT_EQ(sum.rounded(), std::numeric_limits<double>::max());
  sum.add(std::numeric_limits<double>::max());
  EXPECT_EQ(sum.rounded(), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace manymeans::test
