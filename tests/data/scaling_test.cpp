#include <manymeans/error.h>
#include <manymeans/io.h>
#include <manymeans/sparse.h>

#include "comm/thread_ranks.h"
#include "core/hostile_environment.h"
#include "core/logarithm.h"
#include "core/sparse_rows.h"
#include "io/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
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

// Columns above 0, with a 0, and below 0.
const std::vector<double> kSkewed = {1, 0, -1, 10, 1, 3, 100, 7, 5, 1e6, 63, 2};
const PointsView kSkewedPoints(kSkewed.data(), 4, 3);

TEST(Scaling, TakesLogarithmsOfSomeColumns) {
  const Scaling found = find_scaling(kSkewedPoints, {Scale::kNone, {1, 0}});
  EXPECT_EQ(found.logs, (std::vector{Logarithm::kOfValue, Logarithm::kOfOnePlus, Logarithm::kNone}));
  const Matrix scaled = apply_scaling(kSkewedPoints, found);
  for (int64_t i = 0; i < 4; ++i) {
    const auto at = static_cast<size_t>(3 * i);
    EXPECT_EQ(scaled.at(i, 0), logarithm(kSkewed[at]));
    EXPECT_EQ(scaled.at(i, 1), logarithm_of_one_plus(kSkewed[at + 1]));
    EXPECT_EQ(scaled.at(i, 2), kSkewed[at + 2]);
    for (int64_t j = 0; j < 3; ++j) {
      EXPECT_NEAR(found.undone(scaled.at(i, j), static_cast<size_t>(j)), kSkewed[at + static_cast<size_t>(j)], 1e-9);
    }
  }
  EXPECT_EQ(found.name("price", 0), "log(price)");
  EXPECT_EQ(found.name("visits", 1), "log(1 + visits)");
  EXPECT_EQ(found.name("age", 2), "age");
}

// As the scaling of a table of logarithms, in the type of the points.
TEST(Scaling, LogarithmsComeFirst) {
  const std::vector<float> narrow(kSkewed.begin(), kSkewed.end());
  for (const PointsView& points : {kSkewedPoints, PointsView(narrow.data(), 4, 3)}) {
    const Matrix logs = apply_scaling(points, find_scaling(points, {Scale::kNone, {0, 1}}));
    for (const Scale scale : {Scale::kStandard, Scale::kMinMax, Scale::kRobust, Scale::kUnit}) {
      const Scaling found = find_scaling(points, {scale, {0, 1}}, 2, 1 << 20);
      const Matrix expected = apply_scaling(logs.view(), find_scaling(logs.view(), scale));
      const Matrix scaled = apply_scaling(points, found);
      const Dataset copied = scale_points(points, found, 2, 1 << 20);
      EXPECT_EQ(scaled.type(), logs.type());
      EXPECT_TRUE(std::ranges::equal(scaled.bytes(), expected.bytes())) << name_of(scale);
      EXPECT_EQ(std::memcmp(copied.view.data, scaled.view().data, scaled.bytes().size()), 0) << name_of(scale);
    }
  }
}

TEST(Scaling, LogarithmsThatAreNotThere) {
  expect_error(ErrorCode::kBadData, {"[points] column 3 has the minimum -1", "0 or more"},
               [&] { find_scaling(kSkewedPoints, {Scale::kStandard, {0, 2}}); });
  for (const int64_t column : {-1, 3}) {
    expect_error(ErrorCode::kUsage, {"no column"}, [&] { find_scaling(kSkewedPoints, {Scale::kNone, {column}}); });
  }
  const Scaling found = find_scaling(kSkewedPoints, {Scale::kNone, {0, 1}});
  const std::vector<double> others = {1, -0.5, 0, 3, -1, 0, 0, 1, 0};
  const PointsView points(others.data(), 3, 3);
  for (const int threads : {1, 3}) {
    expect_error(ErrorCode::kBadData, {"row 2, column 2 is -1", "logarithm of 1 + this column"},
                 [&] { apply_scaling(points, found, threads); });
  }
  expect_error(ErrorCode::kBadData, {"row 1, column 1 is 0", "above 0"},
               [&] { scale_points(PointsView(others.data() + 6, 1, 3), found, 1, 0); });
}

TEST(Scaling, UnitDividesRowsByTheirLength) {
  const std::vector<float> values = {3, 4, -1e30F, 0};
  const PointsView points(values.data(), 2, 2);
  const Scaling found = find_scaling(points, Scale::kUnit);
  EXPECT_TRUE(found.offset.empty());
  EXPECT_EQ(found.undone(0.5, 1), 0.5);
  const Matrix scaled = apply_scaling(points, found);
  EXPECT_EQ(column(scaled, 0), (std::vector<float>{0.6F, -1}));
  EXPECT_EQ(column(scaled, 1), (std::vector<float>{0.8F, 0}));
  const std::vector<float> zeros = {1, 2, 0, 0};
  expect_error(ErrorCode::kBadData, {"row 2 is all zeros", "scale unit"},
               [&] { scale_points(PointsView(zeros.data(), 2, 2), found, 1, 0); });
}

TEST(Scaling, UnitKeepsSparseRowsSparse) {
  const std::vector<double> values = {3, 4, 2};
  const std::vector<int64_t> starts = {0, 2, 3};
  const std::vector<int32_t> columns = {1, 9, 4};
  SparseView sparse;
  sparse.n = 2;
  sparse.d = 10;
  sparse.entries = 3;
  sparse.type = DataType::kFloat64;
  sparse.values = values.data();
  sparse.starts = starts.data();
  sparse.indices = columns.data();
  const Dataset scaled = scale_points(sparse.points(), find_scaling(sparse.points(), Scale::kUnit), 2, 0);
  const auto* found = static_cast<const double*>(sparse_view(scaled.view).values);
  EXPECT_EQ(std::vector(found, found + 3), (std::vector{0.6, 0.8, 1.0}));
  expect_error(ErrorCode::kUsage, {"sparse"}, [&] { find_scaling(sparse.points(), {Scale::kUnit, {1}}); });
}

TEST(Scaling, LogarithmsOfAllRanks) {
  const Scaling whole = find_scaling(kSkewedPoints, {Scale::kRobust, {0, 1}});
  run_ranks(3, [&](Comm& comm) {  // the last one has no rows
    const int64_t first = comm.rank() == 0 ? 0 : comm.rank() == 1 ? 1 : 4, last = comm.rank() == 0 ? 1 : 4;
    const PointsView mine(first < 4 ? kSkewed.data() + 3 * first : nullptr, last - first, 3, DataType::kFloat64);
    EXPECT_EQ(find_scaling(mine, {Scale::kRobust, {0, 1}}, 1, 0, comm), whole);
    expect_error(ErrorCode::kBadData, {"column 3 has the minimum -1"},
                 [&] { find_scaling(mine, {Scale::kRobust, {2}}, 1, 0, comm); });
  });
}

TEST(Scaling, NamesRoundTrip) {
  for (const char* name : {"none", "standard", "minmax", "robust", "unit"})
    EXPECT_EQ(name_of(*find_named<Scale>(name)), name);
  EXPECT_FALSE(find_named<Scale>("log").has_value());
}

}  // namespace
}  // namespace manymeans::test
