#include "engine/empty_clusters.h"

#include <manymeans/error.h>
#include <manymeans/info.h>

#include "engine/small_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace manymeans {
namespace {

// Six points on a line, and a third prototype that no point is nearest to.
struct Line {
  std::vector<float> x = {0, 1, 2, 10, 11, 19};
  std::vector<float> start = {1, 12, 1000};
  PointsView points() const { return {x.data(), static_cast<int64_t>(x.size()), 1}; }
  FitResult run(EmptyPolicy policy, int64_t max_iter, std::vector<double> weights = {}) const {
    const auto k = static_cast<int64_t>(start.size());
    FitOptions o = test::options({k});
    o.empty = policy;
    o.max_iter = max_iter;
    o.tol = 0;
    FitHooks hooks;
    hooks.initial = PointsView(start.data(), k, 1);
    return fit(points(), weights, o, hooks);
  }
};

TEST(EmptyClusters, FarthestTakesTheFarthestPoint) {
  // Distances to the own prototype: 1, 0, 1, 2, 1, 7: row 5 moves, so the means are 1, 10.5 and 19.
  const ModelResult model = Line().run(EmptyPolicy::kFarthest, 1).models[0];
  EXPECT_EQ(model.prototypes.at(0, 0), 1);
  EXPECT_EQ(model.prototypes.at(1, 0), 10.5);
  EXPECT_EQ(model.prototypes.at(2, 0), 19);
  EXPECT_EQ(model.counts, (std::vector<int64_t>{3, 2, 1}));
}

TEST(EmptyClusters, RowsOfWeightZeroDonateNothing) {
  const ModelResult model = Line().run(EmptyPolicy::kFarthest, 1, {1, 1, 1, 1, 1, 0}).models[0];
  EXPECT_EQ(model.prototypes.at(2, 0), 10) << "row 3, at distance 2, is the farthest that counts";
}

TEST(EmptyClusters, KeepLeavesThePrototype) {
  const FitResult result = Line().run(EmptyPolicy::kKeep, 5);
  EXPECT_EQ(result.models[0].prototypes.at(2, 0), 1000);
  EXPECT_EQ(result.models[0].counts[2], 0);
  EXPECT_FALSE(result.warnings.empty());
}

TEST(EmptyClusters, AClusterOfRowsWithoutWeightIsNotCalledEmpty) {
  Line line;
  line.start = {1, 12, 19};
  const std::vector<double> weights = {1, 1, 1, 1, 1, 0};
  const auto warning = [&] { return line.run(EmptyPolicy::kKeep, 5, weights).warnings.back(); };
  EXPECT_TRUE(warning().ends_with(": 1 of 3 clusters have no weight at the end")) << warning();
  line.start[2] = 1000;
  EXPECT_TRUE(warning().ends_with(": 1 of 3 clusters are empty at the end")) << warning();
}

TEST(EmptyClusters, DropRemovesThePrototype) {
  const FitResult result = Line().run(EmptyPolicy::kDrop, 5);
  EXPECT_EQ(result.models[0].k, 2);
  EXPECT_EQ(result.models[0].k_requested, 3);
  EXPECT_EQ(result.models[0].prototypes.rows(), 2);
  EXPECT_EQ(result.models[0].counts.size(), 2U);
  EXPECT_FALSE(result.warnings.empty());
}

TEST(EmptyClusters, ErrorSaysWhich) {
  try {
    Line().run(EmptyPolicy::kError, 5);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_NE(std::string(error.what()).find("cluster 2"), std::string::npos) << error.what();
  }
}

// Two of the rows are equal, and may both be first, which empties a cluster at once; others lose theirs on long tails,
// later. So a later model often fails in an earlier iteration: the error is the first model's all the same.
TEST(EmptyClusters, TheErrorIsTheFirstModelsWhateverTheStrategy) {
  int errors = 0, late = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    std::mt19937 random(seed);
    std::lognormal_distribution<float> tail(0, 3);
    std::vector<float> x(120);
    for (float& v : x) v = tail(random);
    std::copy_n(x.begin(), 3, x.begin() + 60);
    FitOptions o = test::options({20}, 6);
    o.init = "random";
    o.empty = EmptyPolicy::kError;
    o.seed = seed;
    o.tol = 0;
    std::vector<std::string> found;
    for (const char* backend : {"reference", "cpu"}) {
      for (const Strategy strategy : {Strategy::kData, Strategy::kTask, Strategy::kConcatenated}) {
        o.backend = backend;
        o.strategy = strategy;
        try {
          found.push_back(fit(PointsView(x.data(), 40, 3), {}, o).digest());
        } catch (const Error& error) {
          found.emplace_back(error.what());
          ++errors;
        }
        EXPECT_EQ(found.back(), found.front()) << backend << " " << name_of(strategy) << " seed " << seed;
      }
    }
    late += found[0].find("iteration") != std::string::npos && found[0].find("iteration 1;") == std::string::npos;
  }
  EXPECT_GT(errors, 60);
  EXPECT_GT(late, 5);
}

