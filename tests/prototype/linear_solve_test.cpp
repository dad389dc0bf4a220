// Least squares beside exact rational arithmetic.
#include "prototype/linear_solve.h"

#include "core/exact_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

// Rows of D features and a target, with weights.
struct Rows {
  std::string name;
  int64_t features;
  std::vector<std::vector<double>> values;
  std::vector<double> weights;
};

ProductSums sums_of(const Rows& rows) {
  ProductSums sums(rows.features);
  for (size_t r = 0; r < rows.values.size(); ++r) {
    std::vector<double> u = rows.values[r];
    u.push_back(1);
    for (int64_t i = 0; i < rows.features + 2; ++i) {
      for (int64_t j = i; j < rows.features + 2; ++j) {
        const Dyadic product = Dyadic(u[static_cast<size_t>(i)]) * Dyadic(u[static_cast<size_t>(j)]);
        sums(i, j) = sums(i, j) + Dyadic(rows.weights[r]) * product;
      }
    }
  }
  return sums;
}

using Rational = std::vector<std::vector<mpq_class>>;

// The solution of the normal equations of features and 1, by elimination; nothing is rounded.
std::vector<mpq_class> exact_solution(const Rows& rows) {
  const auto d = static_cast<size_t>(rows.features);
  Rational a(d + 1, std::vector<mpq_class>(d + 2));
  for (size_t r = 0; r < rows.values.size(); ++r) {
    std::vector<mpq_class> u;
    for (size_t j = 0; j < d; ++j) u.push_back(exact(rows.values[r][j]));
    u.push_back(1);
    u.push_back(exact(rows.values[r][d]));
    for (size_t i = 0; i <= d; ++i) {
      for (size_t j = 0; j < d + 2; ++j) a[i][j] += exact(rows.weights[r]) * u[i] * u[j];
    }
  }
  for (size_t p = 0; p <= d; ++p) {
    size_t best = p;
    while (best <= d && a[best][p] == 0) ++best;
    if (best > d) return {};
    std::swap(a[p], a[best]);
    for (size_t i = 0; i <= d; ++i) {
      if (i == p || a[i][p] == 0) continue;
      const mpq_class factor = a[i][p] / a[p][p];
      for (size_t j = p; j < d + 2; ++j) a[i][j] -= factor * a[p][j];
    }
  }
  std::vector<mpq_class> solution;
  for (size_t i = 0; i <= d; ++i) solution.push_back(a[i][d + 1] / a[i][i]);
  return solution;
}

// The largest error of a coefficient, relative to it; of the intercept, relative to what it makes up for.
double worst_error(const Rows& rows, const LinearFit& fit) {
  const std::vector<mpq_class> truth = exact_solution(rows);
  const size_t d = fit.coefficients.size();
  double worst = 0;
  mpq_class size = abs(truth[d]);
  for (size_t j = 0; j < d; ++j) {
    worst = std::max(worst, std::fabs(mpq_class((exact(fit.coefficients[j]) - truth[j]) / truth[j]).get_d()));
    size += abs(truth[j] * exact(rows.values[0][j]));
  }
  return std::max(worst, std::fabs(mpq_class((exact(fit.intercept) - truth[d]) / size).get_d()));
}

double noise(std::mt19937_64& random) {
  return std::normal_distribution<double>()(random);
}

// `offset` and `spread` of the features; `near`: how far the last is from the sum of those before; 1: it is any.
Rows made_rows(std::mt19937_64& random, std::string name, double offset, double spread, double near) {
  Rows rows{std::move(name), 1 + static_cast<int64_t>(random() % 5), {}, {}};
  const bool weighted = random() % 2 == 0;
  const auto count = static_cast<size_t>(rows.features) + 2 + random() % 40;
  for (size_t r = 0; r < count; ++r) {
    std::vector<double> row;
    double sum = 0;
    for (int64_t j = 0; j < rows.features; ++j) {
      const bool last = j > 0 && j + 1 == rows.features;
      const double value = near < 1 && last ? sum + near * spread * noise(random) : spread * noise(random);
      row.push_back(value);
      sum += value;
    }
    double target = noise(random);
    for (size_t j = 0; j < row.size(); ++j) {
      row[j] += offset;
      target += static_cast<double>(j + 1) * row[j];
    }
    row.push_back(target);
    rows.values.push_back(row);
    rows.weights.push_back(weighted ? std::exp(noise(random)) : 1);
  }
  return rows;
}

