// R2, standard errors and R2 of held-out rows equal plain sums over the rows.
#include <manymeans/error.h>
#include <manymeans/regress.h>

#include "core/random.h"
#include "regress/regress_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

RegressOptions options_of(int64_t k) {
  RegressOptions options;
  options.k = {k};
  options.swaps = 2;
  options.threads = 2;
  return options;
}

// Rows of one cluster, as the intercept is told: x = features, y, and w.
struct PlainRows {
  std::vector<std::vector<double>> x;
  std::vector<double> y, w;
};

// The inverse of a small matrix, by Gauss and Jordan.
std::vector<std::vector<double>> inverse(std::vector<std::vector<double>> a) {
  const size_t n = a.size();
  for (size_t i = 0; i < n; ++i) {
    a[i].resize(2 * n);
    a[i][n + i] = 1;
  }
  for (size_t p = 0; p < n; ++p) {
    const double pivot = a[p][p];
    for (double& value : a[p]) value /= pivot;
    for (size_t i = 0; i < n; ++i) {
      const double factor = i == p ? 0 : a[i][p];
      for (size_t j = 0; j < 2 * n; ++j) a[i][j] -= factor * a[p][j];
    }
  }
  for (auto& row : a) row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(n));
  return a;
}

// sqrt(s / (n - p) (X^T W X)^-1_jj), the intercept last.
std::vector<double> plain_errors(const PlainRows& rows, const std::vector<double>& model) {
  const size_t d = model.size() - 1;
  std::vector<std::vector<double>> gram(d + 1, std::vector<double>(d + 1));
  double squares = 0, weight = 0;
  for (size_t r = 0; r < rows.y.size(); ++r) {
    std::vector<double> u = rows.x[r];
    u.push_back(1);
    double rest = rows.y[r];
    for (size_t i = 0; i <= d; ++i) {
      rest -= model[i] * u[i];
      for (size_t j = 0; j <= d; ++j) gram[i][j] += rows.w[r] * u[i] * u[j];
    }
    squares += rows.w[r] * rest * rest;
    weight += rows.w[r];
  }
  const auto inverted = inverse(gram);
  std::vector<double> errors;
  for (size_t j = 0; j <= d; ++j) {
    errors.push_back(std::sqrt(squares / (weight - static_cast<double>(d + 1)) * inverted[j][j]));
  }
  return errors;
}

TEST(RegressErrors, AreThoseOfLeastSquaresInEachCluster) {
  const SmallRows rows(300);
  for (const bool weighted : {false, true}) {
    for (const bool scaled : {false, true}) {
      const std::span<const double> weights = weighted ? std::span<const double>(rows.weights) : std::span<double>();
      const FeatureUnits units = scaled ? FeatureUnits{{30, -5}, {4, 0.25}} : FeatureUnits{};
      const RegressResult found =
          regress(RegressionRows::with_target(rows.view(DataType::kFloat64), -1, units), weights, options_of(3));
      const RegressionSummary& summary = found.summaries[0];
      const ModelResult& model = found.fit.models[0];
      double squares = 0;
      for (int64_t k = 0; k < 3; ++k) {
        PlainRows own;
        for (int64_t i = 0; i < rows.n; ++i) {
          if (model.labels[i] != k) continue;
          const double* row = rows.f64.data() + 3 * i;
          own.x.push_back({row[0], row[1]});
          if (scaled) own.x.back() = {30 + 4 * row[0], -5 + 0.25 * row[1]};
          own.y.push_back(row[2]);
          own.w.push_back(weighted ? rows.weights[static_cast<size_t>(i)] : 1);
        }
        std::vector<double> own_model = {model.prototypes.at(k, 0), model.prototypes.at(k, 1),
                                         model.prototypes.at(k, 2)};
        if (scaled) {
          own_model = {own_model[0] / 4, own_model[1] / 0.25,
                       own_model[2] - 30 * own_model[0] / 4 + 5 * own_model[1] / 0.25};
        }
        const std::vector<double> errors = plain_errors(own, own_model);
        for (int64_t j = 0; j < 3; ++j) {
          const double expected = errors[static_cast<size_t>(j)];
          EXPECT_NEAR(summary.standard_errors.at(k, j), expected, 1e-8 * expected) << k << ", " << j;
        }
        const LinearCluster& cluster = summary.clusters[static_cast<size_t>(k)];
        const double weight = model.weights[static_cast<size_t>(k)];
        squares += weight * cluster.deviation * cluster.deviation;
        double mean = 0, around = 0;
        for (size_t i = 0; i < own.y.size(); ++i) mean += own.w[i] * own.y[i] / weight;
        for (size_t i = 0; i < own.y.size(); ++i) around += own.w[i] * (own.y[i] - mean) * (own.y[i] - mean);
        EXPECT_NEAR(cluster.target_mean, mean, 1e-9);
        EXPECT_NEAR(cluster.r2, 1 - weight * cluster.deviation * cluster.deviation / around, 1e-9);
      }
      EXPECT_NEAR(squares, model.inertia, 1e-9 * model.inertia);
    }
  }
}

TEST(RegressErrors, AreNotKnownWhereNothingIsLeftToEstimateThem) {
  const std::vector<double> rows = {1, 1, 2, 3};  // a line through two points
  const PointsView view(rows.data(), 2, 2);
  const RegressionSummary through = regress(RegressionRows::with_target(view), {}, options_of(1)).summaries[0];
  for (int64_t j = 0; j < 2; ++j) EXPECT_TRUE(std::isnan(through.standard_errors.at(0, j)));
  RegressOptions options = options_of(1);
  options.ridge = 0.5;
  const SmallRows many(60);
  const RegressionRows given = RegressionRows::with_target(many.view(DataType::kFloat64));
  EXPECT_TRUE(std::isnan(regress(given, {}, options).summaries[0].standard_errors.at(0, 0)));
  options.ridge = 0;
  options.intercept = false;
  const RegressionSummary plane = regress(given, {}, options).summaries[0];
  EXPECT_GT(plane.standard_errors.at(0, 0), 0);
  EXPECT_EQ(plane.standard_errors.at(0, 2), 0);  // the intercept is 0 by definition
}