TEST(EmptyClusters, FewerDistinctPointsThanClustersWarns) {
  std::vector<float> x(100, 1.0F);
  for (size_t i = 50; i < 100; ++i) x[i] = 2;
  for (const char* init : {"k-means++", "k-means||", "random", "first"}) {
    FitOptions o = test::options({7});
    o.init = init;
    const FitResult result = fit(PointsView(x.data(), 100, 1), {}, o);
    EXPECT_EQ(result.models[0].inertia, 0) << init;
    EXPECT_FALSE(result.warnings.empty()) << init;
    EXPECT_LT(result.models[0].iterations, 10) << init;
  }
}

TEST(EmptyClusters, SeveralAreFilledInOrder) {
  // All points belong to prototype 0; the three empty ones take rows by distance, the lower row first on a tie.
  const Line line{{-4, 4, 3, 0, 0}, {0, 100, 200, 300}};
  const ModelResult model = line.run(EmptyPolicy::kFarthest, 1).models[0];
  EXPECT_EQ(model.prototypes.at(0, 0), 0);
  EXPECT_EQ(model.prototypes.at(1, 0), -4);
  EXPECT_EQ(model.prototypes.at(2, 0), 4);
  EXPECT_EQ(model.prototypes.at(3, 0), 3);
}

TEST(EmptyClusters, TheLastRowOfAClusterStays) {
  // Cluster 1 has rows 3 and 4, the farthest ones. One of them goes; then row 0 is the farthest that may.
  const Line line{{-1, 0, 1, 50, 60}, {0, 54, 1000, 2000}};
  const ModelResult model = line.run(EmptyPolicy::kFarthest, 1).models[0];
  EXPECT_EQ(model.prototypes.at(0, 0), 0.5);
  EXPECT_EQ(model.prototypes.at(1, 0), 50);
  EXPECT_EQ(model.prototypes.at(2, 0), 60);
  EXPECT_EQ(model.prototypes.at(3, 0), -1);
}

// A device moves the rows. It makes the update of a single model, and of several with large statistics. Most rows are
// at one place, so most random prototypes are equal and their clusters empty.
TEST(EmptyClusters, ManyAreFilledOnEveryBackend) {
  for (const auto& [k, d, other] : {std::tuple{50, 3, 0}, {50, 3, 40}, {400, 1500, 380}}) {
    std::mt19937_64 random(3);
    std::normal_distribution<float> normal;
    const int64_t n = 2 * k, same = n * d * 3 / 5;
    std::vector<float> x(static_cast<size_t>(n * d), 1);
    for (int64_t i = same - same % d; i < n * d; ++i) x[static_cast<size_t>(i)] = normal(random);
    x.back() = 1e9F;  // sums of two limbs: statistics of 19 MB in the last case
    std::string expected;
    for (const Choice& backend : info().backends) {
      if (!backend.available) continue;
      FitOptions o = test::options(other > 0 ? std::vector<int64_t>{k, other} : std::vector<int64_t>{k});
      o.backend = backend.name;
      o.init = "random";
      o.stop = "strict";
      o.max_iter = 10;
      const FitResult result = fit(PointsView(x.data(), n, d), {}, o);
      if (expected.empty()) expected = result.digest();
      EXPECT_EQ(result.digest(), expected) << backend.name << ", " << d << " columns";
    }
  }
}

}  // namespace
}  // namespace manymeans
