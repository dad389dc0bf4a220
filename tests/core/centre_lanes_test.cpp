#include "core/centre_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace manymeans::test {
namespace {

double distance(const std::vector<double>& x, int64_t row, const double* centre, int64_t d) {
  double sum = 0;
  for (int64_t j = 0; j < d; ++j) {
    const double t = x[static_cast<size_t>(j * kCentreRows + row)] - centre[j];
    sum += t * t;
  }
  return sum;
}

TEST(CentreLanes, FindTheTwoNearest) {
  std::mt19937 random(1);
  for (const int64_t d : {1, 2, 9}) {
    for (const int64_t k : {1, 2, 30}) {
      std::vector<double> x(static_cast<size_t>(kCentreRows * d)), centres(static_cast<size_t>(k * d));
      for (double& value : x) value = static_cast<double>(random() % 7) / 3;  // with ties
      for (double& value : centres) value = static_cast<double>(random() % 7) / 3;
      for (const CentreLanes& lanes : centre_lanes()) {
        TwoCentres found;
        lanes.two_nearest(x.data(), d, centres.data(), k, &found);
        for (int64_t i = 0; i < kCentreRows; ++i) {
          std::vector<std::pair<double, double>> all;
          for (int64_t c = 0; c < k; ++c) all.emplace_back(distance(x, i, centres.data() + c * d, d), c);
          std::ranges::sort(all);
          EXPECT_EQ(found.least[i], all[0].first) << lanes.name;
          EXPECT_EQ(found.nearest[i], all[0].second) << lanes.name;
          if (k == 1) continue;
          EXPECT_EQ(found.second[i], all[1].first) << lanes.name;
          EXPECT_EQ(found.second_nearest[i], all[1].second) << lanes.name;
        }
      }
    }
  }
}

TEST(CentreLanes, SayWhichRowsAreBelow) {
  std::mt19937 random(2);
  for (const int64_t d : {1, 3, 8}) {
    std::vector<double> x(static_cast<size_t>(kCentreRows * d)), point(static_cast<size_t>(d)), limits(kCentreRows);
    for (double& value : x) value = static_cast<double>(random() % 100) / 7;
    for (double& value : point) value = static_cast<double>(random() % 100) / 7;
    for (int64_t i = 0; i < kCentreRows; ++i) {  // the distance itself is not below
      limits[static_cast<size_t>(i)] =
          i % 3 == 0 ? distance(x, i, point.data(), d) : static_cast<double>(random() % 200);
    }
    for (const CentreLanes& lanes : centre_lanes()) {
      std::vector<double> distances(kCentreRows);
      const uint64_t bits = lanes.below(x.data(), d, point.data(), limits.data(), distances.data());
      for (int64_t i = 0; i < kCentreRows; ++i) {
        EXPECT_EQ(distances[static_cast<size_t>(i)], distance(x, i, point.data(), d)) << lanes.name;
        EXPECT_EQ(bits >> i & 1, distances[static_cast<size_t>(i)] < limits[static_cast<size_t>(i)]) << lanes.name;
      }
    }
  }
}

}  // namespace
}  // namespace manymeans::test
