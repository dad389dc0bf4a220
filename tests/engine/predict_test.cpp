#include <manymeans/error.h>

#include "core/distance.h"
#include "engine/small_data.h"

#include <gtest/gtest.h>

#include <cmath>

namespace manymeans {
namespace {

TEST(Predict, GivesTheLabelsOfTheFitAndTheDistances) {
  const auto x = test::groups(1200, 5, 1);
  const PointsView points(x.data(), 1200, 5);
  const FitResult result = fit(points, {}, test::options({7}));
  const ModelResult& model = result.models[0];
  PredictOptions o;
  o.distances = true;
  for (const char* backend : {"cpu", "reference"}) {
    o.backend = backend;
    const Prediction p = predict(points, model.prototypes.view(), o);
    EXPECT_TRUE(std::ranges::equal(p.labels.bytes(), model.labels.bytes()));
    for (int64_t i = 0; i < 1200; ++i) {
      const float* c = model.prototypes.values<float>().data() + p.labels[i] * 5;
      EXPECT_EQ(p.distances[static_cast<size_t>(i)], std::sqrt(canonical_distance(x.data() + i * 5, c, 5)));
    }
  }
}

TEST(Predict, WorksForOneRowAndFewerRowsThanPrototypes) {
  const std::vector<float> x = {4.2F};
  const std::vector<float> c = {0, 4, 5, 9};
  EXPECT_EQ(predict(PointsView(x.data(), 1, 1), PointsView(c.data(), 4, 1)).labels[0], 1U);
}

TEST(Predict, RefusesOtherColumnsAndNothing) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  EXPECT_THROW(predict(PointsView(x.data(), 3, 2), PointsView(x.data(), 2, 3)), Error);
  EXPECT_THROW(predict(PointsView(x.data(), 3, 2), PointsView(x.data(), 0, 2)), Error);
  EXPECT_THROW(predict(PointsView(x.data(), 0, 2), PointsView(x.data(), 2, 2)), Error);
}

}  // namespace
}  // namespace manymeans
