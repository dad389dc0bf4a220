#include <manymeans/compare.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace manymeans::test {
namespace {

using Columns = std::vector<int64_t>;

double cost_of(std::span<const double> costs, const Columns& columns, int64_t width) {
  double sum = 0;
  for (size_t row = 0; row < columns.size(); ++row) {
    if (columns[row] >= 0) sum += costs[row * static_cast<size_t>(width) + static_cast<size_t>(columns[row])];
  }
  return sum;
}

// The least cost, of all ways there are; no more rows than columns.
double least_of_all(std::span<const double> costs, int64_t rows, int64_t columns) {
  Columns order(static_cast<size_t>(columns));
  std::iota(order.begin(), order.end(), 0);
  double least = std::numeric_limits<double>::infinity();
  do {
    least = std::min(least, cost_of(costs, {order.begin(), order.begin() + rows}, columns));
  } while (std::ranges::next_permutation(order).found);
  return least;
}

TEST(Assignment, IsTheLeastOfAll) {
  std::mt19937_64 dice(7);
  for (int trial = 0; trial < 300; ++trial) {
    const auto draw = [&](int64_t below) { return static_cast<int64_t>(dice() % static_cast<uint64_t>(below)); };
    const int64_t rows = 1 + draw(6), columns = rows + draw(7 - rows);
    std::vector<double> costs;
    for (int64_t i = 0; i < rows * columns; ++i) costs.push_back(static_cast<double>(draw(20) - 10));
    const Columns found = least_assignment(costs, rows, columns);
    Columns sorted = found;
    std::ranges::sort(sorted);
    EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end());
    EXPECT_EQ(cost_of(costs, found, columns), least_of_all(costs, rows, columns)) << rows << " x " << columns;
    std::vector<double> turned(costs.size());
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        turned[static_cast<size_t>(j * rows + i)] = costs[static_cast<size_t>(i * columns + j)];
      }
    }
    const Columns of_turned = least_assignment(turned, columns, rows);
    EXPECT_EQ(std::ranges::count(of_turned, -1), columns - rows);
    EXPECT_EQ(cost_of(turned, of_turned, rows), cost_of(costs, found, columns));
  }
}

TEST(Assignment, OfNothingIsNothing) {
  EXPECT_EQ(least_assignment({}, 0, 0), Columns());
  EXPECT_EQ(least_assignment({}, 0, 3), Columns());
  EXPECT_EQ(least_assignment({}, 2, 0), (Columns{-1, -1}));
}

}  // namespace
}  // namespace manymeans::test
