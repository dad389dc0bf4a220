#include <manymeans/error.h>

#include "core/distance.h"
#include "engine/small_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

TEST(Predict, WritesToTheCallersRoom) {
  const auto x = test::mixture(1200, 5, 1);
  const PointsView points(x.data(), 1200, 5);
  const Matrix prototypes = fit(points, {}, test::options({300})).models[0].prototypes;
  const Prediction expected = predict(points, prototypes.view());
  const Matrix distances = transform(points, prototypes.view());
  for (const char* backend : {"cpu", "reference"}) {
    PredictOptions o;
    o.backend = backend;
    std::vector<int32_t> labels(1200, -1);
    o.room = {labels.data()};
    EXPECT_TRUE(predict(points, prototypes.view(), o).labels.empty());
    for (int64_t i = 0; i < 1200; ++i) {
      ASSERT_EQ(labels[static_cast<size_t>(i)], static_cast<int32_t>(expected.labels[i]));
    }
    std::vector<float> found(1200 * 300, -1);
    o.room = {found.data()};
    EXPECT_TRUE(transform(points, prototypes.view(), o).empty());
    EXPECT_TRUE(std::ranges::equal(found, distances.values<float>()));
  }
}

TEST(Predict, RefusesARoomOfAnUnknownKind) {
  const std::vector<float> x = {1, 2, 3};
  std::vector<int32_t> labels(3);
  PredictOptions o;
  o.room = {labels.data(), {"nowhere"}};
  const PointsView points(x.data(), 3, 1);
  EXPECT_THROW(predict(points, points, o), Error);
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

// Many columns and prototypes, so that the cpu backend screens; few, so that it does not.
TEST(Predictor, GivesWhatTheFunctionsGiveAgainAndAgain) {
  for (const auto& [d, k] : {std::pair<int64_t, int64_t>{3, 5}, {40, 70}}) {
    const int64_t n = 9000;
    const auto x = test::mixture(n, d, 6), c = test::mixture(k, d, 7);
    const std::vector<double> wide(x.begin(), x.end());
    const PointsView prototypes(c.data(), k, d);
    const Predictor predictor(prototypes);
    EXPECT_EQ(predictor.clusters(), k);
    EXPECT_EQ(predictor.columns(), d);
    for (const PointsView& points : {PointsView(x.data(), n, d), PointsView(wide.data(), n, d)}) {
      PredictOptions o{.backend = "reference", .distances = true};
      const Prediction expected = predict(points, prototypes, o);
      const Matrix distances = transform(points, prototypes, o);
      for (const char* backend : {"cpu", "auto", "cpu", "reference"}) {
        for (const char* algorithm : {"auto", "brute", "matrix", "bounds", "auto"}) {
          o.backend = backend;
          o.algorithm = o.backend == "reference" ? "auto" : algorithm;
          const Prediction found = predictor.predict(points, o);
          EXPECT_TRUE(std::ranges::equal(found.labels.bytes(), expected.labels.bytes())) << backend << algorithm;
          EXPECT_EQ(found.distances, expected.distances) << backend << algorithm;
          EXPECT_TRUE(std::ranges::equal(predictor.transform(points, o).bytes(), distances.bytes())) << backend;
        }
      }
      o.inertia = true;
      EXPECT_EQ(predictor.predict(points, o).inertia, predict(points, prototypes, o).inertia);
    }
  }
}

TEST(Predictor, ServesSeveralThreadsAtOnce) {
  const int64_t n = 6000, d = 20, k = 40;
  const auto x = test::mixture(n, d, 8), c = test::mixture(k, d, 9);
  const PointsView points(x.data(), n, d), prototypes(c.data(), k, d);
  const Prediction expected = predict(points, prototypes, {.backend = "reference"});
  const Matrix distances = transform(points, prototypes, {.backend = "reference"});
  const Predictor predictor(prototypes);
  std::vector<std::thread> users;
  std::atomic<int> right{0};
  for (int user = 0; user < 6; ++user) {
    users.emplace_back([&, copy = predictor] {
      for (int round = 0; round < 5; ++round) {
        const PredictOptions o{.algorithm = round % 2 == 0 ? "auto" : "matrix", .threads = 1 + round % 3};
        const Prediction found = copy.predict(points, o);
        right += std::ranges::equal(found.labels.bytes(), expected.labels.bytes()) &&
                 std::ranges::equal(copy.transform(points, o).bytes(), distances.bytes());
      }
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(right, 30);
}

TEST(Predictor, KeepsItsPrototypesAndKnowsThem) {
  std::vector<float> c = {0, 4, 5, 9};
  const Predictor predictor(PointsView(c.data(), 4, 1));
  EXPECT_TRUE(predictor.holds(PointsView(c.data(), 4, 1)));
  EXPECT_FALSE(predictor.holds(PointsView(c.data(), 2, 2)));
  EXPECT_FALSE(predictor.holds(PointsView(c.data(), 3, 1)));
  c[1] = 100;
  EXPECT_FALSE(predictor.holds(PointsView(c.data(), 4, 1)));
  const float row = 4.2F;
  EXPECT_EQ(predictor.predict(PointsView(&row, 1, 1)).labels[0], 1U);
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Predictor, NamesTheFirstValueThatIsNone) {
  const int64_t n = 5000, d = 16;
  auto x = test::mixture(n, d, 1);
  const auto c = test::mixture(30, d, 2);
  const Predictor predictor(PointsView(c.data(), 30, d));
  x[static_cast<size_t>(4000 * d + 3)] = std::numeric_limits<float>::infinity();
  x[static_cast<size_t>(1234 * d + 5)] = std::numeric_limits<float>::quiet_NaN();
  const PointsView points(x.data(), n, d);
  for (const char* algorithm : {"auto", "brute", "matrix"}) {
    for (const auto& call : {std::function<void()>([&] { predictor.predict(points, {.algorithm = algorithm}); }),
                             std::function<void()>([&] { predictor.transform(points, {.algorithm = algorithm}); })}) {
      EXPECT_NE(refusal(call).find("row 1235, column 6 is NaN"), std::string::npos) << refusal(call);
    }
  }
  std::vector<double> large(static_cast<size_t>(n * d), 1.0);
  large[77] = 0x1.1p500;
  EXPECT_NE(refusal([&] { predictor.predict(PointsView(large.data(), n, d)); }).find("largest magnitude"),
            std::string::npos);
}

TEST(Predictor, StopsWhenTheCallerGivesUp) {
  const auto x = test::mixture(3000, 4, 1), c = test::mixture(5, 4, 2);
  const Predictor predictor(PointsView(c.data(), 5, 4));
  const std::atomic<bool> abort{true};
  for (const char* algorithm : {"brute", "matrix"}) {
    const PredictOptions o{.algorithm = algorithm, .abort = &abort};
    EXPECT_THROW(predictor.predict(PointsView(x.data(), 3000, 4), o), Error);
    EXPECT_THROW(predictor.transform(PointsView(x.data(), 3000, 4), o), Error);
  }
}

}  // namespace
}  // namespace manymeans
