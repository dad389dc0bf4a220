// The contract's "Numbers".
#include <manymeans/fit.h>

#include "engine/small_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace manymeans {
namespace {

using test::options;

bool in_order(const ModelResult& model) {
  return std::ranges::is_sorted(model.weights, std::greater<>());
}

std::vector<uint32_t> labels_of(const Labels& labels) {
  std::vector<uint32_t> all(static_cast<size_t>(labels.size()));
  labels.read(0, labels.size(), all.data());
  return all;
}

// Points of a coarse grid, of which many have the same distance to several prototypes.
std::vector<float> grid(int64_t n, int64_t d, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> x(static_cast<size_t>(n * d));
  for (float& value : x) value = static_cast<float>(random() % 5);
  return x;
}

TEST(Numbers, AreThoseOfTheWeightsAndOfEqualDistances) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const int64_t n = 40 + seed * 5, d = 1 + seed % 4;
    const std::vector<float> x = seed % 3 == 0 ? test::mixture(n, d, seed) : grid(n, d, seed);
    const PointsView points(x.data(), n, d);
    std::vector<double> weights;
    if (seed % 2 == 1) {
      for (int64_t i = 0; i < n; ++i) weights.push_back(static_cast<double>(i % 4));
    }
    FitOptions o = options({2, 3 + seed % 12}, 3);
    o.threads = 1 + static_cast<int>(seed % 2);
    o.seed = seed;
    const char* const inits[] = {"random", "k-means++", "first"};
    o.init = inits[seed % 3];
    const char* const stops[] = {"strict", "labels:0.05", "shift:0.5"};
    o.stop = stops[seed / 3 % 3];
    o.max_iter = seed % 5 == 0 ? seed % 2 : 20;
    std::string digest;
    for (const char* algorithm : {"auto", "bounds", "kdtree", "matrix", "brute", "reference"}) {
      o.backend = algorithm == std::string("reference") ? "reference" : "cpu";
      o.algorithm = o.backend == "cpu" ? algorithm : "auto";
      for (const Strategy strategy : {Strategy::kConcatenated, Strategy::kTask}) {
        o.strategy = strategy;
        FitHooks hooks;
        hooks.labels = LabelsOf::kAll;
        const FitResult result = fit(points, weights, o, hooks);
        if (digest.empty()) digest = result.digest();
        EXPECT_EQ(result.digest(), digest) << seed << algorithm;
        if (o.algorithm != "auto") continue;  // the same bits, as the digest says
        PredictOptions alone;
        alone.threads = 1;
        for (const ModelResult& model : result.models) {
          EXPECT_TRUE(in_order(model)) << seed;
          EXPECT_EQ(labels_of(model.labels), labels_of(predict(points, model.prototypes.view(), alone).labels)) << seed;
        }
      }
    }
  }
}

TEST(Numbers, StayThoseOfGivenPrototypes) {
  const std::vector<float> x = {0, 1, 2, 3, 20, 21, 40};
  const std::vector<float> start = {40, 20, 1};
  FitHooks hooks;
  hooks.initial = PointsView(start.data(), 3, 1);
  const ModelResult given = fit(PointsView(x.data(), 7, 1), {}, options({3}), hooks).models[0];
  EXPECT_EQ(given.counts, (std::vector<int64_t>{1, 2, 4}));
}

TEST(Numbers, StayWhereSizesHaveBounds) {
  const std::vector<float> x = {40, 20, 21, 0, 1, 2, 3};
  FitOptions o = options({3});
  o.init = "first";
  o.min_size = 1;
  const ModelResult bounded = fit(PointsView(x.data(), 7, 1), {}, o).models[0];
  o.min_size = 0;
  const ModelResult free = fit(PointsView(x.data(), 7, 1), {}, o).models[0];
  EXPECT_TRUE(in_order(free));
  EXPECT_EQ(bounded.counts[0], 1) << "the cluster of row 0";
}

}  // namespace
}  // namespace manymeans
