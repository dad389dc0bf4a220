// Fits whose clusters have sizes to keep to.
#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "engine/small_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

FitOptions sizes(int64_t k, int64_t least, int64_t most) {
  FitOptions made = options({k});
  made.min_size = least;
  made.max_size = most;
  made.stop = "strict";
  return made;
}

std::string message_of(const PointsView& points, const FitOptions& wanted) {
  try {
    fit(points, {}, wanted);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(BalancedFit, SizesHoldAfterEveryIteration) {
  const std::vector<float> x = mixture(600, 3, 5);
  for (const auto& [least, most] : {std::pair{0, 70}, {60, 60}, {40, 0}, {55, 65}}) {
    double before = std::numeric_limits<double>::infinity();
    for (int64_t iterations = 0; iterations < 12; ++iterations) {
      FitOptions wanted = sizes(10, least, most);
      wanted.max_iter = iterations;
      const ModelResult model = std::move(fit({x.data(), 600, 3}, {}, wanted).models[0]);
      for (const int64_t count : model.counts) {
        EXPECT_GE(count, least);
        EXPECT_LE(count, most == 0 ? 600 : most);
      }
      EXPECT_LE(model.inertia, before * (1 + 1e-12));
      before = model.inertia;
    }
  }
}

TEST(BalancedFit, SizesThatNobodyFeelsChangeNothing) {
  const std::vector<float> x = mixture(500, 4, 6);
  const FitOptions plain = options({6}, 2);
  FitOptions loose = plain;
  loose.min_size = 1;
  FitHooks hooks;
  hooks.initial = PointsView(x.data(), 12, 4);  // so that the clusters of both keep their numbers
  const FitResult a = fit({x.data(), 500, 4}, {}, plain, hooks), b = fit({x.data(), 500, 4}, {}, loose, hooks);
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_NE(b.provenance.plan.find("1 to 500 rows in a cluster"), std::string::npos) << b.provenance.plan;
}

TEST(BalancedFit, HostileShapes) {
  const std::vector<float> x = mixture(24, 2, 7);
  const PointsView points(x.data(), 24, 2);
  EXPECT_EQ(fit(points, {}, sizes(1, 24, 24)).models[0].counts, std::vector<int64_t>{24});
  EXPECT_EQ(fit(points, {}, sizes(24, 1, 1)).models[0].inertia, 0);
  EXPECT_EQ(fit(points, {}, sizes(4, 6, 6)).models[0].counts, std::vector<int64_t>(4, 6));
  EXPECT_EQ(fit(points, {}, sizes(5, 4, 5)).models[0].counts.size(), 5U);
  const std::vector<float> equal(48, 3.5F);
  const FitResult same = fit({equal.data(), 24, 2}, {}, sizes(3, 8, 8));
  EXPECT_EQ(same.models[0].counts, std::vector<int64_t>(3, 8));
  EXPECT_EQ(same.models[0].inertia, 0);
}

TEST(BalancedFit, RowsAreCountedWhateverTheyWeigh) {
  const std::vector<float> x = mixture(90, 2, 8);
  std::vector<double> weights(90, 1);
  for (size_t i = 0; i < 90; i += 3) weights[i] = i % 2 == 0 ? 0 : 5.5;
  for (const EmptyPolicy empty : {EmptyPolicy::kFarthest, EmptyPolicy::kKeep}) {
    FitOptions wanted = sizes(9, 10, 10);
    wanted.empty = empty;
    EXPECT_EQ(fit({x.data(), 90, 2}, weights, wanted).models[0].counts, std::vector<int64_t>(9, 10));
  }
}

TEST(BalancedFit, WhatCannotBeIsAnError) {
  const std::vector<float> x = mixture(100, 2, 9);
  const PointsView points(x.data(), 100, 2);
  EXPECT_NE(message_of(points, sizes(9, 12, 0)).find("[min_size] 12 rows in each of 9 clusters"), std::string::npos);
  EXPECT_NE(message_of(points, sizes(9, 12, 0)).find("at most 11 is right"), std::string::npos);
  EXPECT_NE(message_of(points, sizes(9, 0, 11)).find("at least 12 is right"), std::string::npos);
  EXPECT_NE(message_of(points, sizes(9, 13, 12)).find("[min_size] 13 is above max_size, 12"), std::string::npos);
  EXPECT_NE(message_of(points, sizes(9, -1, 12)).find("[min_size] -1 is negative"), std::string::npos);
  FitOptions dropping = sizes(9, 1, 0);
  dropping.empty = EmptyPolicy::kDrop;
  EXPECT_NE(message_of(points, dropping).find("[empty] drop takes clusters away"), std::string::npos);
  FitOptions small = sizes(9, 1, 0);
  small.memory.bytes = 1000;
  EXPECT_NE(message_of(points, small).find("[memory]"), std::string::npos);
}

TEST(BalancedFit, TooManyCostsAreAnErrorBeforeAnythingIsRead) {
  const std::vector<float> x(1 << 20);
  const std::string message = message_of({x.data(), 1 << 20, 1}, sizes(1000, 0, 2000));
  EXPECT_NE(message.find("[max_size] 1048576 rows times 1000 clusters are too many"), std::string::npos) << message;
}

}  // namespace
}  // namespace manymeans::test