TEST(LinearSolve, CoefficientsAreThoseOfExactArithmetic) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 120; ++round) {
    for (const Rows& rows : {made_rows(random, "plain", 0, 1, 1), made_rows(random, "offset", 1e5, 1, 1),
                             made_rows(random, "times", 1.7e9, 3000, 1), made_rows(random, "collinear", 10, 1, 1e-6),
                             made_rows(random, "tiny", 0, 1e-140, 1), made_rows(random, "huge", 0, 1e120, 1e-3)}) {
      const LinearFit fit = solve_linear(sums_of(rows), {});
      EXPECT_EQ(std::ranges::count(fit.kept, true), rows.features) << rows.name;
      EXPECT_LT(worst_error(rows, fit), 1e-10) << rows.name << " " << round;
    }
  }
}

TEST(LinearSolve, APolynomialOfDegreeSeven) {
  Rows rows{"polynomial", 7, {}, {}};
  for (int i = 0; i < 60; ++i) {
    const double x = i / 60.0;
    std::vector<double> row;
    for (int power = 1; power <= 7; ++power) row.push_back(std::pow(x, power));
    row.push_back(std::sin(7 * x));
    rows.values.push_back(row);
    rows.weights.push_back(1);
  }
  EXPECT_LT(worst_error(rows, solve_linear(sums_of(rows), {})), 1e-10);
}

TEST(LinearSolve, ColumnsThatOthersSayAlreadyAreLeftOut) {
  Rows rows{"rank", 4, {}, {}};
  for (int i = 0; i < 9; ++i) {
    const double x = i, z = i * i % 5;
    rows.values.push_back({x, 3, 2 * x - z, z, 5 + x});
    rows.weights.push_back(1);
  }
  const LinearFit fit = solve_linear(sums_of(rows), {});
  EXPECT_EQ(fit.kept, (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(fit.coefficients[0], 1);
  EXPECT_NEAR(fit.coefficients[2], 0, 1e-100);
  EXPECT_EQ(fit.intercept, 5);
}

TEST(LinearSolve, FewerRowsThanCoefficients) {
  const Rows rows{"few", 3, {{1, 2, 3, 10}, {2, 2, 5, 12}}, {1, 1}};
  const LinearFit fit = solve_linear(sums_of(rows), {});
  EXPECT_EQ(fit.kept, (std::vector<bool>{true, false, false}));
  EXPECT_EQ(fit.coefficients[0], 2);
  EXPECT_EQ(fit.intercept, 8);
  const Rows one{"one", 3, {{1, 2, 3, 10}}, {1}};
  EXPECT_EQ(solve_linear(sums_of(one), {}).intercept, 10);
}

// A slope of 2^100 and an intercept of -2^101.
TEST(LinearSolve, WhatWouldBeTooLargeLeavesAllColumnsOut) {
  const Rows rows{"steep", 2, {{2, 0, 0}, {3, 1, 0x1p100}, {4, 4, 0x1p101}}, {1, 1, 1}};
  EXPECT_EQ(solve_linear(sums_of(rows), {}).kept, (std::vector<bool>{true, true}));
  for (const LinearOptions& options : {LinearOptions{.largest = 0x1p99}, LinearOptions{.largest = 0x1p100},
                                       LinearOptions{.intercept = false, .largest = 0x1p98}}) {
    const LinearFit fit = solve_linear(sums_of(rows), options);
    EXPECT_EQ(fit.kept, (std::vector<bool>{false, false})) << options.largest;
    EXPECT_EQ(fit.coefficients, (std::vector<double>{0, 0}));
    EXPECT_EQ(fit.intercept, options.intercept ? 0x1p100 : 0);
  }
}

TEST(LinearSolve, ThroughTheOrigin) {
  const Rows rows{"origin", 1, {{1, 2}, {2, 5}, {3, 5}}, {1, 1, 1}};
  const LinearFit fit = solve_linear(sums_of(rows), {.intercept = false});
  EXPECT_EQ(fit.coefficients[0], 27.0 / 14);
  EXPECT_EQ(fit.intercept, 0);
}

TEST(LinearSolve, RidgeShrinks) {
  const Rows rows{"ridge", 1, {{-1, -2}, {0, 0}, {1, 2}}, {1, 1, 1}};
  const LinearFit fit = solve_linear(sums_of(rows), {.ridge = 1});
  EXPECT_EQ(fit.coefficients[0], 1);
  // The same column twice: both get half, where without it the second would get nothing.
  const Rows twice{"twice", 2, {{-1, -1, -2}, {0, 0, 0}, {1, 1, 2}}, {1, 1, 1}};
  const LinearFit both = solve_linear(sums_of(twice), {.ridge = 0x1p-20});
  EXPECT_NEAR(both.coefficients[0], 1, 1e-5);
  EXPECT_EQ(both.coefficients[0], both.coefficients[1]);
}

}  // namespace
}  // namespace manymeans::test
