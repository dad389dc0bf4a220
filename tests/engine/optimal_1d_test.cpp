// Optimal clusters of numbers: fixed points of fit(), row by row.
#include <manymeans/criteria.h>
#include <manymeans/fit.h>
#include <manymeans/optimal_1d.h>

#include "io/files.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace manymeans {
namespace {

using test::expect_error;

// B x n normal values, or few different ones, with weights.
struct Batch {
  int64_t rows, n;
  std::vector<float> values = {};
  std::vector<double> weights = {};

  Batch(int64_t row_count, int64_t value_count, unsigned seed) : rows(row_count), n(value_count) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < rows * n; ++i) {
      values.push_back(i / n % 2 == 0 ? normal(random) : static_cast<float>(random() % 30));
      weights.push_back(random() % 10 == 0 ? 0 : static_cast<double>(random() % 1000) + 1);
    }
  }
  PointsView view() const { return {values.data(), rows, n}; }
  PointsView row(int64_t b) const { return {values.data() + b * n, 1, n}; }
  PointsView column(int64_t b) const { return {values.data() + b * n, n, 1}; }
  std::span<const double> weights_of(int64_t b) const {
    return std::span(weights).subspan(static_cast<size_t>(b * n), static_cast<size_t>(n));
  }
};

Optimal1dOptions with_k(std::vector<int64_t> k, int threads = 2) {
  Optimal1dOptions options;
  options.k = std::move(k);
  options.threads = threads;
  return options;
}

ModelResult fit_from(const ModelResult& model, const PointsView& column, std::span<const double> weights) {
  FitOptions options;
  options.k = {model.k};
  options.tol = 0;
  options.threads = 1;
  FitHooks hooks;
  hooks.initial = model.prototypes.view();
  return fit(column, weights, options, hooks).models[0];
}

void expect_same(const ModelResult& a, const ModelResult& b) {
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_EQ(a.counts, b.counts);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.inertia, b.inertia);
}

TEST(Optimal1d, IsAFixedPointOfFit) {
  const Batch batch(12, 700, 1);
  for (const int64_t k : {1, 2, 7, 25}) {
    const Optimal1d with = optimal_1d(batch.view(), batch.weights, with_k({k}));
    const Optimal1d without = optimal_1d(batch.view(), {}, with_k({k}));
    for (int64_t b = 0; b < batch.rows; ++b) {
      const auto row = static_cast<size_t>(b);
      expect_same(with.models[row], fit_from(with.models[row], batch.column(b), batch.weights_of(b)));
      expect_same(without.models[row], fit_from(without.models[row], batch.column(b), {}));
      EXPECT_EQ(without.models[row].k, k);
    }
  }
}

TEST(Optimal1d, IsAFixedPointOfFitForEveryType) {
  std::mt19937 random(2);
  std::vector<uint16_t> bytes(600);
  for (uint16_t& pair : bytes) pair = static_cast<uint16_t>(random() & 0xbfbf);  // no exponent of all ones, in any type
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16, DataType::kUInt8, DataType::kInt8}) {
    const auto n = static_cast<int64_t>(bytes.size() * sizeof(uint16_t) / size_of(type));
    const ModelResult model = optimal_1d({bytes.data(), 1, n, type}, {}, with_k({5})).models[0];
    expect_same(model, fit_from(model, {bytes.data(), n, 1, type}, {}));
  }
  std::vector<double> wide(500);
  for (double& value : wide)
    value = std::ldexp(std::normal_distribution<double>()(random), static_cast<int>(random() % 9));
  const ModelResult model = optimal_1d({wide.data(), 1, 500}, {}, with_k({5})).models[0];
  expect_same(model, fit_from(model, {wide.data(), 500, 1}, {}));
}

