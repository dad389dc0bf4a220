// Shares of about as many clusters, none of them empty.
#include "backend/deal_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

using Numbers = std::vector<int64_t>;

TEST(DealModels, GivesEachDeviceAboutAsManyClusters) {
  EXPECT_EQ(deal_models(Numbers{8, 8, 8, 8}, 2), (Numbers{2, 4}));
  EXPECT_EQ(deal_models(Numbers{1, 1, 1, 9}, 2), (Numbers{3, 4}));
  EXPECT_EQ(deal_models(Numbers{9, 1, 1, 1}, 2), (Numbers{1, 4}));
  EXPECT_EQ(deal_models(Numbers{5}, 1), (Numbers{1}));
  EXPECT_EQ(deal_models(Numbers{100, 1, 1}, 3), (Numbers{1, 2, 3}));
  EXPECT_EQ(deal_models(Numbers{1, 1, 100}, 3), (Numbers{1, 2, 3}));
}

TEST(DealModels, NoShareIsEmptyOrLongerThanItsPartAndAModel) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 500; ++round) {
    Numbers clusters(1 + random() % 60);
    for (int64_t& k : clusters) k = 1 + static_cast<int64_t>(random() % (1 + random() % 500));
    const size_t devices = 1 + random() % std::min<size_t>(8, clusters.size());
    const Numbers ends = deal_models(clusters, devices);
    ASSERT_EQ(ends.size(), devices);
    EXPECT_EQ(ends.back(), static_cast<int64_t>(clusters.size()));
    const int64_t all = std::accumulate(clusters.begin(), clusters.end(), int64_t{0});
    const int64_t largest = *std::ranges::max_element(clusters);
    int64_t first = 0;
    for (const int64_t end : ends) {
      ASSERT_LT(first, end);
      const int64_t share = std::accumulate(clusters.begin() + first, clusters.begin() + end, int64_t{0});
      EXPECT_LE(share, all / static_cast<int64_t>(devices) + 1 + largest + static_cast<int64_t>(devices));
      first = end;
    }
  }
}

}  // namespace
}  // namespace manymeans::test
