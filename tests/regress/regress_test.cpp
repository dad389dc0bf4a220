// What regress() finds: least squares of K = 1, weights, planted models, and what it says of them.
#include <manymeans/regress.h>

#include "core/exact_numbers.h"
#include "regress/regress_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

RegressOptions options_of(int64_t k, int64_t swaps = 0) {
  RegressOptions options;
  options.k = {k};
  options.swaps = swaps;
  options.threads = 2;
  return options;
}

// The least squares of weighted rows [x, y], coefficients and intercept, in rational arithmetic.
std::vector<mpq_class> exact_least_squares(const std::vector<double>& rows, std::span<const double> weights,
                                           int64_t features) {
  const auto d = static_cast<size_t>(features);
  std::vector<std::vector<mpq_class>> a(d + 1, std::vector<mpq_class>(d + 2));
  for (size_t r = 0; r < rows.size() / (d + 1); ++r) {
    std::vector<mpq_class> u;
    for (size_t j = 0; j < d; ++j) u.push_back(exact(rows[r * (d + 1) + j]));
    u.push_back(1);
    u.push_back(exact(rows[r * (d + 1) + d]));
    for (size_t i = 0; i <= d; ++i) {
      for (size_t j = 0; j < d + 2; ++j) a[i][j] += exact(weights.empty() ? 1 : weights[r]) * u[i] * u[j];
    }
  }
  for (size_t p = 0; p <= d; ++p) {
    for (size_t i = 0; i <= d; ++i) {
      if (i == p) continue;
      const mpq_class factor = a[i][p] / a[p][p];
      for (size_t j = p; j < d + 2; ++j) a[i][j] -= factor * a[p][j];
    }
  }
  std::vector<mpq_class> solution;
  for (size_t i = 0; i <= d; ++i) solution.push_back(a[i][d + 1] / a[i][i]);
  return solution;
}

TEST(Regress, OneModelIsTheLeastSquaresOfExactArithmetic) {
  for (const double offset : {0.0, 1e5, 1.7e9}) {
    for (const bool weighted : {false, true}) {
      SmallRows rows(150);
      for (size_t i = 0; i < rows.f64.size(); i += 3) rows.f64[i] += offset;
      const std::span<const double> weights = weighted ? std::span<const double>(rows.weights) : std::span<double>();
      const RegressResult found =
          regress(RegressionRows::with_target(rows.view(DataType::kFloat64)), weights, options_of(1));
      const std::vector<mpq_class> truth = exact_least_squares(rows.f64, weights, 2);
      for (int64_t j = 0; j < 3; ++j) {
        const double expected = truth[static_cast<size_t>(j)].get_d();
        EXPECT_NEAR(found.fit.models[0].prototypes.at(0, j), expected, 1e-10 * std::fabs(expected)) << offset;
      }
    }
  }
}

TEST(Regress, AWeightOfTwoIsTheRowTwice) {
  const SmallRows rows(300);
  std::vector<float> twice;
  std::vector<double> weights;
  for (int64_t i = 0; i < rows.n; ++i) {
    const bool doubled = i % 3 == 0;
    weights.push_back(doubled ? 2 : 1);
    for (int copy = 0; copy <= static_cast<int>(doubled); ++copy) {
      twice.insert(twice.end(), rows.f32.begin() + i * 3, rows.f32.begin() + i * 3 + 3);
    }
  }
  const std::vector<float> given = {0, 0, 0, 1, 1, 1, -1, 0, 1};
  FitHooks hooks;
  hooks.initial = {given.data(), 3, 3};
  const auto fitted = [&](const PointsView& points, std::span<const double> w) {
    return regress(RegressionRows::with_target(points), w, options_of(3), hooks);
  };
  const RegressResult by_weight = fitted(rows.view(DataType::kFloat32), weights);
  const RegressResult by_rows = fitted({twice.data(), static_cast<int64_t>(twice.size() / 3), 3}, {});
  EXPECT_TRUE(std::ranges::equal(by_weight.fit.models[0].prototypes.bytes(), by_rows.fit.models[0].prototypes.bytes()));
  EXPECT_EQ(by_weight.fit.models[0].inertia, by_rows.fit.models[0].inertia);
  EXPECT_EQ(by_weight.fit.models[0].iterations, by_rows.fit.models[0].iterations);
  EXPECT_EQ(by_weight.summaries[0].bic, by_rows.summaries[0].bic);
  EXPECT_EQ(by_weight.summaries[0].r2, by_rows.summaries[0].r2);
}

TEST(Regress, SwapsFindThePlantedModels) {
  for (const int64_t k : {2, 4, 6}) {
    const PlantedModels planted(static_cast<uint64_t>(k), k, 3000, 4);
    RegressOptions options = options_of(k, 10);
    options.models = 3;
    const RegressResult found = regress(RegressionRows::with_target(planted.view()), {}, options);
    const auto best = static_cast<size_t>(found.fit.best(k));
    EXPECT_EQ(planted.found(found.fit.models[best].prototypes), k);
    EXPECT_GT(found.summaries[best].r2, 0.97);
  }
}