// Values a few last bits apart: the mean of equal values may be another one, so that a fit has to go on.
TEST(Optimal1d, OfValuesThatRoundingMovesIsWhatAFitEndsWith) {
  std::mt19937_64 random(6);
  int moved = 0;
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> values(40), weights(40);
    for (double& value : values) value = 1 + static_cast<double>(random() % 9) * 0x1p-52;
    for (double& weight : weights) weight = static_cast<double>(random() % 1000 + 1) * 1e-3;
    const ModelResult model = optimal_1d({values.data(), 1, 40}, weights, with_k({1 + trial % 9})).models[0];
    moved += model.iterations != 1;
    const Labels nearest = predict({values.data(), 40, 1}, model.prototypes.view()).labels;
    for (int64_t row = 0; row < 40; ++row) EXPECT_EQ(model.labels[row], nearest[row]);
  }
  EXPECT_GT(moved, 0);
}

// Sums are rounded where one value is 2^360 times as large as others, and so are squares of denormal numbers.
TEST(Optimal1d, WarnsWhereRoundingMovesTheOptimum) {
  const auto warnings_of = [](std::vector<double> values, int64_t rows, int64_t k) {
    const auto n = static_cast<int64_t>(values.size()) / rows;
    const Optimal1d found = optimal_1d({values.data(), rows, n}, {}, with_k({k}));
    EXPECT_EQ(found.rounded, std::ssize(found.warnings));
    return found.warnings.empty() ? "" : found.warnings[0].substr(0, 23);
  };
  const std::string moved = "rounding moves values o";
  EXPECT_EQ(warnings_of({1, 2, 3, 1e110}, 1, 3), moved);
  EXPECT_EQ(warnings_of({1, 1e140}, 1, 2), moved);
  EXPECT_EQ(warnings_of({0, 1, 2, 3, 1e140}, 1, 4), moved);
  EXPECT_EQ(warnings_of({1e-310, 5e-324}, 1, 2), moved);
  EXPECT_EQ(warnings_of({1, 1e140, 1, 2}, 2, 2), "in 1 of 2 rows, roundin");
  EXPECT_EQ(warnings_of({1, 2, 3, 1e80}, 1, 3), "");
  EXPECT_EQ(warnings_of({1e-300, 1e-200, 0.25, 1}, 1, 2), "") << "small values in a cluster of larger ones";
  const std::vector<float> narrow = {1e-45F, 3e-45F, 3e38F};
  EXPECT_EQ(optimal_1d({narrow.data(), 1, 3}, {}, with_k({3})).rounded, 1);
}

TEST(Optimal1d, HasTheLowestInertia) {
  const Batch batch(1, 300, 3);
  const ModelResult model = optimal_1d(batch.view(), batch.weights, with_k({9})).models[0];
  FitOptions options;
  options.k = {9};
  options.models = 200;
  const FitResult fitted = fit(batch.column(0), batch.weights, options);
  const double best = fitted.models[static_cast<size_t>(fitted.best(9))].inertia;
  EXPECT_LE(model.inertia, best * (1 + 1e-7));
  for (int64_t c = 1; c < 9; ++c) EXPECT_LT(model.prototypes.at(c - 1, 0), model.prototypes.at(c, 0));
}

TEST(Optimal1d, IsTheSameAloneAndOnAnyNumberOfThreads) {
  const Batch batch(9, 400, 4);
  const Optimal1d one = optimal_1d(batch.view(), batch.weights, with_k({6}, 1));
  const Optimal1d three = optimal_1d(batch.view(), batch.weights, with_k({6}, 3));
  for (int64_t b = 0; b < batch.rows; ++b) {
    const auto row = static_cast<size_t>(b);
    expect_same(one.models[row], three.models[row]);
    expect_same(one.models[row], optimal_1d(batch.row(b), batch.weights_of(b), with_k({6})).models[0]);
  }
  const std::span<const double> first = batch.weights_of(0);
  expect_same(optimal_1d(batch.view(), first, with_k({6})).models[3],
              optimal_1d(batch.row(3), first, with_k({6})).models[0]);
}

