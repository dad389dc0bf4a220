#include "product/product_sum.h"

#include "core/exact_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

namespace manymeans::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
T sum_of(const std::vector<std::pair<double, double>>& pairs) {
  ProductSum sum;
  for (const auto& [a, b] : pairs) sum.add(a, b);
  return sum.rounded<T>();
}

double exact_sum_of(const std::vector<std::pair<double, double>>& pairs) {
  mpq_class sum = 0;
  for (const auto& [a, b] : pairs) sum += exact(a) * exact(b);
  return nearest_double(sum);
}

TEST(ProductSum, IsTheExactSumRoundedOnce) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    const int reach = round % 3 == 0 ? 2 : round % 3 == 1 ? 60 : 500;
    std::vector<std::pair<double, double>> pairs;
    for (uint64_t l = random() % 12; l > 0; --l) {
      pairs.emplace_back(random_double(random, -reach, reach), random_double(random, -reach, reach));
      if (random() % 3 == 0) pairs.emplace_back(-pairs.back().first, pairs.back().second);
    }
    EXPECT_EQ(sum_of<double>(pairs), exact_sum_of(pairs));
  }
}

TEST(ProductSum, ReachesFromTheLeastToTheLargestProduct) {
  const double least = std::numeric_limits<double>::denorm_min(), most = std::numeric_limits<double>::max();
  EXPECT_EQ(sum_of<double>({{most, most}, {least, least}, {-most, most}, {least, 0x1p600}}), least * 0x1p600);
  EXPECT_EQ(sum_of<double>({{least, 0.5}}), 0);  // a tie, to even
  EXPECT_EQ(sum_of<double>({{least, 0.5}, {least, least}}), least);
  EXPECT_EQ(sum_of<double>({{3 * least, 0.5}}), 2 * least);
  EXPECT_EQ(sum_of<double>({{most, 1}, {0x1p1000, 0x1p-30}}), kInfinity);  // half a unit: a tie, to what would be even
  EXPECT_EQ(sum_of<double>({{most, 1}, {0x1p1000, 0x1p-30}, {-least, least}}), most);
  EXPECT_EQ(sum_of<double>({{most, most}}), kInfinity);
  EXPECT_EQ(sum_of<double>({{-most, most}}), -kInfinity);
}

TEST(ProductSum, Float32IsRoundedOnce) {
  // 1 + 2^-24 + 2^-60: binary64 would make a tie of it.
  EXPECT_EQ(sum_of<float>({{1, 1}, {0x1p-24, 1}}), 1.0F);
  EXPECT_EQ(sum_of<float>({{1, 1}, {0x1p-24, 1}, {0x1p-60, 1}}), 1.0F + 0x1p-23F);
  EXPECT_EQ(sum_of<float>({{0x1p-75, 0x1p-75}}), 0.0F);
  EXPECT_EQ(sum_of<float>({{0x1p-75, 0x1p-75}, {0x1p-100, 0x1p-100}}), 0x1p-149F);
  EXPECT_EQ(sum_of<float>({{0x1p127, 2}, {-0x1p103, 1}}), kInfinity);
  EXPECT_EQ(sum_of<float>({{0x1p127, 2}, {-0x1p103, 1}, {-0x1p-149, 1}}), std::numeric_limits<float>::max());
}

TEST(ProductSum, ZeroIsPositive) {
  for (const std::vector<std::pair<double, double>>& pairs :
       std::vector<std::vector<std::pair<double, double>>>{{}, {{-0.0, 1}}, {{-3, 2}, {2, 3}}, {{-3, 2}, {3, 2}}}) {
    EXPECT_EQ(sum_of<double>(pairs), 0);
    EXPECT_FALSE(std::signbit(sum_of<double>(pairs)));
  }
  EXPECT_TRUE(std::signbit(sum_of<float>({{-0x1p-100, 0x1p-100}})));  // not zero before it was rounded
}

TEST(ProductSum, WhatIsNotFinite) {
  EXPECT_EQ(sum_of<double>({{kInfinity, 2}, {-0x1p1000, 0x1p1000}}), kInfinity);
  EXPECT_EQ(sum_of<double>({{kInfinity, -2}, {1, 1}}), -kInfinity);
  EXPECT_TRUE(std::isnan(sum_of<double>({{kInfinity, 2}, {kInfinity, -2}})));
  EXPECT_TRUE(std::isnan(sum_of<double>({{kInfinity, 0}})));
  EXPECT_TRUE(std::isnan(sum_of<float>({{0, kNan}, {kInfinity, 1}})));
  EXPECT_FALSE(std::signbit(sum_of<float>({{-kNan, 1}})));
}

TEST(ProductSum, ManyOfOneSign) {
  ProductSum sum;
  for (int l = 0; l < 1'000'000; ++l) sum.add(-0x1.fffffffffffffp+0, 0x1.fffffffffffffp+0);
  EXPECT_EQ(sum.rounded<double>(),
            nearest_double(exact(0x1.fffffffffffffp+0) * exact(0x1.fffffffffffffp+0) * -1'000'000));
}

// Threads that add up as the lanes of a warp do.
class ThreadTeam {
 public:
  explicit ThreadTeam(int members) : numbers_(static_cast<size_t>(members)), meeting_(members) {}

  struct Member {
    ThreadTeam* team;
    size_t number;

    int least(int mine) const { return static_cast<int>(*std::ranges::min_element(all(mine))); }
    int most(int mine) const { return static_cast<int>(*std::ranges::max_element(all(mine))); }
    bool any(bool mine) const { return *std::ranges::max_element(all(mine ? 1 : 0)) != 0; }
    int64_t sum(int64_t mine) const {
      const std::vector<int64_t>& numbers = all(mine);
      return std::accumulate(numbers.begin(), numbers.end(), int64_t{0});
    }

   private:
    const std::vector<int64_t>& all(int64_t mine) const {
      team->meeting_.arrive_and_wait();
      team->numbers_[number] = mine;
      team->meeting_.arrive_and_wait();
      return team->numbers_;
    }
  };

 private:
  std::vector<int64_t> numbers_;
  std::barrier<> meeting_;
};

TEST(ProductSum, IsTheSameInATeam) {
  constexpr int kMembers = 3;
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; ++round) {
    const int reach = round % 2 == 0 ? 5 : 500;
    std::vector<std::pair<double, double>> pairs;
    for (uint64_t l = random() % 10; l > 0; --l) {
      pairs.emplace_back(random_double(random, -reach, reach), random_double(random, -reach, reach));
      if (random() % 2 == 0) pairs.emplace_back(-pairs.back().first, pairs.back().second);
    }
    if (round % 10 == 9) pairs.emplace_back(kInfinity, 1);
    ThreadTeam team(kMembers);
    std::vector<double> found(kMembers);
    std::vector<std::thread> threads;
    for (size_t member = 0; member < kMembers; ++member) {
      threads.emplace_back([&, member] {
        ProductSum sum;
        for (size_t l = member; l < pairs.size(); l += kMembers) sum.add(pairs[l].first, pairs[l].second);
        sum.join(ThreadTeam::Member{&team, member});
        found[member] = sum.rounded<double>();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const double sum : found) EXPECT_EQ(sum, sum_of<double>(pairs));
  }
}

}  // namespace
}  // namespace manymeans::test
