#include <manymeans/error.h>

#include "engine/small_data.h"
#include "prototype/prototype.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>

namespace manymeans {
namespace {

TEST(Initialise, GivesWhatAFitBeginsWithAndItsRows) {
  const int64_t n = 900;
  const auto x = test::mixture(n, 3, 21, 30);
  const PointsView points(x.data(), n, 3);
  std::vector<double> weights(static_cast<size_t>(n));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = 0.5 + static_cast<double>(i % 7);
  for (const char* init : {"first", "random", "k-means++", "k-means||"}) {
    for (const char* backend : {"cpu", "reference"}) {
      FitOptions o = test::options({12});
      o.init = init;
      o.backend = backend;
      o.seed = 5;
      const Initialisation begun = initialise(points, weights, o);
      ASSERT_EQ(begun.rows.size(), 12U) << init;
      for (int64_t k = 0; k < 12; ++k) {
        for (int64_t j = 0; j < 3; ++j) {
          const int64_t row = begun.rows[static_cast<size_t>(k)];
          EXPECT_EQ(begun.prototypes.at(k, j), x[static_cast<size_t>(3 * row + j)]) << init;
        }
      }
      o.max_iter = 0;
      const FitResult result = fit(points, weights, o);
      std::vector<int64_t> order(12);  // of the clusters that begin with these prototypes
      std::iota(order.begin(), order.end(), int64_t{0});
      FitHooks hooks;
      hooks.initial = begun.prototypes.view();
      const std::vector<double> weight = fit(points, weights, o, hooks).models[0].weights;
      std::ranges::stable_sort(order, std::greater<>(), [&](int64_t k) { return weight[static_cast<size_t>(k)]; });
      const Matrix sorted = keep_prototypes(begun.prototypes, order);
      EXPECT_TRUE(std::ranges::equal(result.models[0].prototypes.bytes(), sorted.bytes())) << init;
      o.model_seed = result.models[0].seed;
      EXPECT_EQ(initialise(points, weights, o).rows, begun.rows) << init;
    }
  }
}

TEST(Initialise, RefusesMorePrototypesThanRowsAndStops) {
  const auto x = test::mixture(10, 2, 22);
  const PointsView points(x.data(), 10, 2);
  EXPECT_THROW(initialise(points, {}, test::options({11})), Error);
  FitHooks hooks;
  hooks.progress = [](const Progress&) { return false; };
  try {
    initialise(points, {}, test::options({3}), hooks);
    FAIL() << "it was told to stop";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInterrupted);
  }
}

TEST(Abort, EndsAFitWithinAPass) {
  const auto x = test::mixture(3000, 4, 23);
  for (const Strategy strategy : {Strategy::kConcatenated, Strategy::kData, Strategy::kTask}) {
    for (const char* algorithm : {"matrix", "bounds", "kdtree", "brute"}) {
      std::atomic<bool> abort{false};
      FitHooks hooks;
      hooks.abort = &abort;
      hooks.progress = [&](const Progress& progress) {
        if (progress.phase == "iterate") abort = true;  // seen by the next pass, not between passes
        return true;
      };
      FitOptions o = test::options({20}, 2);
      o.algorithm = algorithm;
      o.strategy = strategy;
      o.tol = 0;
      try {
        fit(PointsView(x.data(), 3000, 4), {}, o, hooks);
        FAIL() << algorithm << " went on";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInterrupted);
      }
    }
  }
}

TEST(Abort, EndsAPassOfTheReference) {
  const auto x = test::mixture(3000, 4, 23);
  for (const char* init : {"first", "k-means++"}) {
    std::atomic<bool> abort{false};
    FitHooks hooks;
    hooks.abort = &abort;
    hooks.progress = [&](const Progress&) {
      abort = true;
      return true;
    };
    FitOptions o = test::options({20}, 2);
    o.backend = "reference";
    o.init = init;
    o.tol = 0;
    EXPECT_THROW(fit(PointsView(x.data(), 3000, 4), {}, o, hooks), Error) << init;
  }
}

TEST(Abort, EndsPredictAndTransform) {
  const auto x = test::mixture(3000, 4, 24);
  const std::atomic<bool> abort{true};
  PredictOptions o;
  o.abort = &abort;
  EXPECT_THROW(predict(PointsView(x.data(), 3000, 4), PointsView(x.data(), 5, 4), o), Error);
  EXPECT_THROW(transform(PointsView(x.data(), 3000, 4), PointsView(x.data(), 5, 4), o), Error);
}

}  // namespace
}  // namespace manymeans
