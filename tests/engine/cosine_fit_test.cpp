// The metric cosine: rows and prototypes of length one.
#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/io.h>
#include <manymeans/model_file.h>

#include "comm/thread_ranks.h"
#include "core/distance.h"
#include "core/unit_length.h"
#include "engine/small_data.h"
#include "io/files.h"
#include "prototype/direction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

constexpr int64_t kRows = 400;
constexpr int64_t kColumns = 5;

FitOptions cosine(int64_t k = 6) {
  FitOptions made = options({k}, 2);
  made.metric = Metric::kCosine;
  return made;
}

template <class Work>
std::string message_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(UnitLength, IsOneForAnyMagnitude) {
  for (const double scale : {1.0, 0x1p-1074, 0x1p-1030, 0x1p1023, 3e-310}) {
    const double row[3] = {scale, -scale, scale / 2};
    double unit[3];
    ASSERT_TRUE(scale_to_unit_length(row, 3, unit));
    EXPECT_NEAR(unit[0] * unit[0] + unit[1] * unit[1] + unit[2] * unit[2], 1, 1e-15) << scale;
    EXPECT_EQ(unit[0], -unit[1]);
  }
  const double alone[2] = {0, -0.3};
  double unit[2];
  ASSERT_TRUE(scale_to_unit_length(alone, 2, unit));
  EXPECT_EQ(unit[1], -1);
}

TEST(UnitLength, ZerosAndWhatIsNotFiniteHaveNone) {
  double unit[2];
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const auto& row : std::vector<std::vector<double>>{{0, -0.0}, {nan, 1}, {1, nan}, {infinity, 1}}) {
    EXPECT_FALSE(scale_to_unit_length(row.data(), 2, unit));
  }
}

TEST(Cosine, IsAFitOfScaledRows) {
  const std::vector<float> x = mixture(kRows, kColumns, 3);
  const PointsView points(x.data(), kRows, kColumns);
  const FitResult found = fit(points, {}, cosine());
  const Matrix unit = rows_of_length_one(points);
  for (const ModelResult& model : found.models) {
    for (int64_t k = 0; k < model.k; ++k) {
      double squares = 0;
      for (int64_t j = 0; j < kColumns; ++j) squares += model.prototypes.at(k, j) * model.prototypes.at(k, j);
      EXPECT_NEAR(squares, 1, 1e-6);
    }
    // Labels are the nearest of the scaled rows, which predict() scales by itself.
    const Labels nearest = predict(unit.view(), model.prototypes.view()).labels;
    for (int64_t i = 0; i < kRows; ++i) ASSERT_EQ(nearest[i], model.labels[i]);
    PredictOptions by_angle;
    by_angle.metric = Metric::kCosine;
    by_angle.inertia = true;
    const Prediction again = predict(points, model.prototypes.view(), by_angle);
    EXPECT_EQ(again.inertia, model.inertia);
    for (int64_t i = 0; i < kRows; ++i) EXPECT_EQ(again.labels[i], model.labels[i]);
    EXPECT_EQ(transform(points, model.prototypes.view(), by_angle).values<float>()[7],
              transform(unit.view(), model.prototypes.view()).values<float>()[7]);
  }
}

TEST(Cosine, LengthsDoNotMatter) {
  const std::vector<float> x = mixture(kRows, kColumns, 4);
  std::vector<float> other = x;
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      other[static_cast<size_t>(i * kColumns + j)] *= std::ldexp(1.0F, static_cast<int>(i % 17) - 8);
    }
  }
  const FitOptions wanted = cosine();
  EXPECT_EQ(fit({x.data(), kRows, kColumns}, {}, wanted).digest(),
            fit({other.data(), kRows, kColumns}, {}, wanted).digest());
}

TEST(Cosine, RowsOfZerosAreNamed) {
  std::vector<float> x = mixture(kRows, kColumns, 4);
  std::fill_n(x.begin() + 37 * kColumns, kColumns, 0.0F);
  std::fill_n(x.begin() + 300 * kColumns, kColumns, -0.0F);
  const PointsView points(x.data(), kRows, kColumns);
  const std::string wanted = "[points] row 38 is all zeros, which has no direction";
  EXPECT_EQ(message_of([&] { fit(points, {}, cosine()); }).substr(0, wanted.size()), wanted);
  PredictOptions by_angle;
  by_angle.metric = Metric::kCosine;
  EXPECT_EQ(message_of([&] { predict(points, {x.data(), 3, kColumns}, by_angle); }).substr(0, wanted.size()), wanted);
  EXPECT_EQ(message_of([&] { rows_of_length_one(points); }).substr(0, wanted.size()), wanted);
  x[static_cast<size_t>(20 * kColumns + 2)] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(message_of([&] { fit(points, {}, cosine()); }).find("row 21, column 3 is NaN"), std::string::npos);
  const auto errors = run_ranks(3, [&](Comm& comm) {
    FitHooks hooks;
    hooks.comm = std::shared_ptr<Comm>(&comm, [](Comm*) {});
    const int64_t first = comm.rank() * 130, rows = comm.rank() < 2 ? 130 : kRows - 260;
    fit({x.data() + first * kColumns, rows, kColumns}, {}, cosine(), hooks);
  });
  for (const std::string& error : errors) EXPECT_NE(error.find("row 21, column 3 is NaN"), std::string::npos) << error;
}

