#include "engine/row_pairs.h"

#include <manymeans/compare.h>

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>

namespace manymeans::test {
namespace {

using Pairs = std::vector<int64_t>;

TEST(RowPairs, AreAllWhereThereAreNoMore) {
  RowPairs pairs(4, 6, 1);
  EXPECT_EQ(pairs.size(), 6);
  EXPECT_EQ(pairs.next(4), (Pairs{0, 1, 0, 2, 0, 3, 1, 2}));
  EXPECT_EQ(pairs.next(4), (Pairs{1, 3, 2, 3}));
  EXPECT_TRUE(pairs.next(4).empty());
  EXPECT_EQ(RowPairs(1, 10, 1).size(), 0);
  EXPECT_EQ(RowPairs(0, 10, 1).size(), 0);
  EXPECT_EQ(RowPairs(100, 0, 1).size(), 0);
}

TEST(RowPairs, AreDrawnByCounter) {
  RowPairs at_once(1000, 5000, 7), in_parts(1000, 5000, 7), others(1000, 5000, 8);
  const Pairs all = at_once.next(5000);
  ASSERT_EQ(all.size(), 10'000u);
  Pairs parts = in_parts.next(64);
  for (Pairs more = in_parts.next(4000); !more.empty(); more = in_parts.next(4000)) {
    parts.insert(parts.end(), more.begin(), more.end());
  }
  EXPECT_EQ(parts, all);
  EXPECT_NE(others.next(5000), all);
  std::set<int64_t> rows;
  for (size_t t = 0; t < all.size(); t += 2) {
    EXPECT_NE(all[t], all[t + 1]);
    rows.insert({all[t], all[t + 1]});
  }
  EXPECT_EQ(*rows.begin(), 0);
  EXPECT_EQ(*rows.rbegin(), 999);
  EXPECT_GT(rows.size(), 990u);
  // So many that they could not be counted.
  RowPairs many(int64_t{1} << 40, 3, 1);
  EXPECT_EQ(many.next(10).size(), 6u);
}

// Over all pairs the index is that of the labels.
TEST(CoAssociation, AdjustedRandIsThatOfTheLabels) {
  std::mt19937_64 random(1);
  const int64_t n = 90;
  std::vector<std::vector<int64_t>> labels(3, std::vector<int64_t>(n));
  for (auto& its : labels) {
    for (int64_t& label : its) label = static_cast<int64_t>(random() % 4);
  }
  for (int64_t i = 0; i < n; i += 2) labels[1][static_cast<size_t>(i)] = labels[0][static_cast<size_t>(i)];
  CoAssociation together(3);
  RowPairs pairs(n, n * n, 1);
  for (Pairs rows = pairs.next(640); !rows.empty(); rows = pairs.next(640)) {
    for (size_t m = 0; m < 3; ++m) {
      std::vector<uint32_t> of_rows;
      for (const int64_t row : rows) of_rows.push_back(static_cast<uint32_t>(labels[m][static_cast<size_t>(row)]));
      together.add(m, of_rows);
    }
  }
  EXPECT_EQ(together.pairs(), n * (n - 1) / 2);
  for (size_t a = 0; a < 3; ++a) {
    for (size_t b = 0; b < 3; ++b) {
      EXPECT_DOUBLE_EQ(together.adjusted_rand(a, b), compare_labels(labels[a], labels[b]).adjusted_rand);
    }
  }
}

TEST(CoAssociation, AmbiguousPairs) {
  CoAssociation together;
  for (uint32_t member = 0; member < 10; ++member) {
    // Pairs that all, nine, five, one and none of ten members have together.
    together.add_member(std::vector<uint32_t>{0, 0, 0, member == 9, 0, member >= 5, 0, member != 3, 0, 1});
  }
  EXPECT_EQ(together.pairs(), 5);
  EXPECT_DOUBLE_EQ(together.ambiguous(), 0.2);
}

}  // namespace
}  // namespace manymeans::test
