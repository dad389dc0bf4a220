#include "engine/leaf_quotas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace manymeans {
namespace {

using Numbers = std::vector<int64_t>;

Numbers shares_of(int64_t leaves, const Numbers& rows, const Numbers& weights) {
  std::vector<ChildRows> children;
  for (const int64_t count : rows) children.push_back({count, {}});
  return share_leaves(leaves, children, weights);
}

TEST(ShareLeaves, FollowsWeightsRemaindersAndRows) {
  EXPECT_EQ(shares_of(13, {100, 100, 100}, {1, 3, 6}), Numbers({2, 4, 7}));
  EXPECT_EQ(shares_of(14, {100, 100, 100}, {1, 3, 6}), Numbers({2, 4, 8}));            // 1.1, 3.3, 6.6
  EXPECT_EQ(shares_of(5, {100, 100, 100, 100}, {1, 1, 1, 1}), Numbers({2, 1, 1, 1}));  // the first of equals
  EXPECT_EQ(shares_of(13, {100, 100, 4}, {1, 3, 6}), Numbers({3, 6, 4}));  // 7 leaves by 1 and 3: 1.75, 5.25
  EXPECT_EQ(shares_of(9, {2, 3, 9}, {9, 9, 0}), Numbers({2, 3, 4}));       // then by rows, where no weight is left
  EXPECT_EQ(shares_of(7, {1, 4, 10}, {0, 0, 0}), Numbers({1, 2, 4}));      // by 0, 3 and 9
  EXPECT_EQ(shares_of(15, {1, 4, 10}, {7, 0, 1}), Numbers({1, 4, 10}));
  EXPECT_EQ(shares_of(1, {1}, {0}), Numbers({1}));
}

TEST(ShareLeaves, GivesNoChildMoreLeavesThanRows) {
  std::mt19937_64 random(1);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int round = 0; round < 5000; ++round) {
    Numbers rows(static_cast<size_t>(1 + below(9))), weights, others;
    for (int64_t& count : rows) count = 1 + below(below(2) > 0 ? 4 : int64_t{1} << 36);
    while (weights.size() < rows.size()) weights.push_back(below(3) > 0 ? below(int64_t{1} << (1 + below(31))) : 0);
    for (const int64_t count : rows) others.push_back(count - 1);
    const int64_t all = std::accumulate(rows.begin(), rows.end(), int64_t{0});
    const int64_t leaves = std::ssize(rows) + below(all - std::ssize(rows) + 1);
    const Numbers shares = shares_of(leaves, rows, weights);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), int64_t{0}), leaves);
    for (size_t c = 0; c < rows.size(); ++c) EXPECT_TRUE(shares[c] >= 1 && shares[c] <= rows[c]);
    EXPECT_EQ(shares_of(leaves, rows, Numbers(rows.size())), shares_of(leaves, rows, others));
  }
}

}  // namespace
}  // namespace manymeans
