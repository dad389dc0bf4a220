// Criteria beside their definitions, written out.
#include <manymeans/criteria.h>
#include <manymeans/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

struct Points {
  int64_t n, d;
  std::vector<float> values;
  std::vector<uint32_t> labels;
  PointsView view() const { return {values.data(), n, d}; }
};

Points made(int64_t n, int64_t d, uint32_t k, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Points points{n, d, {}, {}};
  for (int64_t i = 0; i < n; ++i) {
    points.labels.push_back(static_cast<uint32_t>(random() % k));
    for (int64_t j = 0; j < d; ++j) {
      points.values.push_back(normal(random) + 1.5F * static_cast<float>(points.labels.back() * (j + 1)));
    }
  }
  return points;
}

// The mean silhouette by its definition, of all pairs of rows; distances or their squares.
double plain_silhouette(const Points& points, bool squared) {
  const uint32_t k = *std::ranges::max_element(points.labels) + 1;
  double all = 0;
  for (int64_t i = 0; i < points.n; ++i) {
    std::vector<double> sums(k), counts(k);
    for (int64_t other = 0; other < points.n; ++other) {
      double d2 = 0;
      for (int64_t j = 0; j < points.d; ++j) {
        const double t = static_cast<double>(points.values[static_cast<size_t>(i * points.d + j)]) -
                         static_cast<double>(points.values[static_cast<size_t>(other * points.d + j)]);
        d2 += t * t;
      }
      const uint32_t label = points.labels[static_cast<size_t>(other)];
      sums[label] += squared ? d2 : std::sqrt(d2);
      counts[label] += 1;
    }
    const uint32_t own = points.labels[static_cast<size_t>(i)];
    if (counts[own] == 1) continue;
    const double a = sums[own] / (counts[own] - 1);
    double b = HUGE_VAL;
    for (uint32_t c = 0; c < k; ++c) {
      if (c != own && counts[c] > 0) b = std::min(b, sums[c] / counts[c]);
    }
    if (std::max(a, b) > 0) all += (b - a) / std::max(a, b);
  }
  return all / static_cast<double>(points.n);
}

void expect_near(double found, double wanted) {
  EXPECT_NEAR(found, wanted, 1e-12 * std::max(1.0, std::fabs(wanted)));
}

TEST(Criteria, SilhouettesAreThoseOfAllPairs) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const Points points =
        made(150 + 20 * static_cast<int64_t>(seed), 1 + static_cast<int64_t>(seed), 2 + seed % 4, seed);
    const Criteria found = criteria(points.view(), points.labels);
    expect_near(found.squared_silhouette, plain_silhouette(points, true));
    expect_near(found.silhouette, plain_silhouette(points, false));
    EXPECT_EQ(found.silhouette_rows, points.n);
    EXPECT_EQ(found.silhouette_error, 0);
  }
}

// Far from zero, where sums of squares would have lost all digits.
TEST(Criteria, AnOffsetChangesNothing) {
  Points points = made(200, 3, 3, 7);
  for (float& value : points.values) value = std::round(value * 64) / 64;
  const Criteria near = criteria(points.view(), points.labels);
  for (float& value : points.values) value += 65536;  // exact
  const Criteria far = criteria(points.view(), points.labels);
  expect_near(far.squared_silhouette, near.squared_silhouette);
  expect_near(far.calinski_harabasz, near.calinski_harabasz);
  expect_near(far.davies_bouldin, near.davies_bouldin);
  expect_near(far.bic, near.bic);
}

