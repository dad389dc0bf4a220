// Rows as they are put together, and what is refused or warned of.
#include <manymeans/regress.h>

#include "core/threads.h"
#include "io/files.h"
#include "prototype/linear_model.h"
#include "prototype/row_groups.h"
#include "regress/regress_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

RegressOptions options_of(int64_t k) {
  RegressOptions options;
  options.k = {k};
  options.threads = 1;
  return options;
}

void refuse(ErrorCode code, std::initializer_list<std::string> parts, const PointsView& points,
            const RegressOptions& options, std::span<const double> weights = {}) {
  expect_error(code, parts, [&] { regress(RegressionRows::with_target(points), weights, options); });
}

TEST(RegressionRows, TheLastColumnIsNotCopied) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const PointsView points(values.data(), 2, 3);
  EXPECT_EQ(RegressionRows::with_target(points).view().data, values.data());
  EXPECT_EQ(RegressionRows::with_target(points, 2).view().data, values.data());
  EXPECT_EQ(RegressionRows::with_target(points).features(), 2);
}

TEST(RegressionRows, AnotherColumnMovesToTheEnd) {
  const std::vector<int8_t> values = {1, 2, 3, 4, 5, 6};
  const RegressionRows rows = RegressionRows::with_target({values.data(), 2, 3, DataType::kInt8}, 1);
  EXPECT_EQ(rows.view().type, DataType::kInt8);
  EXPECT_EQ(values_of(rows.view()), (std::vector<double>{1, 3, 2, 4, 6, 5}));
}

