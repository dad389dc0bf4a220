#include <manymeans/error.h>
#include <manymeans/io.h>

#include "core/hostile_environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

std::vector<float> sample(int64_t n) {
  std::mt19937_64 random(31);
  std::normal_distribution<float> normal;
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(1000 + 3 * normal(random));
    values.push_back(7);  // constant
    values.push_back(static_cast<float>(i % 5) - 2);
  }
  return values;
}

std::vector<float> column(const Matrix& matrix, int64_t j) {
  std::vector<float> values;
  for (int64_t i = 0; i < matrix.rows(); ++i) values.push_back(static_cast<float>(matrix.at(i, j)));
  return values;
}

TEST(Scaling, StandardGivesMeanZeroAndVarianceOne) {
  const std::vector<float> values = sample(2000);
  const PointsView points(values.data(), 2000, 3);
  const Scaling scaling = find_scaling(points, Scale::kStandard);
  const Matrix scaled = apply_scaling(points, scaling);
  ASSERT_EQ(scaled.type(), DataType::kFloat32);
  for (const int64_t j : {0, 2}) {
    double sum = 0, squares = 0;
    for (const float v : column(scaled, j)) {
      sum += v;
      squares += static_cast<double>(v) * v;
    }
    EXPECT_NEAR(sum / 2000, 0, 1e-6);
    EXPECT_NEAR(squares / 2000, 1, 1e-6);
  }
  for (const float v : column(scaled, 1)) EXPECT_EQ(v, 0) << "constant columns become 0";
}

// By sorting: contract, "Moments".
double quartile(std::vector<float> values, int64_t i) {
  std::ranges::sort(values);
  const int64_t last = std::ssize(values) - 1;
  const double h = static_cast<double>(last * i) / 4, f = h - std::floor(h);
  const auto at = static_cast<size_t>(h);
  const double a = values[at], b = values[std::min(at + 1, values.size() - 1)];
  return f == 0 || a == b ? a : (1 - f) * a + f * b;
}

TEST(Scaling, RobustTakesTheQuartiles) {
  for (const int64_t n : {1, 2, 3, 4, 5, 500, 2003}) {
    std::vector<float> values = sample(n);
    values[0] = 3e30F;  // an outlier changes no quartile by much
    const PointsView points(values.data(), n, 3);
    for (const int threads : {1, 3}) {
      const Scaling scaling = find_scaling(points, Scale::kRobust, threads);
      const Scaling standard = find_scaling(points, Scale::kStandard, threads);
      for (size_t j = 0; j < 3; ++j) {
        std::vector<float> own;
        for (size_t i = j; i < values.size(); i += 3) own.push_back(values[i]);
        const double range = quartile(own, 3) - quartile(own, 1);
        EXPECT_EQ(scaling.offset[j], quartile(own, 2)) << n << ", " << j;
        EXPECT_EQ(scaling.divisor[j], range > 0 ? range : standard.divisor[j]) << n << ", " << j;
      }
    }
  }
}

TEST(Scaling, RobustOfMostlyEqualValuesTakesTheDeviation) {
  std::vector<double> values(100, -0.0);
  values[7] = 5;
  values[8] = -2;
  const PointsView points(values.data(), 100, 1);
  const Scaling scaling = find_scaling(points, Scale::kRobust);
  EXPECT_EQ(scaling.offset[0], 0);
  EXPECT_FALSE(std::signbit(scaling.offset[0]));
  EXPECT_EQ(scaling.divisor[0], find_scaling(points, Scale::kStandard).divisor[0]);
}

TEST(Scaling, MinMaxGivesZeroToOne) {
  const std::vector<float> values = sample(501);
  const PointsView points(values.data(), 501, 3);
  const Matrix scaled = apply_scaling(points, find_scaling(points, Scale::kMinMax));
  for (const int64_t j : {0, 2}) {
    const std::vector<float> found = column(scaled, j);
    EXPECT_EQ(*std::min_element(found.begin(), found.end()), 0);
    EXPECT_EQ(*std::max_element(found.begin(), found.end()), 1);
  }
  for (const float v : column(scaled, 1)) EXPECT_EQ(v, 0);
  EXPECT_EQ(scaled.at(0, 2), 0);
  EXPECT_EQ(scaled.at(1, 2), 0.25);
}

TEST(Scaling, DoesNotDependOnThreadsOrTheCallersEnvironment) {
  const std::vector<float> values = sample(20011);
  const PointsView points(values.data(), 20011, 3);
  const Scaling expected = find_scaling(points, Scale::kStandard, 1);
  const Matrix expected_points = apply_scaling(points, expected, 1);
  const auto same = [&](int threads) {
    const Scaling found = find_scaling(points, Scale::kStandard, threads);
    const Matrix scaled = apply_scaling(points, found, threads);
    return found.offset == expected.offset && found.divisor == expected.divisor &&
           std::equal(scaled.bytes().begin(), scaled.bytes().end(), expected_points.bytes().begin());
  };
  EXPECT_TRUE(same(2));
  EXPECT_TRUE(same(7));
  bool hostile = false;
  {
    const HostileEnvironment caller;
    hostile = same(3);
  }
  EXPECT_TRUE(hostile);
}

TEST(Scaling, KeepsFloat64AndNeverWritesNegativeZero) {
  const std::vector<double> values = {1, 1 + 0x1p-40, 1 - 0x1p-40};
  const PointsView points(values.data(), 3, 1);
  Scaling scaling{Scale::kStandard, {1}, {-1}};
  const Matrix scaled = apply_scaling(points, scaling);
  ASSERT_EQ(scaled.type(), DataType::kFloat64);
  EXPECT_FALSE(std::signbit(scaled.at(0, 0)));
  EXPECT_EQ(scaled.at(1, 0), -0x1p-40);
}

TEST(Scaling, RefusesAnotherNumberOfColumns) {
  const std::vector<float> values = {1, 2};
  EXPECT_THROW(apply_scaling(PointsView(values.data(), 1, 2), Scaling{Scale::kStandard, {1}, {1}}), Error);
}

TEST(Scaling, NamesRoundTrip) {
  for (const char* name : {"none", "standard", "minmax", "robust"}) EXPECT_EQ(name_of(*find_named<Scale>(name)), name);
  EXPECT_FALSE(find_named<Scale>("log").has_value());
}

}  // namespace
}  // namespace manymeans::test