// 0, 2 | 10, 12: means 1 and 11, of all 6; W = 4.
TEST(Criteria, SmallNumbersByHand) {
  const std::vector<float> values = {0, 2, 10, 12};
  const std::vector<uint32_t> labels = {0, 0, 4, 4};
  const Criteria found = criteria({values.data(), 4, 1}, labels);
  EXPECT_EQ(found.clusters, 2);
  EXPECT_EQ(found.calinski_harabasz, 100.0 * 2 / 4);
  expect_near(found.davies_bouldin, 0.2);
  expect_near(found.simplified_silhouette, (10 / 11.0 + 8 / 9.0) / 2);
  expect_near(found.squared_silhouette, (1 - 4 / 122.0 + 1 - 4 / 82.0) / 2);
  expect_near(found.bic, 4 * std::log(4.0) - 2 * (4 * std::log(0.5) - 2 * std::log(2 * M_PI * 2) - 1));
  ASSERT_EQ(found.cluster_silhouettes.size(), 5u);
  EXPECT_TRUE(std::isnan(found.cluster_silhouettes[1]));
  expect_near(found.cluster_silhouettes[4], found.squared_silhouette);
}

TEST(Criteria, EveryNumberOfThreadsAndTypeGivesTheSameBits) {
  const Points points = made(5000, 4, 6, 3);
  const std::vector<double> wide(points.values.begin(), points.values.end());
  CriteriaOptions options;
  options.sample = 40;
  options.threads = 1;
  const Criteria one = criteria(points.view(), points.labels, options);
  EXPECT_GT(one.silhouette_error, 0.3);
  for (const int threads : {2, 3, 5}) {
    options.threads = threads;
    for (const PointsView& view : {points.view(), PointsView(wide.data(), points.n, points.d)}) {
      const Criteria many = criteria(view, points.labels, options);
      for (const auto member :
           {&Criteria::calinski_harabasz, &Criteria::davies_bouldin, &Criteria::bic, &Criteria::simplified_silhouette,
            &Criteria::squared_silhouette, &Criteria::silhouette}) {
        EXPECT_EQ(std::bit_cast<uint64_t>(many.*member), std::bit_cast<uint64_t>(one.*member)) << threads;
      }
    }
  }
}

// A sample is within its bound, and another seed is another sample.
TEST(Criteria, ASampleIsNearAllRows) {
  const Points points = made(3000, 2, 4, 5);
  CriteriaOptions options;
  options.sample = 3000;
  const Criteria all = criteria(points.view(), points.labels, options);
  options.sample = 400;
  const Criteria some = criteria(points.view(), points.labels, options);
  options.seed = 1;
  const Criteria others = criteria(points.view(), points.labels, options);
  EXPECT_NE(some.silhouette, others.silhouette);
  for (const Criteria& sample : {some, others}) EXPECT_NEAR(sample.silhouette, all.silhouette, sample.silhouette_error);
}

TEST(Criteria, WhatIsNotDefinedIsNoNumber) {
  const std::vector<float> values = {1, 2, 4};
  const Criteria one = criteria({values.data(), 3, 1}, std::vector<uint32_t>{0, 0, 0});
  EXPECT_TRUE(std::isnan(one.calinski_harabasz) && std::isnan(one.silhouette) && std::isfinite(one.bic));
  const Criteria each = criteria({values.data(), 3, 1}, std::vector<uint32_t>{2, 1, 0});
  EXPECT_TRUE(std::isnan(each.calinski_harabasz) && std::isnan(each.davies_bouldin) && std::isnan(each.bic));
  EXPECT_EQ(each.silhouette, 0);
  const std::vector<float> equal = {3, 3, 3, 3};
  const Criteria same = criteria({equal.data(), 4, 1}, std::vector<uint32_t>{0, 0, 1, 1});
  EXPECT_EQ(same.calinski_harabasz, 1);
  EXPECT_EQ(same.davies_bouldin, 0);
  EXPECT_EQ(same.squared_silhouette, 0);
}

TEST(Criteria, RefusesLabelsOfOtherRows) {
  const std::vector<float> values = {1, 2, 4};
  const std::vector<uint32_t> two = {0, 1}, huge = {0, 1, uint32_t{1} << 31};
  EXPECT_THROW(criteria({values.data(), 3, 1}, two), Error);
  EXPECT_THROW(criteria({values.data(), 3, 1}, huge), Error);
}

}  // namespace
}  // namespace manymeans::test
