#include <manymeans/error.h>

#include "core/distance.h"
#include "engine/small_data.h"

#include <gtest/gtest.h>

#include <cmath>

namespace manymeans {
namespace {

TEST(Predict, GivesTheLabelsOfTheFitAndTheDistances) {
  const auto x = test::mixture(1200, 5, 1);
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

TEST(Predict, GivesTheInertiaOfTheFit) {
  const auto x = test::mixture(1500, 4, 3);
  const PointsView points(x.data(), 1500, 4);
  std::vector<double> weights(1500);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = 0.1 * static_cast<double>(i % 11);
  for (const std::span<const double> given : {std::span<const double>(), std::span<const double>(weights)}) {
    const ModelResult model = fit(points, given, test::options({6})).models[0];
    PredictOptions o;
    o.inertia = true;
    o.weights = given;
    for (const char* backend : {"cpu", "reference"}) {
      o.backend = backend;
      EXPECT_EQ(predict(points, model.prototypes.view(), o).inertia, model.inertia);
    }
  }
}

template <class T>
void expect_exact_distances(const std::vector<T>& x, const std::vector<T>& c, int64_t d) {
  const auto n = static_cast<int64_t>(x.size()) / d, k = static_cast<int64_t>(c.size()) / d;
  PredictOptions o;
  for (const char* backend : {"cpu", "reference"}) {
    o.backend = backend;
    const Matrix found = transform(PointsView(x.data(), n, d), PointsView(c.data(), k, d), o);
    ASSERT_EQ(found.rows(), n);
    ASSERT_EQ(found.columns(), k);
    ASSERT_EQ(found.type(), sizeof(T) == 8 ? DataType::kFloat64 : DataType::kFloat32);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < k; ++j) {
        const double exact = std::sqrt(canonical_distance(x.data() + i * d, c.data() + j * d, d));
        ASSERT_EQ(found.at(i, j), static_cast<double>(static_cast<T>(exact))) << backend << i << ' ' << j;
      }
    }
  }
}

TEST(Transform, GivesAllDistances) {
  for (const int64_t d : {1, 3, 8, 17}) {
    const auto x = test::mixture(300, d, 4), c = test::mixture(9, d, 5);
    expect_exact_distances(x, c, d);
    expect_exact_distances(std::vector<double>(x.begin(), x.end()), std::vector<double>(c.begin(), c.end()), d);
  }
}

TEST(Transform, RefusesOtherColumns) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  EXPECT_THROW(transform(PointsView(x.data(), 3, 2), PointsView(x.data(), 2, 3)), Error);
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
