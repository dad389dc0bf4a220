// Labels of rows with a target, and targets of rows without one.
#include <manymeans/regress.h>

#include "io/files.h"
#include "regress/regress_cases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

struct Fitted {
  SmallRows rows{400};
  RegressionRows view = RegressionRows::with_target(rows.view(DataType::kFloat32));
  RegressResult result;
  std::vector<float> x;  // the features alone

  Fitted() {
    RegressOptions options;
    options.k = {3};
    options.swaps = 2;
    result = regress(view, {}, options);
    for (int64_t i = 0; i < rows.n; ++i) {
      x.insert(x.end(), rows.f32.begin() + i * 3, rows.f32.begin() + i * 3 + 2);
    }
  }
  const Matrix& models() const { return result.fit.models[0].prototypes; }
  const RegressionGate& gate() const { return result.summaries[0].gate; }
  PointsView features() const { return {x.data(), rows.n, 2}; }
  double prediction(int64_t row, int64_t k) const {
    return models().at(k, 0) * x[static_cast<size_t>(2 * row)] +
           models().at(k, 1) * x[static_cast<size_t>(2 * row + 1)] + models().at(k, 2);
  }
};

TEST(RegressPredict, LabelsAreThoseOfTheFit) {
  const Fitted fitted;
  PredictOptions options;
  options.distances = options.inertia = true;
  for (const char* backend : {"reference", "cpu"}) {
    options.backend = backend;
    const Prediction found = regress_labels(fitted.view, fitted.models().view(), options);
    EXPECT_TRUE(std::ranges::equal(found.labels.bytes(), fitted.result.fit.models[0].labels.bytes())) << backend;
    EXPECT_EQ(found.inertia, fitted.result.fit.models[0].inertia) << backend;
    const double residual = fitted.rows.f32[2] - fitted.prediction(0, found.labels[0]);
    EXPECT_NEAR(found.distances[0], std::fabs(residual), 1e-9) << backend;
  }
}

TEST(RegressPredict, ColumnsAreAllPredictions) {
  const Fitted fitted;
  const Matrix found =
      regress_predict(fitted.features(), fitted.models().view(), fitted.gate(), Gating::kColumns, {.threads = 2});
  ASSERT_EQ(found.columns(), 3);
  for (int64_t i = 0; i < fitted.rows.n; ++i) {
    for (int64_t k = 0; k < 3; ++k) EXPECT_NEAR(found.at(i, k), fitted.prediction(i, k), 1e-12);
  }
}

TEST(RegressPredict, PriorIsTheWeightedMean) {
  const Fitted fitted;
  const Matrix found = regress_predict(fitted.features(), fitted.models().view(), fitted.gate(), Gating::kPrior);
  for (int64_t i = 0; i < fitted.rows.n; ++i) {
    double expected = 0;
    for (int64_t k = 0; k < 3; ++k) {
      expected +=
          fitted.gate().weights[static_cast<size_t>(k)] / static_cast<double>(fitted.rows.n) * fitted.prediction(i, k);
    }
    EXPECT_NEAR(found.at(i, 0), expected, 1e-12);
  }
}

TEST(RegressPredict, NearestIsTheModelOfTheNearestMean) {
  Fitted fitted;
  RegressionGate gate = fitted.gate();
  gate.weights[1] = 0;  // such a cluster has no mean
  const Matrix found = regress_predict(fitted.features(), fitted.models().view(), gate, Gating::kNearest);
  for (int64_t i = 0; i < fitted.rows.n; ++i) {
    double least = std::numeric_limits<double>::infinity();
    int64_t best = -1;
    for (const int64_t k : {0, 2}) {
      double d2 = 0;
      for (int64_t j = 0; j < 2; ++j) {
        d2 += std::pow(
            (fitted.x[static_cast<size_t>(2 * i + j)] - gate.means.at(k, j)) / gate.scales[static_cast<size_t>(j)], 2);
      }
      if (d2 < least) best = k;
      least = std::fmin(least, d2);
    }
    EXPECT_NEAR(found.at(i, 0), fitted.prediction(i, best), 1e-12) << i;
  }
}

TEST(RegressPredict, GatingsHaveNames) {
  for (const Gating gating : {Gating::kNearest, Gating::kPrior, Gating::kColumns}) {
    EXPECT_EQ(find_named<Gating>(name_of(gating)), gating);
  }
  EXPECT_FALSE(find_named<Gating>("none"));
}

TEST(RegressPredict, WhatDoesNotAgreeIsRefused) {
  Fitted fitted;
  const PointsView models = fitted.models().view();
  const auto predict = [&](const PointsView& x, const RegressionGate& gate) {
    return regress_predict(x, models, gate, Gating::kNearest);
  };
  expect_error(ErrorCode::kBadData, {"3 features, the models have 2"},
               [&] { predict(fitted.rows.view(DataType::kFloat32), fitted.gate()); });
  RegressionGate gate = fitted.gate();
  gate.scales.pop_back();
  expect_error(ErrorCode::kBadData, {"gate"}, [&] { predict(fitted.features(), gate); });
  gate = fitted.gate();
  gate.weights.assign(3, 0);
  expect_error(ErrorCode::kBadData, {"gate", "sum 0"}, [&] { predict(fitted.features(), gate); });
  fitted.x[7] = std::numeric_limits<float>::infinity();
  expect_error(ErrorCode::kBadData, {"row 4"}, [&] { predict(fitted.features(), fitted.gate()); });
  const std::vector<float> wide(2 * 4);
  expect_error(ErrorCode::kBadData, {"2 features, the models have 3"},
               [&] { regress_labels(fitted.view, {wide.data(), 2, 4}); });
}

}  // namespace
}  // namespace manymeans::test