TEST(Optimal1d, HasAClusterForEachValueWhereTheyAreFewerThanK) {
  const std::vector<float> values = {3, 1, 3, 2, 1, 9};
  const std::vector<double> weights = {1, 1, 1, 1, 1, 0};
  const Optimal1d found = optimal_1d({values.data(), 1, 6}, weights, with_k({5}));
  EXPECT_EQ(found.models[0].k, 3);
  EXPECT_EQ(found.models[0].k_requested, 5);
  EXPECT_EQ(found.models[0].inertia, 0);
  EXPECT_EQ(found.models[0].counts, (std::vector<int64_t>{2, 1, 3}));
  ASSERT_EQ(found.warnings.size(), 1u);
  EXPECT_EQ(found.warnings[0], "there are fewer distinct values than k; each has its own cluster");
}

TEST(Optimal1d, ChoosesKByTheBicOfCriteria) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> values(400);
  for (size_t i = 0; i < values.size(); ++i) values[i] = normal(random) + 20 * static_cast<float>(i % 4);
  const std::vector<int64_t> k = {2, 3, 4, 5, 6};
  const Optimal1d found = optimal_1d({values.data(), 1, 400}, {}, with_k(k));
  EXPECT_EQ(found.models[0].k, 4);
  for (size_t i = 0; i < k.size(); ++i) {
    const ModelResult model = optimal_1d({values.data(), 1, 400}, {}, with_k({k[i]})).models[0];
    std::vector<uint32_t> labels;
    for (int64_t row = 0; row < 400; ++row) labels.push_back(model.labels[row]);
    const double expected = criteria({values.data(), 400, 1}, labels).bic;
    EXPECT_NEAR(found.bic[i], expected, 1e-6 * std::fabs(expected));
  }
}

TEST(Optimal1d, RefusesBadInput) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values = {1, 2, 3, 4, 5, 6};
  const std::vector<double> ones(6, 1.0);
  const PointsView batch(values.data(), 2, 3), single(values.data(), 1, 6);
  const auto solve = [](const PointsView& points, std::vector<double> weights, int64_t k) {
    return [points, weights, k] { optimal_1d(points, weights, with_k({k})); };
  };
  expect_error(ErrorCode::kUsage, {"4 clusters", "3 rows"}, solve(batch, {}, 4));
  expect_error(ErrorCode::kUsage, {"0 is out of range"}, solve(batch, {}, 0));
  expect_error(ErrorCode::kUsage, {"2 is given twice"}, [&] { optimal_1d(batch, {}, with_k({2, 2})); });
  expect_error(ErrorCode::kUsage, {"the list of k is empty"}, [&] { optimal_1d(batch, {}, with_k({})); });
  expect_error(ErrorCode::kBadData, {"there are no rows"}, solve({values.data(), 0, 3}, {}, 1));
  expect_error(ErrorCode::kBadData, {"there are no columns"}, solve({values.data(), 2, 0}, {}, 1));
  expect_error(ErrorCode::kBadData, {"4 weights", "2 rows of 3"}, solve(batch, {1, 1, 1, 1}, 1));
  expect_error(ErrorCode::kBadData, {"row 2, column 1 has weight -1"}, solve(batch, {1, 1, 1, -1, 1, 1}, 1));
  expect_error(ErrorCode::kBadData, {"row 4 has weight -1"}, solve(single, {1, 1, 1, -1, 1, 1}, 1));
  expect_error(ErrorCode::kBadData, {"[weights] row 2: all weights are zero"}, solve(batch, {1, 1, 1, 0, 0, 0}, 1));
  values[4] = nan;
  expect_error(ErrorCode::kBadData, {"row 2, column 2 is NaN"}, solve(batch, {}, 1));
  expect_error(ErrorCode::kBadData, {"row 5, column 1 is NaN"}, solve(single, {}, 1));
  values[4] = std::numeric_limits<double>::infinity();
  expect_error(ErrorCode::kBadData, {"row 2, column 2 is inf"}, solve(batch, {}, 1));
  values[4] = 1e200;
  expect_error(ErrorCode::kBadData, {"row 2: the largest magnitude"}, solve(batch, {}, 1));
  const std::atomic<bool> stop = true;
  Optimal1dOptions options = with_k({2});
  options.abort = &stop;
  expect_error(ErrorCode::kInterrupted, {}, [&] { optimal_1d({ones.data(), 2, 3}, {}, options); });
}

}  // namespace
}  // namespace manymeans
