#include <manymeans/io.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ColumnSummary, WhatTheColumnsHold) {
  const std::vector<double> values = {1, 5, kNaN, kInfinity, kNaN,  //
                                      3, 5, 2,    1,         kNaN,  //
                                      5, 5, 4,    3,         kNaN};
  const auto columns = summarise_columns({values.data(), 3, 5});
  ASSERT_EQ(columns.size(), 5u);
  EXPECT_EQ(columns[0].min, 1);
  EXPECT_EQ(columns[0].max, 5);
  EXPECT_EQ(columns[0].mean, 3);
  EXPECT_DOUBLE_EQ(columns[0].deviation, std::sqrt(8.0 / 3));
  EXPECT_FALSE(columns[0].constant);
  EXPECT_TRUE(columns[1].constant);
  EXPECT_EQ(columns[1].deviation, 0);
  EXPECT_EQ(columns[2].missing, 1);
  EXPECT_EQ(columns[2].mean, 3);
  EXPECT_EQ(columns[2].deviation, 1);
  EXPECT_EQ(columns[3].infinite, 1);
  EXPECT_EQ(columns[3].max, kInfinity);
  EXPECT_EQ(columns[3].mean, 2);
  EXPECT_EQ(columns[4].missing, 3);
  EXPECT_TRUE(std::isnan(columns[4].min) && std::isnan(columns[4].mean) && std::isnan(columns[4].deviation));
  EXPECT_FALSE(columns[4].constant);
}

TEST(ColumnSummary, LargeAndSmallMagnitudes) {
  const std::vector<double> values = {1e308, 1e-300, -1.5e308, 3e-300};
  const auto columns = summarise_columns({values.data(), 2, 2});
  EXPECT_DOUBLE_EQ(columns[0].mean, -0.25e308);
  EXPECT_DOUBLE_EQ(columns[0].deviation, 1.25e308);
  EXPECT_DOUBLE_EQ(columns[1].mean, 2e-300);
  EXPECT_DOUBLE_EQ(columns[1].deviation, 1e-300);
}

TEST(ColumnSummary, ColumnsFarFromZero) {
  const double huge = 1.7e308;
  const std::vector<double> values = {1.7e9,       0.1, huge,  -kInfinity, -0x1p-1074,  //
                                      1.7e9 + 60,  0.1, huge,  -kInfinity, -0.0,        //
                                      1.7e9 + 120, 0.1, -huge, kInfinity,  -0.0,        //
                                      1.7e9 + 180, 0.1, -huge, kNaN,       0.0};
  const auto columns = summarise_columns({values.data(), 4, 5});
  EXPECT_EQ(columns[0].mean, 1.7e9 + 90);
  EXPECT_EQ(columns[0].deviation, std::sqrt(4500));
  EXPECT_EQ(columns[1].mean, 0.1);
  EXPECT_EQ(columns[1].deviation, 0);
  EXPECT_EQ(columns[2].mean, 0);
  EXPECT_EQ(columns[2].deviation, huge);
  EXPECT_TRUE(std::isnan(columns[3].mean) && std::isnan(columns[3].deviation)) << "nothing finite";
  EXPECT_FALSE(std::signbit(columns[4].mean));
  EXPECT_DOUBLE_EQ(columns[4].deviation, 0);
}

TEST(ColumnSummary, SameBitsForAnyThreads) {
  std::mt19937 random(5);
  std::vector<float> values;
  for (int i = 0; i < 3 * 70000; ++i) values.push_back(static_cast<float>(random()) / 977.0F * (i % 2 == 0 ? 1 : -1));
  const auto one = summarise_columns({values.data(), 70000, 3}, 1);
  for (const int threads : {2, 3, 7}) {
    const auto many = summarise_columns({values.data(), 70000, 3}, threads);
    for (size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(std::memcmp(&many[j].mean, &one[j].mean, sizeof(double)), 0) << threads;
      EXPECT_EQ(std::memcmp(&many[j].deviation, &one[j].deviation, sizeof(double)), 0) << threads;
      EXPECT_EQ(many[j].min, one[j].min);
      EXPECT_EQ(many[j].max, one[j].max);
    }
  }
}

}  // namespace
}  // namespace manymeans::test
