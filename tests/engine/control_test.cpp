// Fits that are ended from outside: they equal the same fit with max_iter set to the iterations they report.
#include "engine/control.h"

#include "backend/device/async_backend.h"
#include "engine/small_data.h"
#include "engine/tuned.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

namespace manymeans {
namespace {

using test::mixture;
using test::options;

bool is_from_outside(StopReason reason) {
  return reason == StopReason::kTimeLimit || reason == StopReason::kCallback || reason == StopReason::kInterrupted;
}

// Every begun model of `stopped` must have the digest of a fit with its own max_iter; one that had come to its end when
// the others were stopped has that of its fit.
void expect_equal_to_max_iter(const FitResult& stopped, const PointsView& points, FitOptions o) {
  const int64_t most = o.max_iter;
  for (const ModelResult& model : stopped.models) {
    if (model.stop_reason == StopReason::kNotBegun) continue;
    o.k = {model.k_requested};
    o.models = 1;
    o.model_seed = model.seed;
    o.max_iter = is_from_outside(model.stop_reason) ? model.iterations : most;
    o.time_limit = 0;
    EXPECT_EQ(fit(points, {}, o).models[0].digest(), model.digest());
  }
}

TEST(Control, ACallbackStopsAfterThePass) {
  const auto x = mixture(2000, 3, 1, 20);
  const PointsView points(x.data(), 2000, 3);
  for (const Strategy strategy : {Strategy::kConcatenated, Strategy::kData, Strategy::kTask}) {
    FitOptions o = options({9, 20}, 3);
    o.strategy = strategy;
    int calls = 0;
    FitHooks hooks;
    hooks.progress = [&](const Progress& p) { return p.phase == "initialise" || ++calls < 9; };  // one caller at a time
    const FitResult result = fit(points, {}, o, hooks);
    EXPECT_TRUE(result.interrupted);
    EXPECT_EQ(calls, 9) << "nobody asks again";
    int stopped = 0;
    int not_begun = 0;
    for (const ModelResult& model : result.models) {
      stopped += model.stop_reason == StopReason::kCallback;
      not_begun += model.stop_reason == StopReason::kNotBegun;
      EXPECT_EQ(model.labels.size(), model.stop_reason == StopReason::kNotBegun ? 0 : 2000);
    }
    EXPECT_GE(stopped, 1);
    if (strategy == Strategy::kConcatenated) {
      EXPECT_EQ(not_begun, 0);
    } else {
      EXPECT_GT(not_begun, 0);
    }
    expect_equal_to_max_iter(result, points, o);
  }
}

TEST(Control, ACancelBeforeTheFirstPassLeavesNothingBegun) {
  const auto x = mixture(500, 2, 2);
  const std::atomic<bool> cancel{true};
  FitHooks hooks;
  hooks.cancel = &cancel;
  const FitResult result = fit(PointsView(x.data(), 500, 2), {}, options({4}, 2), hooks);
  EXPECT_TRUE(result.interrupted);
  for (const ModelResult& model : result.models) EXPECT_EQ(model.stop_reason, StopReason::kNotBegun);
  EXPECT_EQ(result.best(4), -1);
  ASSERT_FALSE(result.warnings.empty());
}

TEST(Control, EveryLongInitialisationCanBeStopped) {
  const auto x = mixture(3000, 2, 6);
  for (const char* init : {"k-means++", "k-means||"}) {
    FitOptions o = options({40});
    o.init = init;
    int calls = 0;
    FitHooks hooks;
    hooks.progress = [&](const Progress& p) {
      EXPECT_EQ(p.phase, "initialise") << init << " ended before it was stopped";
      return ++calls < 20;
    };
    const FitResult result = fit(PointsView(x.data(), 3000, 2), {}, o, hooks);
    EXPECT_EQ(calls, 20) << init;
    EXPECT_TRUE(result.interrupted);
    EXPECT_EQ(result.models[0].stop_reason, StopReason::kNotBegun) << init;
  }
}

TEST(Control, EveryRoundOfKMeansParallelCanBeStopped) {
  const auto x = mixture(3000, 2, 6);
  for (const int stop_at : {1, 3, 5}) {
    FitOptions o = options({40});
    o.init = "k-means||";
    int64_t rounds = 0;
    FitHooks hooks;
    hooks.progress = [&](const Progress& p) {
      EXPECT_EQ(p.max_iteration, 5) << "not a round of oversampling";
      return ++rounds < stop_at;
    };
    EXPECT_EQ(fit(PointsView(x.data(), 3000, 2), {}, o, hooks).models[0].stop_reason, StopReason::kNotBegun);
    EXPECT_EQ(rounds, stop_at);
  }
}

TEST(Control, ATimeLimitStops) {
  const auto x = mixture(20000, 8, 3, 50);
  const PointsView points(x.data(), 20000, 8);
  FitOptions o = options({50}, 2);
  o.init = "first";
  o.time_limit = 1e-9;
  const FitResult result = fit(points, {}, o);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.models[0].stop_reason, StopReason::kTimeLimit);
  EXPECT_EQ(result.models[0].iterations, 0);
  expect_equal_to_max_iter(result, points, o);
}

// Whatever takes so long to begin: who sets a time limit gets one model at least.
TEST(Control, ATimeLimitLeavesTheFirstModel) {
  const auto x = mixture(2000, 3, 5, 20);
  const PointsView points(x.data(), 2000, 3);
  for (const char* init : {"k-means++", "k-means||", "random"}) {
    for (const Strategy strategy : {Strategy::kConcatenated, Strategy::kData, Strategy::kTask}) {
      FitOptions o = options({9, 20}, 3);
      o.init = init;
      o.strategy = strategy;
      o.time_limit = 1e-9;
      const FitResult result = fit(points, {}, o);
      EXPECT_TRUE(result.interrupted);
      ASSERT_EQ(result.models.size(), 6U);
      EXPECT_EQ(result.models[0].stop_reason, StopReason::kTimeLimit) << init;
      EXPECT_EQ(result.models[0].iterations, 0);
      EXPECT_EQ(result.models[0].labels.size(), 2000);
      for (size_t i = 1; i < 6; ++i) EXPECT_EQ(result.models[i].stop_reason, StopReason::kNotBegun);
      EXPECT_EQ(result.warnings, std::vector<std::string>{"5 of 6 models had not begun when the fit was stopped"});
      expect_equal_to_max_iter(result, points, o);
    }
  }
}

TEST(Control, WhoeverStopsTheFirstModelAfterATimeLimitIsHeard) {
  const auto x = mixture(2000, 3, 5, 20);
  FitOptions o = options({40}, 3);
  o.init = "k-means++";
  o.time_limit = 1e-9;
  int calls = 0;
  FitHooks hooks;
  hooks.progress = [&](const Progress& p) {
    EXPECT_EQ(p.active_models, 1);
    return ++calls < 5;
  };
  const FitResult result = fit(PointsView(x.data(), 2000, 3), {}, o, hooks);
  EXPECT_EQ(calls, 5);
  EXPECT_TRUE(result.interrupted);
  for (const ModelResult& model : result.models) EXPECT_EQ(model.stop_reason, StopReason::kNotBegun);
}

// k-means|| makes one model after the other: those that are ready when the time is up are labelled.
TEST(Control, ATimeLimitKeepsModelsThatAreInitialised) {
  const auto x = mixture(2000, 3, 5, 20);
  const PointsView points(x.data(), 2000, 3);
  FitOptions o = options({9}, 3);
  o.init = "k-means||";
  o.time_limit = 0.5;
  bool waited = false;
  FitHooks hooks;
  hooks.progress = [&](const Progress& p) {
    if (p.phase != "initialise" || p.max_iteration != 15 || p.iteration != 10) return true;  // the third model's first
    waited = true;
    std::this_thread::sleep_for(std::chrono::duration<double>(1.1 * o.time_limit));
    return true;
  };
  const FitResult result = fit(points, {}, o, hooks);
  if (!waited) GTEST_SKIP() << "this machine has not initialised two models in time";
  EXPECT_EQ(result.models[0].stop_reason, StopReason::kTimeLimit);
  EXPECT_EQ(result.models[1].stop_reason, StopReason::kTimeLimit);
  EXPECT_EQ(result.models[2].stop_reason, StopReason::kNotBegun);
  expect_equal_to_max_iter(result, points, o);
}

// On a device that makes several passes before anybody looks.
TEST(Control, ABatchThatIsStoppedIsAFitOfSoManyIterations) {
  const auto x = mixture(3000, 4, 3, 30);
  const PointsView points(x.data(), 3000, 4);
  Tuning tuning;
  tuning.test_backend = test::make_async_backend;
  FitOptions o = options({20});
  o.init = "first";
  const std::string whole = fit(points, {}, o).digest();
  const auto expect_right = [&](const FitResult& result) {
    if (result.interrupted) return expect_equal_to_max_iter(result, points, o);
    EXPECT_EQ(result.digest(), whole);
  };
  for (const double pause : {0.0, 1e-3, 1e9}) {
    for (const int stop_at : {1, 2, 3}) {
      int calls = 0;
      FitHooks hooks;
      hooks.pause = pause;
      hooks.progress = [&](const Progress& p) { return p.phase == "initialise" || ++calls < stop_at; };
      const FitResult result = fit_tuned(points, {}, o, hooks, tuning);
      EXPECT_LE(calls, stop_at);
      EXPECT_EQ(result.interrupted, calls == stop_at);
      expect_right(result);
    }
  }
  for (const double limit : {1e-9, 0.01, 0.05}) {
    FitOptions limited = o;
    limited.time_limit = limit;
    expect_right(fit_tuned(points, {}, limited, {}, tuning));
  }
}

TEST(Control, APauseBetweenReports) {
  const auto x = mixture(2000, 3, 1, 20);
  int calls = 0;
  FitHooks hooks;
  hooks.pause = 1e9;
  hooks.progress = [&](const Progress& p) {
    calls += p.phase == "iterate";
    return true;
  };
  FitOptions o = options({9});
  o.init = "first";
  const FitResult result = fit(PointsView(x.data(), 2000, 3), {}, o, hooks);
  EXPECT_GT(result.models[0].iterations, 3);
  EXPECT_EQ(calls, 1);
}

TEST(Control, ProgressCountsActiveModels) {
  const auto x = mixture(3000, 4, 4, 9);
  FitHooks hooks;
  int64_t last_active = 100;
  bool begun = false;
  hooks.progress = [&](const Progress& p) {
    if (p.phase != "iterate") return true;
    begun = true;
    EXPECT_LE(p.active_models, last_active) << "a model that has left does not come back";
    EXPECT_EQ(p.models, 6);
    EXPECT_GT(p.points_per_second, 0);
    EXPECT_GT(p.inertia_estimate, 0);
    last_active = p.active_models;
    return true;
  };
  const FitResult result = fit(PointsView(x.data(), 3000, 4), {}, options({3, 6, 9}, 2), hooks);
  EXPECT_TRUE(begun);
  EXPECT_LT(last_active, 6);
  EXPECT_FALSE(result.interrupted);
}

TEST(Control, LargeModelsHaveNoEstimate) {
  const int64_t n = 2100, d = 2048, k = 2049;
  const auto x = mixture(n, d, 4, 9);
  FitHooks hooks;
  int reports = 0;
  hooks.progress = [&](const Progress& p) {
    reports += p.phase == "iterate";
    EXPECT_TRUE(p.phase != "iterate" || std::isnan(p.inertia_estimate));
    return true;
  };
  FitOptions o = options({k});
  o.init = "first";
  o.max_iter = 1;
  fit(PointsView(x.data(), n, d), {}, o, hooks);
  EXPECT_GT(reports, 0);
}

TEST(Control, TheEstimateIsNearTheInertia) {
  const auto x = mixture(5000, 6, 5, 9);
  double estimate = 0;
  FitHooks hooks;
  hooks.progress = [&](const Progress& p) {
    estimate = p.inertia_estimate;
    return true;
  };
  for (const int64_t n : {20, 5000}) {
    for (const char* algorithm : {"matrix", "brute"}) {
      FitOptions o = options({9});
      o.algorithm = algorithm;
      const FitResult result = fit(PointsView(x.data(), n, 6), {}, o, hooks);
      EXPECT_NEAR(estimate / result.models[0].inertia, 1, 0.001) << algorithm << " " << n;
    }
  }
}

}  // namespace
}  // namespace manymeans
