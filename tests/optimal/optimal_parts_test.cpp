// Optimal parts against the plain dynamic program in exact rationals.
#include "io/files.h"
#include "optimal/exact_parts.h"
#include "optimal/penalised_line.h"
#include "optimal/weighted_line.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace manymeans {
namespace {

using Random = std::mt19937_64;

// cost[m][i]: of the first i values in m parts. Later ends of the part before are taken if they are better only, so the
// last part is the longest.
std::vector<size_t> textbook_parts(const WeightedLine& line, size_t k) {
  const size_t n = line.size();
  std::vector<mpq_class> squares(n + 1), sums(n + 1), weights(n + 1);
  for (size_t i = 0; i < n; ++i) {
    const mpq_class value(line.values[i]), weight(static_cast<signed long>(line.weights[i]));
    squares[i + 1] = squares[i] + weight * value * value;
    sums[i + 1] = sums[i] + weight * value;
    weights[i + 1] = weights[i] + weight;
  }
  const auto cost_of = [&](size_t j, size_t i) -> mpq_class {
    const mpq_class sum = sums[i] - sums[j];
    return squares[i] - squares[j] - sum * sum / (weights[i] - weights[j]);
  };
  std::vector<mpq_class> cost(n + 1);
  for (size_t i = 1; i <= n; ++i) cost[i] = cost_of(0, i);
  std::vector<std::vector<size_t>> before(k + 1, std::vector<size_t>(n + 1, 0));
  for (size_t m = 2; m <= k; ++m) {
    std::vector<mpq_class> next(n + 1);
    for (size_t i = m; i <= n; ++i) {
      for (size_t j = m - 1; j < i; ++j) {
        const mpq_class total = cost[j] + cost_of(j, i);
        if (j > m - 1 && total >= next[i]) continue;
        next[i] = total;
        before[m][i] = j;
      }
    }
    cost = std::move(next);
  }
  std::vector<size_t> ends;
  for (size_t m = k, i = n; m > 0; i = before[m--][i]) ends.insert(ends.begin(), i);
  return ends;
}

WeightedLine line_of(std::vector<double> values, Random& random, const std::function<int64_t(Random&)>& weight) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  WeightedLine line{std::move(values), {}};
  for (size_t i = 0; i < line.size(); ++i) line.weights.push_back(weight(random));
  return line;
}

double value_of_kind(int kind, Random& random) {
  const double normal = std::normal_distribution<double>()(random);
  const auto below = [&](uint64_t limit) { return static_cast<double>(random() % limit); };
  switch (kind) {
    case 0: return normal;
    case 1: return below(40);  // integers: many ties
    case 2: return std::ldexp(normal, static_cast<int>(random() % 200) - 100);
    case 3: return (random() % 2 == 0 ? 1e-30 : 1e30) * normal;      // two spans
    case 4: return (below(9) - 4) * (random() % 3 == 0 ? 1 : 0.25);  // symmetric
    case 5: return 1e9 + below(1000) * 0x1p-20;                      // far from zero
    case 6: return std::ldexp(below(50), -1074);                     // denormal
    default: return std::ldexp(normal, 498);                         // nearly too large
  }
}

int64_t weight_of_kind(int kind, Random& random) {
  switch (kind) {
    case 0: return 1;
    case 1: return static_cast<int64_t>(random() % 4) + 1;
    case 2: return static_cast<int64_t>(random() >> 16) + 1;
    default: return int64_t{1} << random() % 50;
  }
}

TEST(OptimalParts, AreThoseOfTheTextbookInFractions) {
  Random random(1);
  for (int trial = 0; trial < 1000; ++trial) {
    const int kind = trial % 8, weights = trial / 8 % 4;
    std::vector<double> values(random() % 36 + 1);
    for (double& value : values) value = value_of_kind(kind, random) + 0.0;
    const WeightedLine line = line_of(values, random, [&](Random& r) { return weight_of_kind(weights, r); });
    const size_t n = line.size();
    const size_t k = trial % 3 == 0 ? n - random() % std::min<size_t>(n, 3) : random() % std::min<size_t>(n, 9) + 1;
    ASSERT_EQ(optimal_parts(line, k), textbook_parts(line, k))
        << "trial " << trial << ", values of kind " << kind << ", weights of kind " << weights << ", k " << k;
  }
}

TEST(OptimalParts, OfLongerLinesAreThoseOfTheTextbook) {
  Random random(2);
  for (int trial = 0; trial < 8; ++trial) {
    std::vector<double> values(150);
    for (double& value : values) value = value_of_kind(trial, random) + 0.0;
    const WeightedLine line = line_of(values, random, [&](Random& r) { return weight_of_kind(trial % 4, r); });
    const size_t k = std::min<size_t>(7, line.size());
    ASSERT_EQ(optimal_parts(line, k), textbook_parts(line, k)) << "values of kind " << trial;
  }
}

TEST(OptimalParts, OfAGridEndWithTheLongest) {
  WeightedLine grid;
  for (int i = 0; i < 4096; ++i) {
    grid.values.push_back(i);
    grid.weights.push_back(1);
  }
  for (const size_t k : {15, 100, 255}) {
    std::vector<size_t> sizes(k, 4096 / k);
    for (size_t longer = 0; longer < 4096 % k; ++longer) ++sizes[k - 1 - longer];
    std::partial_sum(sizes.begin(), sizes.end(), sizes.begin());
    EXPECT_EQ(optimal_parts(grid, k), sizes);
  }
}

// One heavy value decides in which units the costs round. The light ones' order is below that.
TEST(OptimalParts, OfLightValuesAreThoseOfTheTextbook) {
  Random random(3);
  std::vector<double> values(60);
  for (double& value : values) value = value_of_kind(0, random);
  WeightedLine line = line_of(values, random, [](Random& r) { return static_cast<int64_t>(r() % 3) + 1; });
  line.weights[10] = line.weights[30] = line.weights[31] = int64_t{1} << 58;
  for (const size_t k : {2, 3, 4, 9}) EXPECT_EQ(optimal_parts(line, k), textbook_parts(line, k)) << k;
}

TEST(OptimalParts, AreGivenUpWhereSomebodyAborts) {
  const std::atomic<bool> abort = true;
  const WeightedLine line{{1, 2, 3, 4, 5}, {1, 1, 1, 1, 1}, &abort};
  test::expect_error(ErrorCode::kInterrupted, {}, [&] { optimal_parts(line, 2); });
  test::expect_error(ErrorCode::kInterrupted, {}, [&] { exact_parts(line, {{0}, {1, 2, 3, 4}, {5}}); });
}

// The proof rests on this bound; a path of exact costs may not be further away.
TEST(PenalisedLine, BoundsItsRounding) {
  Random random(4);
  for (int trial = 0; trial < 64; ++trial) {
    std::vector<double> values(50);
    for (double& value : values) value = value_of_kind(trial % 8, random) + 0.0;
    const WeightedLine line = line_of(values, random, [&](Random& r) { return weight_of_kind(trial / 8 % 4, r); });
    PenalisedLine paths(line, 1);
    paths.relax(0);
    for (size_t i = 1; i <= line.size(); ++i) {
      EXPECT_GE(paths.detour(i - 1, i), -paths.loss());
      EXPECT_LE(std::fabs(paths.length(i)), static_cast<double>(i) * paths.error());  // one value each costs nothing
    }
  }
}

}  // namespace
}  // namespace manymeans
