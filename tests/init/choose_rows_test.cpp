#include "init/choose_rows.h"

#include "core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace manymeans {
namespace {

// So many rows without weights; nobody asks for their values.
Input unweighted(int64_t n) {
  Input input;
  input.shard.rows = input.shard.all = n;
  return input;
}

TEST(RandomRows, AreTheSmallestDraws) {
  ThreadPool pool(3);
  for (const int64_t n : {1, 2, 7, 100, 5000}) {
    for (const int64_t count : {int64_t{1}, n / 2, n}) {
      if (count < 1) continue;
      std::vector<int64_t> all(static_cast<size_t>(n));
      std::iota(all.begin(), all.end(), int64_t{0});
      const auto draw = [](int64_t row) { return random_u64(9, static_cast<uint64_t>(row), 0, Purpose::kRandomRow); };
      std::sort(all.begin(), all.end(), [&](int64_t a, int64_t b) { return draw(a) < draw(b); });
      all.resize(static_cast<size_t>(count));
      EXPECT_EQ(random_rows(unweighted(n), {count, 9}, pool), all);
    }
  }
}

TEST(RandomRows, SkipExcludedRows) {
  ThreadPool pool(2);
  const auto all = random_rows(unweighted(50), {50, 3}, pool);
  const std::vector<int64_t> excluded(all.begin(), all.begin() + 10);
  EXPECT_EQ(random_rows(unweighted(50), {5, 3, excluded}, pool),
            std::vector<int64_t>(all.begin() + 10, all.begin() + 15));
  EXPECT_EQ(random_rows(unweighted(50), {40, 3, excluded}, pool).size(), 40U);
}

TEST(RandomRows, OfManyModelsAreThoseOfEach) {
  ThreadPool pool(3);
  for (const int64_t n : {1, 40, 70000, 200001}) {
    const std::vector<int64_t> excluded = random_rows(unweighted(n), {std::min<int64_t>(n - 1, 30), 4}, pool);
    std::vector<RowWish> wishes;
    for (uint64_t seed = 0; seed < 20; ++seed) wishes.push_back({std::min<int64_t>(n, 1 + 7 * (seed % 5)), seed / 2});
    wishes.push_back({n, 7});
    wishes.push_back({1, 4, excluded});
    const auto rows = random_rows(unweighted(n), wishes, pool);
    ASSERT_EQ(rows.size(), wishes.size());
    for (size_t m = 0; m < wishes.size(); ++m)
      EXPECT_EQ(rows[m], random_rows(unweighted(n), wishes[m], pool)) << n << ' ' << m;
  }
}

TEST(RandomRows, OfNoModelAreNone) {
  ThreadPool pool(2);
  EXPECT_TRUE(random_rows(unweighted(10), std::span<const RowWish>(), pool).empty());
}

TEST(RowsByWeight, FollowThePrefixes) {
  ThreadPool pool(1);
  const std::vector<float> x = {0, 1, 2, 3, 4};
  const Input input = prepare_input(PointsView(x.data(), 5, 1), std::vector<double>{0, 2, 0, 1, 1}, pool);
  const auto at = [](double share) { return static_cast<uint64_t>(std::ldexp(share, 64)); };
  const std::vector<uint64_t> u = {at(0.999), 0, at(0.4999), at(0.5), at(0.75), at(0.7499)};
  EXPECT_EQ(rows_by_weight(input, u), (std::vector<int64_t>{4, 1, 1, 3, 4, 3}));
}

TEST(RowsByWeight, AreUniformWithoutWeights) {
  ThreadPool pool(1);
  const std::vector<float> x(10, 1.0F);
  const Input input = prepare_input(PointsView(x.data(), 10, 1), {}, pool);
  const std::vector<uint64_t> u = {0, ~uint64_t{0}, uint64_t{1} << 63};
  EXPECT_EQ(rows_by_weight(input, u), (std::vector<int64_t>{0, 9, 5}));
}

}  // namespace
}  // namespace manymeans
