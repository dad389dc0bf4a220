// Clusters with an empty space between them, and cuts through one group.
#include "engine/valley.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

Matrix matrix_of(const std::vector<double>& values, int64_t columns) {
  Matrix made(std::ssize(values) / columns, columns, DataType::kFloat64);
  std::ranges::copy(values, made.values<double>().begin());
  return made;
}

double valley_of(const std::vector<double>& rows, const std::vector<double>& prototypes, int64_t columns) {
  ThreadPool pool(2);
  return valley(matrix_of(rows, columns).view(), matrix_of(prototypes, columns), pool);
}

// Numbers of one column, from two places in turn.
std::vector<double> numbers(int64_t rows, double apart, const std::function<double(std::mt19937_64&)>& draw) {
  std::mt19937_64 random(4);
  std::vector<double> values;
  for (int64_t i = 0; i < rows; ++i) values.push_back(draw(random) + apart * static_cast<double>(i % 2));
  return values;
}

double normal(std::mt19937_64& random) {
  return std::normal_distribution<double>()(random);
}

TEST(Valley, IsDeepBetweenClustersAndNotInsideOfOne) {
  EXPECT_GT(valley_of(numbers(400, 8, normal), {0, 8}, 1), 5);
  EXPECT_GT(valley_of(numbers(400, 5, normal), {0, 5}, 1), 2);
  EXPECT_LT(valley_of(numbers(400, 0, normal), {-0.8, 0.8}, 1), 0.5);
  EXPECT_LT(valley_of(numbers(400, 8, normal), {0, 7.2, 8.8}, 1), 0.5);
  const auto log_normal = [](std::mt19937_64& random) { return std::exp(normal(random)); };
  EXPECT_LT(valley_of(numbers(4000, 0, log_normal), {1, 8}, 1), 0.5);
  const auto uniform = [](std::mt19937_64& random) { return std::uniform_real_distribution<double>()(random); };
  EXPECT_LT(valley_of(numbers(10'000, 0, uniform), {0.25, 0.75}, 1), 0.5);
}

// Between whole numbers is no valley.
TEST(Valley, OfRoundedRowsIsNone) {
  const auto rounded = [](std::mt19937_64& random) { return std::round(2 * normal(random)); };
  EXPECT_LT(valley_of(numbers(4000, 0, rounded), {-1.7, 1.3}, 1), 0.5);
  EXPECT_GT(valley_of(numbers(4000, 16, rounded), {0, 16}, 1), 5);
}

// Three clusters of two columns: the worst one counts.
TEST(Valley, IsThatOfTheWorstCluster) {
  std::vector<double> rows;
  for (const double value : numbers(600, 9, normal)) rows.insert(rows.end(), {value, 0});
  EXPECT_GT(valley_of(rows, {0, 0, 9, 0}, 2), 5);
  EXPECT_LT(valley_of(rows, {0, 0, 8.2, 0, 9.8, 0}, 2), 0.5);
}

// Four rows on a side are too few; five are enough.
TEST(Valley, OfFewRowsIsNone) {
  std::vector<double> rows = {0, 0.1, 0.2, 0.3, 9, 9.1, 9.2, 9.3};
  EXPECT_EQ(valley_of(rows, {0.2, 9.2}, 1), 0);
  rows.insert(rows.end(), {0.4, 9.4});
  EXPECT_GT(valley_of(rows, {0.2, 9.2}, 1), 0);
  EXPECT_EQ(valley_of(std::vector<double>(20, 3), {3, 3}, 1), 0);
}

}  // namespace
}  // namespace manymeans::test