TEST(CrossValidation, PredictsEachFoldByModelsOfTheOthers) {
  const SmallRows rows(240);
  constexpr int64_t kFolds = 4;
  RegressOptions options = options_of(2);
  options.k = {2, 3};
  options.seed = 9;
  const std::vector<HeldOutR2> found =
      cross_validate(RegressionRows::with_target(rows.view(DataType::kFloat64)), rows.weights, options, kFolds);
  double weight = 0, mean = 0, total = 0;
  for (int64_t i = 0; i < rows.n; ++i) weight += rows.weights[static_cast<size_t>(i)];
  const auto target = [&](int64_t i) { return rows.f64[static_cast<size_t>(3 * i + 2)]; };
  for (int64_t i = 0; i < rows.n; ++i) mean += rows.weights[static_cast<size_t>(i)] * target(i) / weight;
  for (int64_t i = 0; i < rows.n; ++i) total += rows.weights[static_cast<size_t>(i)] * std::pow(target(i) - mean, 2);
  std::vector<HeldOutR2> errors(2);
  int64_t seen = 0;
  for (uint64_t fold = 0; fold < kFolds; ++fold) {
    std::vector<double> others, weights, features, targets, held_out;
    for (int64_t i = 0; i < rows.n; ++i) {
      const uint64_t u = random_u64(9, static_cast<uint64_t>(i), 0, Purpose::kFoldOfRow);
      const double* row = rows.f64.data() + 3 * i;
      const double w = rows.weights[static_cast<size_t>(i)];
      if (random_below(u, kFolds) == fold) {
        features.insert(features.end(), row, row + 2);
        targets.push_back(row[2]);
        held_out.push_back(w);
      } else {
        others.insert(others.end(), row, row + 3);
        weights.push_back(w);
      }
    }
    seen += std::ssize(targets);
    const PointsView training(others.data(), std::ssize(weights), 3);
    const RegressResult fit = regress(RegressionRows::with_target(training), weights, options);
    for (size_t m = 0; m < 2; ++m) {
      for (const Gating gating : {Gating::kNearest, Gating::kPrior}) {
        const PointsView x(features.data(), std::ssize(targets), 2);
        const Matrix y =
            regress_predict(x, fit.fit.models[m].prototypes.view(), fit.summaries[m].gate, gating, {.threads = 1});
        for (size_t i = 0; i < targets.size(); ++i) {
          const double rest = targets[i] - y.at(static_cast<int64_t>(i), 0);
          (gating == Gating::kNearest ? errors[m].nearest : errors[m].prior) += held_out[i] * rest * rest;
        }
      }
    }
  }
  EXPECT_EQ(seen, rows.n);
  for (size_t m = 0; m < 2; ++m) {
    EXPECT_NEAR(found[m].nearest, 1 - errors[m].nearest / total, 1e-9);
    EXPECT_NEAR(found[m].prior, 1 - errors[m].prior / total, 1e-9);
    EXPECT_LT(found[m].nearest, 1);
  }
  options.threads = 1;
  options.backend = "reference";
  const std::vector<HeldOutR2> again =
      cross_validate(RegressionRows::with_target(rows.view(DataType::kFloat64)), rows.weights, options, kFolds);
  for (size_t m = 0; m < 2; ++m) {
    EXPECT_EQ(found[m].nearest, again[m].nearest);
    EXPECT_EQ(found[m].prior, again[m].prior);
  }
}

TEST(CrossValidation, SaysWhatItCannotDo) {
  const SmallRows rows(40);
  const RegressionRows given = RegressionRows::with_target(rows.view(DataType::kFloat64));
  EXPECT_THROW(cross_validate(given, {}, options_of(2), 1), Error);
  EXPECT_THROW(cross_validate(given, {}, options_of(2), 41), Error);
  const std::vector<double> models(6, 1.0);
  FitHooks hooks;
  hooks.initial = PointsView(models.data(), 2, 3);
  EXPECT_THROW(cross_validate(given, {}, options_of(2), 2, hooks), Error);
}

TEST(RegressWarnings, OfManyClustersAreOneSentence) {
  // The last two columns are the categories of a text: they sum to 1 in every row.
  const SmallRows small(200);
  std::vector<double> rows;
  for (int64_t i = 0; i < small.n; ++i) {
    const double kind = static_cast<double>(i % 2);
    rows.insert(rows.end(), {small.f64[static_cast<size_t>(3 * i)], kind, 1 - kind});
    rows.push_back(small.f64[static_cast<size_t>(3 * i + 2)]);
  }
  RegressOptions options = options_of(3);
  options.models = 4;
  const RegressResult found = regress(RegressionRows::with_target({rows.data(), small.n, 4}), {}, options);
  ASSERT_FALSE(found.fit.warnings.empty());
  EXPECT_LE(found.fit.warnings.size(), 3U);
  EXPECT_NE(found.fit.warnings[0].find("the columns 2 (counted from 0) are constant, or combinations"),
            std::string::npos);
  EXPECT_EQ(found.summaries[0].left_out[0].back(), 2);
}

}  // namespace
}  // namespace manymeans::test
