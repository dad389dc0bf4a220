#include "backend/cuda/queries/swap_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

using cuda::FirstTwo;
using cuda::Ranked;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

FirstTwo none() {
  return {{kInfinity, ~0U}, {kInfinity, ~0U}};
}

// In any order, and in parts that meet later, many being equal.
TEST(FirstTwoOfSome, AreThoseOfASort) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<Ranked> all;
    const uint32_t count = 2 + random() % 20;
    for (uint32_t i = 0; i < count; ++i) all.push_back({static_cast<double>(random() % 4), i});
    std::vector<Ranked> sorted = all;
    std::sort(sorted.begin(), sorted.end());
    std::shuffle(all.begin(), all.end(), random);
    FirstTwo whole = none(), part = none(), other = none();
    for (size_t i = 0; i < all.size(); ++i) {
      whole.look_at(all[i]);
      (i % 3 == 0 ? part : other).look_at(all[i]);
    }
    part.look_at(other.first);
    part.look_at(other.second);
    for (const FirstTwo& found : {whole, part}) {
      EXPECT_EQ(found.first.number, sorted[0].number);
      EXPECT_EQ(found.second.number, sorted[1].number);
      EXPECT_EQ(found.first.value, sorted[0].value);
      EXPECT_EQ(found.second.value, sorted[1].value);
    }
  }
}

TEST(FirstTwoOfSome, KnowNoNumbers) {
  FirstTwo two = none();
  two.look_at({std::numeric_limits<double>::quiet_NaN(), 3});
  EXPECT_EQ(two.first.number, ~0U);
  two.look_at({5, 4});
  EXPECT_EQ(two.first.number, 4U);
  EXPECT_EQ(two.second.number, ~0U);
}

}  // namespace
}  // namespace manymeans::test