// The table of docs/developer/benchmarks.md: MANYMEANS_RECOVERY=k:models:seeds or k:models:seeds:first seed, with
// 20,000 rows of four features.
TEST(Regress, RecoveryTable) {
  const char* asked = std::getenv("MANYMEANS_RECOVERY");
  if (asked == nullptr) GTEST_SKIP() << "set MANYMEANS_RECOVERY=8:64:20 to fit 64 models of k = 8 for each of 20 seeds";
  int k = 0, models = 0, seeds = 0, first = 0;
  ASSERT_GE(std::sscanf(asked, "%d:%d:%d:%d", &k, &models, &seeds, &first), 3);
  int recovered = 0, alone = 0;
  for (int seed = first; seed < first + seeds; ++seed) {
    const PlantedModels planted(static_cast<uint64_t>(seed), k, 20000, 4);
    RegressOptions options;
    options.k = {k};
    options.models = models;
    options.seed = static_cast<uint64_t>(seed);
    const RegressResult found = regress(RegressionRows::with_target(planted.view()), {}, options);
    const ModelResult& best = found.fit.models[static_cast<size_t>(found.fit.best(k))];
    recovered += planted.found(best.prototypes) == k;
    double least = std::numeric_limits<double>::infinity();  // error of a model that finds all
    for (const ModelResult& model : found.fit.models) {
      if (planted.found(model.prototypes) != k) continue;
      ++alone;
      least = std::fmin(least, model.inertia);
    }
    std::printf(
        "k = %d, seed %d: %d recovered so far; %.3f of the models alone; least error of one that finds all %.6g, "
        "of all %.6g\n",
        k, seed, recovered, alone / static_cast<double>(models * (seed - first + 1)), least, best.inertia);
    std::fflush(stdout);
  }
  EXPECT_GE(recovered, k <= 8 ? seeds : seeds * 9 / 10);
}

TEST(Regress, SummariesSayWhatTheRowsSay) {
  const SmallRows rows(500);
  const RegressResult found =
      regress(RegressionRows::with_target(rows.view(DataType::kFloat64)), rows.weights, options_of(3, 2));
  const ModelResult& model = found.fit.models[0];
  const RegressionSummary& summary = found.summaries[0];
  double n = 0, sum = 0, squares = 0, error = 0;
  std::vector<double> mean(2), square(2), cluster(3 * 2), weight(3);
  for (int64_t i = 0; i < rows.n; ++i) {
    const double w = rows.weights[static_cast<size_t>(i)];
    const double* row = rows.f64.data() + i * 3;
    const uint32_t k = model.labels[i];
    n += w;
    sum += w * row[2];
    squares += w * row[2] * row[2];
    weight[k] += w;
    double predicted = model.prototypes.at(k, 2);
    for (size_t j = 0; j < 2; ++j) {
      predicted += model.prototypes.at(k, static_cast<int64_t>(j)) * row[j];
      mean[j] += w * row[j];
      square[j] += w * row[j] * row[j];
      cluster[k * 2 + j] += w * row[j];
    }
    error += w * std::pow(row[2] - predicted, 2);
  }
  EXPECT_NEAR(model.inertia, error, 1e-9 * error);
  EXPECT_NEAR(summary.r2, 1 - error / (squares - sum * sum / n), 1e-9);
  EXPECT_NEAR(summary.bic, n * (std::log(2 * std::numbers::pi * error / n) + 1) + (3 * 4 - 1) * std::log(n), 1e-6);
  for (size_t j = 0; j < 2; ++j) {
    EXPECT_NEAR(summary.gate.scales[j], std::sqrt(square[j] / n - std::pow(mean[j] / n, 2)), 1e-9);
    for (size_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(summary.gate.means.at(static_cast<int64_t>(k), static_cast<int64_t>(j)),
                  cluster[k * 2 + j] / weight[k], 1e-9);
      EXPECT_NEAR(summary.gate.weights[k], weight[k], 1e-9);
    }
  }
}

TEST(Regress, ColumnsThatAreLeftOutAreTold) {
  std::vector<double> rows;
  for (int i = 0; i < 40; ++i) {
    const double x = i % 13, z = i % 7;
    rows.insert(rows.end(), {x, 3, x + z, z, 2 * x - z + 1});
  }
  const RegressResult found = regress(RegressionRows::with_target({rows.data(), 40, 5}), {}, options_of(1));
  EXPECT_EQ(found.summaries[0].left_out, (std::vector<std::vector<int64_t>>{{1, 3}}));
  ASSERT_EQ(found.fit.warnings.size(), 1U);
  EXPECT_NE(found.fit.warnings[0].find("the columns 1, 3 (counted from 0) are constant, or combinations"),
            std::string::npos);
  EXPECT_EQ(found.summaries[0].r2, 1);
  EXPECT_EQ(found.fit.models[0].inertia, 0);
}

TEST(Regress, RidgeAndInterceptReachTheModels) {
  const SmallRows rows(300);
  const RegressionRows view = RegressionRows::with_target(rows.view(DataType::kFloat64));
  RegressOptions options = options_of(1);
  const Matrix plain = regress(view, {}, options).fit.models[0].prototypes;
  options.ridge = 1;
  const Matrix ridge = regress(view, {}, options).fit.models[0].prototypes;
  EXPECT_LT(std::fabs(ridge.at(0, 0)), std::fabs(plain.at(0, 0)));
  options.ridge = 0;
  options.intercept = false;
  const Matrix origin = regress(view, {}, options).fit.models[0].prototypes;
  EXPECT_EQ(origin.at(0, 2), 0);
  EXPECT_NE(origin.at(0, 0), plain.at(0, 0));
}

}  // namespace
}  // namespace manymeans::test
