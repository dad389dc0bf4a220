// The assignment against all labellings there are, and its proof by prices on larger problems.
#include "backend/balanced/balanced_assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

struct Problem {
  std::vector<int64_t> values;  // cost of row i in cluster c at c * n + i
  int64_t n = 0, k = 0;
  SizeLimits sizes;

  AssignmentCosts costs() const { return {values, n, k}; }
  int64_t total(const std::vector<uint32_t>& labels) const {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += values[static_cast<size_t>(labels[static_cast<size_t>(i)] * n + i)];
    return sum;
  }
  std::vector<int64_t> counts(const std::vector<uint32_t>& labels) const {
    std::vector<int64_t> found(static_cast<size_t>(k));
    for (const uint32_t label : labels) ++found[label];
    return found;
  }
  bool fits(const std::vector<uint32_t>& labels) const {
    return std::ranges::all_of(counts(labels),
                               [&](int64_t count) { return count >= sizes.least && count <= sizes.most; });
  }
};

// Every labelling, in lexicographic order: the first of the cheapest.
std::vector<uint32_t> by_trying_all(const Problem& problem) {
  std::vector<uint32_t> labels(static_cast<size_t>(problem.n)), best;
  while (true) {
    if (problem.fits(labels) && (best.empty() || problem.total(labels) < problem.total(best))) best = labels;
    int64_t i = problem.n - 1;
    while (i >= 0 && labels[static_cast<size_t>(i)] + 1 == problem.k) labels[static_cast<size_t>(i--)] = 0;
    if (i < 0) return best;
    ++labels[static_cast<size_t>(i)];
  }
}

Problem random_problem(std::mt19937_64& random, int64_t n, int64_t k, uint64_t largest) {
  Problem problem{{}, n, k, {}};
  for (int64_t i = 0; i < n * k; ++i) problem.values.push_back(static_cast<int64_t>(random() % (largest + 1)));
  problem.sizes.least = static_cast<int64_t>(random() % static_cast<uint64_t>(n / k + 1));
  const int64_t fewest = (n + k - 1) / k;
  problem.sizes.most = fewest + static_cast<int64_t>(random() % static_cast<uint64_t>(n - fewest + 1));
  return problem;
}

// Prices under which no row would rather be elsewhere, and no size is kept to without need.
void expect_proved(const Problem& problem, const std::vector<uint32_t>& labels, const std::vector<int64_t>& prices) {
  ASSERT_TRUE(problem.fits(labels));
  const auto at = [&](int64_t i, int64_t c) {
    return problem.values[static_cast<size_t>(c * problem.n + i)] + prices[static_cast<size_t>(c)];
  };
  for (int64_t i = 0; i < problem.n; ++i) {
    for (int64_t c = 0; c < problem.k; ++c) ASSERT_LE(at(i, labels[static_cast<size_t>(i)]), at(i, c)) << i << " " << c;
  }
  if (problem.sizes.least == problem.sizes.most) return;
  const std::vector<int64_t> counts = problem.counts(labels);
  for (size_t c = 0; c < prices.size(); ++c) {
    if (prices[c] > 0) {
      EXPECT_EQ(counts[c], problem.sizes.most);
    }
    if (prices[c] < 0) {
      EXPECT_EQ(counts[c], problem.sizes.least);
    }
  }
}

TEST(BalancedAssignment, IsTheFirstOfTheCheapestLabellings) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 1500; ++trial) {
    const auto k = static_cast<int64_t>(1 + random() % 4);
    const auto n = k + static_cast<int64_t>(random() % static_cast<uint64_t>(8 - k));
    const uint64_t largest = trial % 3 == 0 ? 1 : trial % 3 == 1 ? 5 : uint64_t{1} << cost_bits(k);
    const Problem problem = random_problem(random, n, k, largest);
    std::vector<int64_t> prices(static_cast<size_t>(k));
    if (trial % 2 == 1) {  // those of something else
      for (int64_t& price : prices)
        price = static_cast<int64_t>(random() % (2 * largest + 1)) - static_cast<int64_t>(largest);
    }
    const std::vector<uint32_t> labels = assign_balanced(problem.costs(), problem.sizes, prices);
    ASSERT_EQ(labels, by_trying_all(problem)) << "trial " << trial << " n " << n << " k " << k;
    expect_proved(problem, labels, prices);
  }
}

TEST(BalancedAssignment, IsProvedByItsPrices) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 60; ++trial) {
    const auto k = static_cast<int64_t>(1 + random() % 30);
    const auto n = k + static_cast<int64_t>(random() % 600);
    Problem problem = random_problem(random, n, k, trial % 2 == 0 ? 9 : uint64_t{1} << cost_bits(k));
    if (trial % 5 == 0) problem.sizes = {n / k, (n + k - 1) / k};
    std::vector<int64_t> cold(static_cast<size_t>(k));
    const std::vector<uint32_t> labels = assign_balanced(problem.costs(), problem.sizes, cold);
    expect_proved(problem, labels, cold);
    // Where it begins does not matter.
    std::vector<int64_t> warm = cold;
    for (int64_t& price : warm) price += static_cast<int64_t>(random() % 7) - 3;
    EXPECT_EQ(assign_balanced(problem.costs(), problem.sizes, warm), labels);
  }
}

// Distances of rows to clusters far apart, so that many rows have to go a long way.
TEST(BalancedAssignment, RowsThatAllWantTheSameCluster) {
  for (const int64_t k : {2, 7, 40}) {
    const int64_t n = 25 * k;
    Problem problem{{}, n, k, {25, 25}};
    for (int64_t c = 0; c < k; ++c) {
      for (int64_t i = 0; i < n; ++i) problem.values.push_back((1000 * c + i % 97) * (1000 * c + i % 97));
    }
    std::vector<int64_t> prices(static_cast<size_t>(k));
    const std::vector<uint32_t> labels = assign_balanced(problem.costs(), problem.sizes, prices);
    expect_proved(problem, labels, prices);
  }
}

TEST(BalancedAssignment, EqualRowsFillClustersInOrder) {
  const int64_t n = 2000, k = 20;
  const Problem problem{std::vector<int64_t>(static_cast<size_t>(n * k)), n, k, {50, 400}};
  std::vector<int64_t> prices(static_cast<size_t>(k));
  const std::vector<uint32_t> labels = assign_balanced(problem.costs(), problem.sizes, prices);
  EXPECT_TRUE(std::ranges::is_sorted(labels));
  std::vector<int64_t> counts(static_cast<size_t>(k), 50);
  counts[0] = counts[1] = 400;
  counts[2] = 350;
  EXPECT_EQ(problem.counts(labels), counts);
}

TEST(BalancedAssignment, CostsLeaveRoomForPaths) {
  for (const int64_t k : {1, 2, 3, 100, 16384}) {
    EXPECT_LE(cost_bits(k) + static_cast<int>(std::bit_width(static_cast<uint64_t>(k))), 58);
    EXPECT_GT(cost_bits(k), 40);
  }
}

}  // namespace
}  // namespace manymeans::test
