// `random` with weights against the contract's rule, written down once more in the plainest way.
#include "init/weighted_rows.h"

#include <manymeans/fit.h>

#include "core/random.h"
#include "engine/small_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace manymeans {
namespace {

std::vector<int64_t> plain_random(const std::vector<uint64_t>& q, int64_t count, uint64_t seed,
                                  std::vector<int64_t> rows = {}) {
  const auto n = static_cast<int64_t>(q.size());
  const size_t before = rows.size();
  const auto taken = [&](int64_t row) { return std::ranges::find(rows, row) != rows.end(); };
  while (rows.size() < before + static_cast<size_t>(count)) {
    uint64_t total = 0;
    for (int64_t i = 0; i < n; ++i) total += taken(i) ? 0 : q[static_cast<size_t>(i)];
    if (total == 0) break;
    const uint64_t u = random_u64(seed, rows.size(), 1, Purpose::kRandomRow);
    const auto target = static_cast<uint64_t>((static_cast<unsigned __int128>(u) * total) >> 64);
    int64_t row = 0;
    for (uint64_t prefix = 0;; ++row) {
      if (!taken(row)) prefix += q[static_cast<size_t>(row)];
      if (prefix > target) break;
    }
    rows.push_back(row);
  }
  std::vector<std::pair<uint64_t, int64_t>> rest;
  for (int64_t i = 0; i < n; ++i) {
    if (!taken(i)) rest.emplace_back(random_u64(seed, static_cast<uint64_t>(i), 0, Purpose::kRandomRow), i);
  }
  std::sort(rest.begin(), rest.end());
  for (size_t i = 0; rows.size() < before + static_cast<size_t>(count); ++i) rows.push_back(rest[i].second);
  return {rows.begin() + static_cast<int64_t>(before), rows.end()};
}

// Points, weights and the same as integers.
struct Weighted {
  std::vector<float> x;
  std::vector<double> w;
  Input input;
  std::vector<uint64_t> q;

  Weighted(std::vector<double> weights, ThreadPool& pool) : x(weights.size(), 1.0F), w(std::move(weights)) {
    input = prepare_input(PointsView(x.data(), static_cast<int64_t>(w.size()), 1), w, pool);
    for (int64_t i = 0; i < input.points.n; ++i) q.push_back(static_cast<uint64_t>(input.integer_weight(i)));
  }
};

std::vector<double> mixed_weights(int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> w(static_cast<size_t>(n));
  for (double& v : w)
    v = random() % 3 == 0 ? 0 : std::ldexp(1 + static_cast<double>(random() % 7), -int(random() % 20));
  w[0] = 1;
  return w;
}

TEST(WeightedRandomRows, FollowTheContract) {
  ThreadPool pool(3);
  for (const int64_t n : {1, 2, 7, 255, 256, 257, 700}) {
    const Weighted data(mixed_weights(n, static_cast<unsigned>(n)), pool);
    for (const int64_t count : {int64_t{1}, n / 3, n}) {
      if (count < 1) continue;
      for (uint64_t seed = 0; seed < 3; ++seed) {
        const auto expected = n == 1 ? std::vector<int64_t>{0} : plain_random(data.q, count, seed);
        EXPECT_EQ(random_rows(data.input, {count, seed}, pool), expected) << n << ' ' << count;
      }
    }
  }
}

TEST(WeightedRandomRows, GoOnFromRowsThatAreThere) {
  ThreadPool pool(2);
  const Weighted data(mixed_weights(600, 3), pool);
  const std::vector<int64_t> there = {5, 599, 0, 256};
  EXPECT_EQ(random_rows(data.input, {30, 8, there}, pool), plain_random(data.q, 30, 8, there));
  EXPECT_EQ(random_rows(data.input, {596, 8, there}, pool), plain_random(data.q, 596, 8, there));
}

TEST(WeightedRandomRows, OfManyModelsAreThoseOfEach) {
  ThreadPool pool(3);
  const Weighted data(mixed_weights(700, 5), pool);
  std::vector<RowWish> wishes;
  for (uint64_t seed = 0; seed < 20; ++seed) wishes.push_back({1 + static_cast<int64_t>(35 * seed), seed});
  const auto rows = random_rows(data.input, wishes, pool);
  for (size_t m = 0; m < wishes.size(); ++m) EXPECT_EQ(rows[m], plain_random(data.q, wishes[m].count, wishes[m].seed));
}

TEST(WeightedRandomRows, OfEqualWeightsAreThoseWithout) {
  ThreadPool pool(2);
  for (const double weight : {1.0, 2.0, 0.1, 1e-300}) {
    const Weighted data(std::vector<double>(500, weight), pool);
    Input without = data.input;
    without.weighted = false;
    EXPECT_EQ(random_rows(data.input, {40, 6}, pool), random_rows(without, {40, 6}, pool)) << weight;
  }
}

TEST(WeightedRandomRows, AreDrawnByWeight) {
  ThreadPool pool(2);
  const Weighted data({1, 2, 3, 4}, pool);
  std::vector<int> first(4), both(4);
  constexpr int kSeeds = 20000;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto rows = random_rows(data.input, {2, seed}, pool);
    ++first[static_cast<size_t>(rows[0])];
    for (const int64_t row : rows) ++both[static_cast<size_t>(row)];
  }
  for (size_t i = 0; i < 4; ++i) {
    const double p = static_cast<double>(i + 1) / 10;
    EXPECT_NEAR(first[i], p * kSeeds, 300);  // 4 standard deviations
    double second = 0;
    for (size_t j = 0; j < 4; ++j) {
      const double other = static_cast<double>(j + 1) / 10;
      if (j != i) second += other * p / (1 - other);
    }
    EXPECT_NEAR(both[i], (p + second) * kSeeds, 300);
  }
}