TEST(Cosine, GivenPrototypesAreScaled) {
  const std::vector<float> x = mixture(kRows, kColumns, 5);
  const PointsView points(x.data(), kRows, kColumns);
  std::vector<float> given(x.begin(), x.begin() + 3 * kColumns);
  FitOptions wanted = cosine(3);
  wanted.models = 1;
  FitHooks hooks;
  hooks.initial = PointsView(given.data(), 3, kColumns);
  const double inertia = fit(points, {}, wanted, hooks).models[0].inertia;
  wanted.init = "first";
  EXPECT_EQ(fit(points, {}, wanted).models[0].inertia, inertia);
  std::fill_n(given.begin(), kColumns, 0.0F);
  EXPECT_NE(message_of([&] { fit(points, {}, wanted, hooks); }).find("[initial prototypes] row 1 is all zeros"),
            std::string::npos);
}

// Two opposite rows have a mean without direction.
TEST(Cosine, AMeanOfZeroKeepsThePrototype) {
  const float x[8] = {1, 0, -1, 0, 0, 1, 0, 1};
  FitOptions wanted;
  wanted.k = {1};
  wanted.metric = Metric::kCosine;
  wanted.init = "first";
  const FitResult found = fit({x, 2, 2}, {}, wanted);
  EXPECT_EQ(found.models[0].prototypes.at(0, 0), 1);
  EXPECT_EQ(found.models[0].inertia, 4);
}

TEST(Cosine, RanksAndInitialiseAgree) {
  const std::vector<float> x = mixture(kRows, kColumns, 6);
  const PointsView points(x.data(), kRows, kColumns);
  const FitOptions wanted = cosine();
  const std::string digest = fit(points, {}, wanted).digest();
  const auto errors = run_ranks(3, [&](Comm& comm) {
    FitHooks hooks;
    hooks.comm = std::shared_ptr<Comm>(&comm, [](Comm*) {});
    const int64_t first = comm.rank() == 0 ? 0 : 150, rows = comm.rank() == 0 ? 150 : comm.rank() == 1 ? 250 : 0;
    EXPECT_EQ(fit({x.data() + first * kColumns, rows, kColumns}, {}, wanted, hooks).digest(), digest);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  FitOptions none = wanted;
  none.max_iter = 0;
  const Matrix begun = initialise(points, {}, wanted).prototypes;
  FitHooks hooks;
  hooks.initial = begun.view();
  none.models = 1;
  EXPECT_EQ(fit(points, {}, none, hooks).models[0].inertia, fit(points, {}, none).models[0].inertia);
}

TEST(Cosine, AModelFileKnowsItsMetric) {
  const std::vector<float> x = mixture(kRows, kColumns, 6);
  const FitResult found = fit({x.data(), kRows, kColumns}, {}, cosine());
  const Folder folder;
  save_model(folder / "m.npz", found, {}, {});
  EXPECT_EQ(load_model(folder / "m.npz").metric, Metric::kCosine);
  FitOptions plain = cosine();
  plain.metric = Metric::kEuclidean;
  save_model(folder / "e.npz", fit({x.data(), kRows, kColumns}, {}, plain), {}, {});
  EXPECT_EQ(load_model(folder / "e.npz").metric, Metric::kEuclidean);
}

TEST(Cosine, ACheckpointGoesOn) {
  const std::vector<float> x = mixture(kRows, kColumns, 9, 3);
  const PointsView points(x.data(), kRows, kColumns);
  FitOptions wanted = cosine(9);
  wanted.tol = 0;
  const std::string digest = fit(points, {}, wanted).digest();
  const Folder folder;
  FitHooks hooks;
  hooks.checkpoint = {.path = folder / "c.ckpt", .every = 1};
  int passes = 0;
  hooks.progress = [&](const Progress& progress) { return progress.phase != "iterate" || ++passes < 4; };
  EXPECT_TRUE(fit(points, {}, wanted, hooks).interrupted);
  hooks.progress = {};
  hooks.checkpoint.resume = true;
  EXPECT_EQ(fit(points, {}, wanted, hooks).digest(), digest);
  wanted.metric = Metric::kEuclidean;
  EXPECT_NE(message_of([&] { fit(points, {}, wanted, hooks); }).find("metric was cosine and is euclidean"),
            std::string::npos);
}

}  // namespace
}  // namespace manymeans::test
