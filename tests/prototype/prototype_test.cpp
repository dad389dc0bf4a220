#include "prototype/prototype.h"

#include <manymeans/error.h>

#include <gtest/gtest.h>

#include <cmath>

namespace manymeans {
namespace {

TEST(SolvePrototypes, DividesOnceAndKeepsEmptyRows) {
  ThreadPool pool(1);
  const std::vector<float> x = {1, 2, 4, -0.0F};
  const Input input = prepare_input(PointsView(x.data(), 4, 1), {}, pool);
  Statistics statistics(3, 1, input.limbs);
  for (const int row : {0, 1, 2}) add_term(x[static_cast<size_t>(row)], input.columns[0], 1, statistics.row(0));
  add_term(x[3], input.columns[0], 1, statistics.row(1));
  statistics.weights = {3, 1, 0};
  Matrix old(3, 1, DataType::kFloat32);
  old.values<float>()[2] = 42;
  const Matrix now = solve_prototypes(statistics, input, old, pool);
  EXPECT_EQ(now.at(0, 0), static_cast<double>(static_cast<float>(7.0 / 3)));
  EXPECT_EQ(now.at(1, 0), 0);
  EXPECT_FALSE(std::signbit(now.at(1, 0)));
  EXPECT_EQ(now.at(2, 0), 42);
}

TEST(MakePrototypes, RoundsAndRefuses) {
  const std::vector<double> good = {0.1, -0.0};
  const Matrix m = make_prototypes(PointsView(good.data(), 1, 2), DataType::kFloat32);
  EXPECT_EQ(m.at(0, 0), static_cast<double>(0.1F));
  EXPECT_FALSE(std::signbit(m.at(0, 1)));
  EXPECT_EQ(make_prototypes(PointsView(good.data(), 1, 2), DataType::kFloat64).at(0, 0), 0.1);
  for (const double bad : {std::nan(""), HUGE_VAL, 1e39}) {
    EXPECT_THROW(make_prototypes(PointsView(&bad, 1, 1), DataType::kFloat32), Error) << bad;
  }
  const double large = 1e160;
  EXPECT_THROW(make_prototypes(PointsView(&large, 1, 1), DataType::kFloat64), Error);
}

TEST(KeepPrototypes, KeepsRowsInOrder) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const Matrix m = make_prototypes(PointsView(values.data(), 3, 2), DataType::kFloat32);
  const std::vector<int64_t> kept = {0, 2};
  const Matrix rest = keep_prototypes(m, kept);
  EXPECT_EQ(rest.rows(), 2);
  EXPECT_EQ(rest.at(1, 0), 5);
}

}  // namespace
}  // namespace manymeans