// Issue: rows of weight 1e-12 became centres.
TEST(WeightedRandomRows, LeaveOutRowsThatHardlyCount) {
  std::vector<float> x;
  std::vector<double> w;
  for (int i = 0; i < 500; ++i) {
    x.push_back(static_cast<float>(i));
    w.push_back(i % 100 == 0 ? 1 : i % 2 == 0 ? 1e-12 : 0);
  }
  for (const char* backend : {"reference", "cpu"}) {
    FitOptions o = test::options({5}, 10);
    o.backend = backend;
    o.init = "random";
    o.max_iter = 0;
    for (const ModelResult& model : fit(PointsView(x.data(), 500, 1), w, o).models) {
      std::set<float> centres;
      for (int64_t k = 0; k < 5; ++k) centres.insert(static_cast<float>(model.prototypes.at(k, 0)));
      EXPECT_EQ(centres, (std::set<float>{0, 100, 200, 300, 400}));
    }
  }
}

bool says(const FitResult& result, const std::string& text) {
  return std::ranges::any_of(result.warnings, [&](const std::string& w) { return w.find(text) != std::string::npos; });
}

TEST(WeightedRandomRows, AreOfWeightZeroLastAndSaySo) {
  const std::vector<float> x = {0, 1, 2, 3, 4, 5};
  const std::vector<double> w = {0, 2, 0, 1, 0, 0};
  FitOptions o = test::options({4});
  o.init = "random";
  o.max_iter = 0;
  const FitResult result = fit(PointsView(x.data(), 6, 1), w, o);
  EXPECT_TRUE(says(result, "found only 2 rows of a weight above zero"));
  const Matrix& prototypes = result.models[0].prototypes;
  EXPECT_EQ((std::set<double>{prototypes.at(0, 0), prototypes.at(1, 0)}), (std::set<double>{1, 3}));
  o.k = {2};
  EXPECT_FALSE(says(fit(PointsView(x.data(), 6, 1), w, o), "above zero"));
}

// What k-means++ and k-means|| take when all points lie on a centre: rows that count, before others.
TEST(WeightedRandomRows, FillUpWithRowsThatCountFirst) {
  std::vector<float> x(40, 7.0F);
  std::vector<double> w(40, 1.0);
  for (size_t i = 0; i < 30; ++i) {
    x[i] = static_cast<float>(100 + i);
    w[i] = 0;
  }
  w[39] = 3;
  for (const char* init : {"k-means++", "k-means||"}) {
    for (const char* backend : {"reference", "cpu"}) {
      FitOptions o = test::options({10}, 3);
      o.backend = backend;
      o.init = init;
      o.max_iter = 0;
      const FitResult result = fit(PointsView(x.data(), 40, 1), w, o);
      EXPECT_TRUE(says(result, "the other prototypes are random rows"));
      for (const ModelResult& model : result.models) {
        for (int64_t k = 0; k < 10; ++k) EXPECT_EQ(model.prototypes.at(k, 0), 7) << init << ' ' << backend;
      }
    }
  }
}

}  // namespace
}  // namespace manymeans
