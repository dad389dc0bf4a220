#include "init/init.h"

#include <manymeans/error.h>

#include "engine/small_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace manymeans {
namespace {

TEST(FindInit, AutoDependsOnTheShapeOnly) {
  EXPECT_EQ(find_init("auto", 1000000, 8, 2).name, "k-means++");
  EXPECT_EQ(find_init("auto", 1000000, 5000, 128).name, "k-means++");
  EXPECT_EQ(find_init("auto", 1000000, 5001, 128).name, "k-means||");
  EXPECT_THROW(find_init("kmeans++", 10, 2, 2), Error);
}

TEST(Init, EveryMethodGivesDistinctRowsOfTheData) {
  const int64_t n = 700;
  const auto x = test::mixture(n, 3, 11, 40);
  for (const InitEntry& entry : inits()) {
    FitOptions o = test::options({1, 6, 40}, 2);
    o.init = entry.name;
    o.max_iter = 0;
    const FitResult result = fit(PointsView(x.data(), n, 3), {}, o);
    for (const ModelResult& model : result.models) {
      EXPECT_EQ(model.init, entry.name);
      std::set<int64_t> rows;
      for (int64_t k = 0; k < model.k; ++k) {
        for (int64_t i = 0; i < n; ++i) {
          if (model.prototypes.at(k, 0) == x[static_cast<size_t>(3 * i)] &&
              model.prototypes.at(k, 1) == x[static_cast<size_t>(3 * i + 1)]) {
            rows.insert(i);
          }
        }
      }
      EXPECT_EQ(static_cast<int64_t>(rows.size()), model.k) << entry.name;
    }
  }
}

TEST(Init, ReplicasDiffer) {
  const auto x = test::mixture(400, 2, 12);
  for (const char* init : {"k-means++", "k-means||", "random"}) {
    FitOptions o = test::options({9}, 2);
    o.init = init;
    o.max_iter = 0;
    const FitResult result = fit(PointsView(x.data(), 400, 2), {}, o);
    EXPECT_FALSE(std::ranges::equal(result.models[0].prototypes.bytes(), result.models[1].prototypes.bytes())) << init;
  }
}

TEST(Init, GoodMethodsBeatRandomRows) {
  const auto x = test::mixture(4000, 2, 13, 60);
  const auto inertia = [&](const char* init) {
    FitOptions o = test::options({60}, 5);
    o.init = init;
    o.max_iter = 0;
    double sum = 0;
    for (const ModelResult& model : fit(PointsView(x.data(), 4000, 2), {}, o).models) sum += model.inertia;
    return sum;
  };
  const double random = inertia("random");
  EXPECT_LT(inertia("k-means++"), random);
  EXPECT_LT(inertia("k-means||"), random);
}

TEST(Init, KMeansParallelSaysThatItsCandidatesRepeat) {
  // With so few rows the first round takes all that are not the first centre: five candidates, two distinct ones.
  const std::vector<float> x = {1, 1, 1, 1, 2, 2, 2, 2};
  FitOptions o = test::options({4});
  o.init = "k-means||";
  o.max_iter = 0;
  const FitResult result = fit(PointsView(x.data(), 8, 1), {}, o);
  const auto says = [](const std::string& warning) {
    return warning.find("only 2 distinct points") != std::string::npos;
  };
  EXPECT_TRUE(std::ranges::any_of(result.warnings, says));
}

// The answer never depends on the ranks, so that there is nothing but advice.
TEST(Init, ManyRanksAreAdvised) {
  EXPECT_EQ(advice_for_ranks(5000, 10), std::nullopt);
  EXPECT_EQ(advice_for_ranks(1000000, 1), std::nullopt);
  const std::string advice = advice_for_ranks(5000, 11).value_or("");
  EXPECT_NE(advice.find("makes 11 ranks wait for each other 20000 times; init = k-means||"), std::string::npos)
      << advice;
}

}  // namespace
}  // namespace manymeans