TEST(RegressionRows, FeaturesAndTargetAreJoined) {
  const std::vector<float> x = {1, 2, 4, 5}, y = {3, 6};
  const std::vector<double> wide = {0.1, 0.2};
  const RegressionRows same = RegressionRows::joined({x.data(), 2, 2}, {y.data(), 2, 1});
  EXPECT_EQ(same.view().type, DataType::kFloat32);
  EXPECT_EQ(values_of(same.view()), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  const RegressionRows mixed = RegressionRows::joined({x.data(), 2, 2}, {wide.data(), 2, 1});
  EXPECT_EQ(mixed.view().type, DataType::kFloat64);
  EXPECT_EQ(values_of(mixed.view()), (std::vector<double>{1, 2, 0.1, 4, 5, 0.2}));
  const RegressionRows copy = same;  // shares the values
  EXPECT_EQ(copy.view().data, same.view().data);
}

TEST(RegressionRows, WhatCannotBeIsRefused) {
  const std::vector<float> x = {1, 2, 4, 5}, y = {3, 6};
  expect_error(ErrorCode::kUsage, {"target", "no column 2", "columns 0 to 1"},
               [&] { RegressionRows::with_target({x.data(), 2, 2}, 2); });
  expect_error(ErrorCode::kBadData, {"at least one feature"}, [&] { RegressionRows::with_target({x.data(), 4, 1}); });
  expect_error(ErrorCode::kBadData, {"target", "2 rows, the features have 1"},
               [&] { RegressionRows::joined({x.data(), 1, 4}, {y.data(), 2, 1}); });
  expect_error(ErrorCode::kBadData, {"target", "2 columns"},
               [&] { RegressionRows::joined({x.data(), 2, 2}, {x.data(), 2, 2}); });
  expect_error(ErrorCode::kBadData, {"target", "2 rows, the features have 0"},
               [&] { RegressionRows::joined({}, {y.data(), 2, 1}); });
  expect_error(ErrorCode::kBadData, {"no values"},
               [&] { RegressionRows::with_target({static_cast<const float*>(nullptr), 2, 2}, 0); });
  for (const RegressionRows& none :
       {RegressionRows::with_target({x.data(), 0, 2}, 0), RegressionRows::joined({x.data(), 0, 2}, {y.data(), 0, 1})}) {
    expect_error(ErrorCode::kBadData, {"no rows"}, [&] { regress(none, {}, options_of(1)); });
  }
}

TEST(RegressInput, OptionsOutOfRangeAreRefused) {
  const SmallRows rows(100);
  const PointsView points = rows.view(DataType::kFloat32);
  RegressOptions options = options_of(2);
  for (const char* init : {"k-means++", "k-means||", "random", "first", "nonsense"}) {
    options.init = init;
    refuse(ErrorCode::kUsage, {"init", init, "random-subsets", "kmeans"}, points, options);
  }
  options = options_of(2);
  options.ridge = -1;
  refuse(ErrorCode::kUsage, {"ridge", "-1"}, points, options);
  options.ridge = std::numeric_limits<double>::quiet_NaN();
  refuse(ErrorCode::kUsage, {"ridge", "nan"}, points, options);
  options = options_of(2);
  options.swaps = -1;
  refuse(ErrorCode::kUsage, {"swaps", "-1"}, points, options);
  refuse(ErrorCode::kUsage, {"k", "34 linear models have 3 coefficients", "at most 33"}, points, options_of(34));
  options = options_of(2);
  options.algorithm = "kdtree";
  expect_error(ErrorCode::kUsage, {}, [&] { regress(RegressionRows::with_target(points), {}, options); });
}

TEST(RegressInput, TooManyFeaturesAreRefused) {
  const std::vector<float> values(2 * 300);
  refuse(ErrorCode::kUsage, {"299 features", "at most 256"}, {values.data(), 2, 300}, options_of(1));
}

TEST(RegressInput, ValuesThatAreNoneAreRefused) {
  SmallRows rows(100);
  rows.f32[3 * 41 + 2] = std::numeric_limits<float>::quiet_NaN();
  refuse(ErrorCode::kBadData, {"row 42, column 3 is NaN"}, rows.view(DataType::kFloat32), options_of(2));
  rows.f64[5] = 1e200;
  refuse(ErrorCode::kBadData, {"1e+200", "2^500"}, rows.view(DataType::kFloat64), options_of(2));
  const SmallRows good(100);
  const std::vector<double> few(99, 1.0);
  refuse(ErrorCode::kBadData, {"99 weights for 100 rows"}, good.view(DataType::kFloat32), options_of(2), few);
}

TEST(RegressInput, GivenModelsHaveToBeModels) {
  const SmallRows rows(100);
  const std::vector<float> given(2 * 2);
  FitHooks hooks;
  hooks.initial = {given.data(), 2, 2};
  expect_error(ErrorCode::kBadData, {"initial prototypes", "2 columns"},
               [&] { regress(RegressionRows::with_target(rows.view(DataType::kFloat32)), {}, options_of(2), hooks); });
}

TEST(RegressInput, AConstantTargetIsAWarning) {
  std::vector<float> values;
  for (int i = 0; i < 60; ++i) values.insert(values.end(), {static_cast<float>(i % 11), static_cast<float>(i % 4), 7});
  const RegressResult found = regress(RegressionRows::with_target({values.data(), 60, 3}), {}, options_of(2));
  EXPECT_NE(found.fit.warnings.back().find("the target is constant"), std::string::npos);
  EXPECT_EQ(found.summaries[0].r2, 1);
  EXPECT_EQ(found.fit.models[0].inertia, 0);
}

bool warned(const RegressResult& found, const std::string& text) {
  return std::ranges::any_of(found.fit.warnings,
                             [&](const std::string& warning) { return warning.find(text) != std::string::npos; });
}

// 60 rows of a feature and a target that grows with it, in units of x and y.
template <class T>
std::vector<T> steep_rows(double x, double y) {
  std::vector<T> values;
  for (int i = 0; i < 60; ++i) {
    const double z = i % 11;
    values.insert(values.end(), {static_cast<T>(x * z), static_cast<T>(y * (2 * z + i % 3))});
  }
  return values;
}

TEST(RegressInput, CoefficientsTooLargeForTheTypeAreNoneAndAWarning) {
  const std::vector<float> narrow = steep_rows<float>(1e-30, 1e15);
  const std::vector<double> wide = steep_rows<double>(1e-100, 1e100);
  for (const PointsView& points : {PointsView(narrow.data(), 60, 2), PointsView(wide.data(), 60, 2)}) {
    const RegressResult found = regress(RegressionRows::with_target(points), {}, options_of(1));
    EXPECT_EQ(found.fit.models[0].prototypes.at(0, 0), 0);
    EXPECT_TRUE(std::isfinite(found.fit.models[0].prototypes.at(0, 1)));
    EXPECT_TRUE(warned(found, "cluster 0 has no coefficients for the columns 0"));
    EXPECT_EQ(found.summaries[0].left_out[0], (std::vector<int64_t>{0}));
  }
  const std::vector<float> possible = steep_rows<float>(1e-20, 1e15);
  const RegressResult found = regress(RegressionRows::with_target({possible.data(), 60, 2}), {}, options_of(1));
  EXPECT_NEAR(found.fit.models[0].prototypes.at(0, 0), 2e35, 0.1e35);
  EXPECT_TRUE(found.fit.warnings.empty());
}

TEST(RegressInput, ValuesWhoseSquaresUnderflowAreNotTakenForEqual) {
  const std::vector<double> target = steep_rows<double>(1, 1e-165);
  const RegressResult low = regress(RegressionRows::with_target({target.data(), 60, 2}), {}, options_of(1));
  EXPECT_TRUE(warned(low, "no magnitude of the target is above 2^-400"));
  EXPECT_FALSE(warned(low, "constant"));
  EXPECT_TRUE(std::isnan(low.summaries[0].r2));
  EXPECT_TRUE(std::isnan(low.summaries[0].bic));
  const std::vector<double> all = steep_rows<double>(1e-300, 1e-300);
  const RegressResult lowest = regress(RegressionRows::with_target({all.data(), 60, 2}), {}, options_of(1));
  EXPECT_TRUE(warned(lowest, "no magnitude of feature 0, the target is above 2^-400"));
  EXPECT_FALSE(warned(lowest, "equal"));
  const std::vector<double> enough = steep_rows<double>(1e-100, 1e-100);
  const RegressResult fine = regress(RegressionRows::with_target({enough.data(), 60, 2}), {}, options_of(1));
  EXPECT_TRUE(fine.fit.warnings.empty());
  EXPECT_NEAR(fine.fit.models[0].prototypes.at(0, 0), 2, 0.1);
}

// Every magnitude of float32 may be in a model.
TEST(RegressInput, LargeCoefficientsOfFloat32AreKept) {
  std::vector<float> values;
  for (int i = 0; i < 60; ++i) values.insert(values.end(), {static_cast<float>(i % 11), 1e38F + 1e37F * (i % 11)});
  const RegressResult found = regress(RegressionRows::with_target({values.data(), 60, 2}), {}, options_of(1));
  EXPECT_FLOAT_EQ(found.fit.models[0].prototypes.at(0, 0), 1e37F);
  EXPECT_FLOAT_EQ(found.fit.models[0].prototypes.at(0, 1), 1e38F);
  EXPECT_TRUE(found.fit.warnings.empty());
}

TEST(RegressInput, RowsWithoutWeightDoNotHideAConstantTarget) {
  std::vector<double> values;
  for (int i = 0; i < 60; ++i) values.insert(values.end(), {1.0 * (i % 11), i == 7 ? 100.0 : 3.0});
  std::vector<double> weights(60, 2.0);
  weights[7] = 0;
  const RegressResult found = regress(RegressionRows::with_target({values.data(), 60, 2}), weights, options_of(1));
  EXPECT_TRUE(warned(found, "the target is constant"));
}

TEST(RegressInput, WeightsThatMakeSumsUnderflowGiveNoR2) {
  std::vector<double> values;
  for (int i = 0; i < 60; ++i) values.insert(values.end(), {1.0 * (i % 11), 1e-10 * (i * i % 13)});
  const std::vector<double> weights(60, 1e-310);
  const RegressResult found = regress(RegressionRows::with_target({values.data(), 60, 2}), weights, options_of(1));
  EXPECT_TRUE(std::isnan(found.summaries[0].r2));
}

// The largest weight is the integer 2^B: weighed again, the least one would not count.
TEST(RegressInput, EveryWeightCountsInAClusteringToo) {
  const SmallRows rows(300);
  std::vector<double> weights(300, 1 - 0x1p-53);
  weights[7] = 0x1p-52;
  RegressOptions options = options_of(2);
  options.init = "kmeans";
  const RegressResult found = regress(RegressionRows::with_target(rows.view(DataType::kFloat64)), weights, options);
  EXPECT_EQ(found.fit.models[0].init, "kmeans");
}

// kmeans: models of the clusters of whole rows; kmeans-x: of those of the features. Without any update they are the
// answer.
TEST(RegressInput, ModelsBeginWithClustersOfRowsOrOfFeatures) {
  const SmallRows rows(300);
  std::vector<float> features;
  for (size_t i = 0; i < rows.f32.size(); ++i) {
    if (i % 3 != 2) features.push_back(rows.f32[i]);
  }
  ThreadPool pool(2);
  Input input = prepare_input(rows.view(DataType::kFloat32), rows.weights, pool);
  use_prototype(input, linear_model(), pool);
  input.linear.largest = largest_coefficient(DataType::kFloat32);
  std::vector<Matrix> begun;
  for (const char* init : {"kmeans", "kmeans-x"}) {
    RegressOptions options = options_of(4);
    options.init = init;
    options.models = 2;
    options.max_iter = options.swaps = 0;
    const RegressResult found =
        regress(RegressionRows::with_target(rows.view(DataType::kFloat32)), rows.weights, options);
    for (const ModelResult& model : found.fit.models) {
      FitOptions clustering;
      clustering.k = {4};
      clustering.model_seed = model.seed;
      const PointsView points = begun.size() < 2 ? rows.view(DataType::kFloat32) : PointsView(features.data(), 300, 2);
      const FitResult clusters = fit(points, rows.weights, clustering);
      begun.push_back(prototypes_of_labels(input, clusters.models[0].labels, 4, pool));
      options.models = 1;
      FitHooks hooks;
      hooks.initial = begun.back().view();
      const RegressResult given =
          regress(RegressionRows::with_target(rows.view(DataType::kFloat32)), rows.weights, options, hooks);
      EXPECT_EQ(model.inertia, given.fit.models[0].inertia) << init << ": the numbers may differ";
    }
  }
  EXPECT_FALSE(std::ranges::equal(begun[0].bytes(), begun[2].bytes()));
}

TEST(RegressInput, EqualRowsAreAWarning) {
  std::vector<float> values;
  for (int i = 0; i < 60; ++i) values.insert(values.end(), {1, 2, 7});
  const RegressResult found = regress(RegressionRows::with_target({values.data(), 60, 3}), {}, options_of(3));
  EXPECT_NE(found.fit.warnings.back().find("all rows are equal"), std::string::npos);
  EXPECT_EQ(found.fit.models[0].prototypes.at(0, 2), 7);
}

TEST(RegressInput, AClusterOfTooFewRowsIsAWarning) {
  SmallRows rows(60);
  for (int j = 0; j < 3; ++j) rows.f32[static_cast<size_t>(j)] = 1e6F;  // alone, far from everything
  const std::vector<float> given = {0, 0, 0, 0, 0, 1e6F};
  FitHooks hooks;
  hooks.initial = {given.data(), 2, 3};
  RegressOptions options = options_of(2);
  options.swaps = 0;
  const RegressResult found = regress(RegressionRows::with_target(rows.view(DataType::kFloat32)), {}, options, hooks);
  EXPECT_TRUE(warned(found, "cluster 1 has 1 rows, fewer than its 3 coefficients"));
  EXPECT_EQ(found.summaries[0].left_out[1], (std::vector<int64_t>{0, 1}));
}

}  // namespace
}  // namespace manymeans::test
