// Ensembles that begin with given prototypes: each model is that of a single fit from its own.
#include <manymeans/error.h>
#include <manymeans/regress.h>
#include <manymeans/search.h>

#include "backend/tuning.h"
#include "engine/small_data.h"
#include "engine/tuned.h"
#include "io/files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace manymeans {
namespace {

using test::expect_error;
using test::mixture;
using test::options;

constexpr int64_t kColumns = 3;
constexpr int64_t kRows = 900;

// Points, and prototypes for three models of k = 4 and three of k = 9.
struct Ensemble {
  std::vector<float> x = mixture(kRows, kColumns, 21);
  std::vector<float> given = mixture(3 * (4 + 9), kColumns, 22);

  PointsView points() const { return {x.data(), kRows, kColumns}; }
  FitHooks hooks() const {
    FitHooks hooks;
    hooks.initial = {given.data(), 3 * (4 + 9), kColumns};
    return hooks;
  }
  FitHooks hooks_of(size_t model) const {
    const size_t first = model < 3 ? 4 * model : 12 + 9 * (model - 3);
    FitHooks hooks;
    hooks.initial = {given.data() + first * kColumns, model < 3 ? 4 : 9, kColumns};
    return hooks;
  }
  // Of single fits.
  std::vector<std::string> digests(FitOptions how) const {
    std::vector<std::string> all;
    how.models = 1;
    for (size_t model = 0; model < 6; ++model) {
      how.k = {model < 3 ? 4 : 9};
      all.push_back(fit(points(), {}, how, hooks_of(model)).models[0].digest());
    }
    return all;
  }
};

std::vector<std::string> digests_of(const FitResult& result) {
  std::vector<std::string> digests;
  for (const ModelResult& model : result.models) digests.push_back(model.digest());
  return digests;
}

TEST(GivenPrototypes, EachModelIsTheSingleFitFromItsOwn) {
  const Ensemble made;
  for (const Metric metric : {Metric::kEuclidean, Metric::kCosine}) {
    FitOptions how = options({4, 9}, 3);
    how.metric = metric;
    how.backend = "reference";
    const std::vector<std::string> wanted = made.digests(how);
    EXPECT_NE(wanted[0], wanted[1]);
    for (const char* backend : {"reference", "cpu", "cpu,reference"}) {
      for (const Strategy strategy : {Strategy::kConcatenated, Strategy::kData, Strategy::kTask}) {
        for (const int threads : {1, 2, 5}) {
          how.backend = backend;
          how.strategy = strategy;
          how.threads = threads;
          const FitResult found = fit(made.points(), {}, how, made.hooks());
          EXPECT_EQ(digests_of(found), wanted) << backend << " " << name_of(strategy) << " " << threads;
          EXPECT_EQ(found.models[4].init, "given");
          EXPECT_EQ(found.models[4].replica, 1);
        }
      }
    }
  }
}

TEST(GivenPrototypes, DevicesDealOutModels) {
  const Ensemble made;
  FitOptions how = options({4, 9}, 3);
  const std::vector<std::string> wanted = made.digests(how);
  Tuning apart;
  apart.models_apart = true;
  how.backend = "cpu,reference";
  EXPECT_EQ(digests_of(fit_tuned(made.points(), {}, how, made.hooks(), apart)), wanted);
}

TEST(GivenPrototypes, EachSearchBeginsWithItsOwn) {
  const Ensemble made;
  SearchOptions how;
  how.k = {4, 9};
  how.models = 3;
  how.rounds = 1;
  const SearchResult all = search(made.points(), {}, how, made.hooks());
  how.models = 1;
  for (size_t model = 0; model < 6; ++model) {
    how.k = {all.fit.models[model].k};
    how.model_seed = all.fit.models[model].seed;
    const SearchResult alone = search(made.points(), {}, how, made.hooks_of(model));
    EXPECT_EQ(alone.searches[0].steps[0].inertia, all.searches[model].steps[0].inertia) << model;
    EXPECT_EQ(alone.fit.models[0].digest(), all.fit.models[model].digest()) << model;
  }
}

TEST(GivenPrototypes, EachLinearModelIsTheSingleFitFromItsOwn) {
  const Ensemble made;
  RegressOptions how;
  how.k = {4, 9};
  how.models = 3;
  const RegressionRows rows = RegressionRows::with_target(made.points());
  const RegressResult all = regress(rows, {}, how, made.hooks());
  how.models = 1;
  for (size_t model = 0; model < 6; ++model) {
    how.k = {all.fit.models[model].k};
    how.model_seed = all.fit.models[model].seed;  // of its swaps
    EXPECT_EQ(regress(rows, {}, how, made.hooks_of(model)).fit.models[0].digest(), all.fit.models[model].digest());
  }
}

TEST(GivenPrototypes, OtherNumbersAreRefused) {
  const Ensemble made;
  const auto refuse = [&](std::vector<int64_t> k, int64_t models, const std::string& text) {
    expect_error(ErrorCode::kUsage, {"initial prototypes", text},
                 [&] { fit(made.points(), {}, options(std::move(k), models), made.hooks()); });
  };
  refuse({4, 9}, 1, "39 rows are given, k is 4, 9 and models 1; 13 rows are right");
  refuse({9}, 3, "39 rows are given, k is 9 and models 3; 27 rows are right");
  FitHooks narrow = made.hooks();
  narrow.initial = {made.given.data(), 39, 2};
  expect_error(ErrorCode::kBadData, {"initial prototypes", "2 columns, the points have 3"},
               [&] { fit(made.points(), {}, options({4, 9}, 3), narrow); });
}

}  // namespace
}  // namespace manymeans
