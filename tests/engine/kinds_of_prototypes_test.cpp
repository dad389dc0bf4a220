// Other kinds of prototypes than the centroid through the unchanged engine: the same digest from the reference and the
// cpu backend, and that of plain centroids on other points where the two are the same problem.
#include <manymeans/error.h>

#include "backend/backend.h"
#include "engine/tuned.h"
#include "prototype/centroid.h"
#include "prototype/kinds.h"
#include "prototype/linear_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

// Points of several types from the same small numbers, so that differences and products are exact.
struct Points {
  int64_t n = 0, d = 0;
  std::vector<float> f32;
  std::vector<double> f64;
  std::vector<uint8_t> u8;
  std::vector<double> weights;

  Points(int64_t rows, int64_t columns, std::vector<double> values) : n(rows), d(columns), f64(std::move(values)) {
    f32.assign(f64.begin(), f64.end());
    for (const double value : f64) u8.push_back(static_cast<uint8_t>(value < 0 ? 0 : value));
    for (int64_t i = 0; i < n; ++i) weights.push_back(i % 7 == 0 ? 0 : 1 + 0.37 * static_cast<double>(i % 5));
  }
  PointsView view(DataType type) const {
    switch (type) {
      case DataType::kFloat64: return {f64.data(), n, d};
      case DataType::kUInt8: return {u8.data(), n, d, DataType::kUInt8};
      default: return {f32.data(), n, d};
    }
  }
};

constexpr int64_t kRows = 700;
constexpr int64_t kColumns = 6;

// Eighths from 0 to 31.875 in clumps, with repeated rows among them.
std::vector<double> values_of(int64_t n, int64_t d) {
  std::mt19937 random(7);
  std::vector<double> values;
  for (int64_t i = 0; i < n * d; ++i) {
    const auto clump = static_cast<double>(i / d % 5 * 6);
    values.push_back(clump + static_cast<double>(random() % 64) / 8);
  }
  return values;
}

struct Case {
  FitOptions options;
  DataType type = DataType::kFloat32;
  bool weighted = false;
  std::string name;
};

// Inits, stop rules, policies, types and weights; everything at least once with everything that it could disturb.
std::vector<Case> cases() {
  std::vector<Case> result;
  const auto add = [&](const char* init, const char* stop, EmptyPolicy empty, DataType type, bool weighted) {
    Case made;
    made.options.k = {2, 9};
    made.options.models = 2;
    made.options.init = init;
    made.options.stop = stop;
    made.options.empty = empty;
    made.options.max_iter = 12;
    made.type = type;
    made.weighted = weighted;
    made.name = std::string(init) + ", " + stop + ", " + std::string(name_of(type)) + (weighted ? ", weights" : "");
    result.push_back(made);
  };
  const DataType types[] = {DataType::kFloat32, DataType::kFloat64};
  const char* inits[] = {"first", "random", "k-means++", "k-means||"};
  const char* stops[] = {"strict", "labels:0.02", "shift:0.5:0.5", "inertia:0.01", "error:20"};
  const EmptyPolicy policies[] = {EmptyPolicy::kFarthest, EmptyPolicy::kKeep, EmptyPolicy::kDrop};
  for (size_t i = 0; i < 4; ++i) {
    for (size_t s = 0; s < std::size(stops); ++s) {
      add(inits[i], stops[s], policies[(i + s) % 3], types[(i + s) % 2], s % 2 == 1);
      add(inits[i], stops[s], policies[(i + s + 1) % 3], types[(i + s + 1) % 2], s % 2 == 0);
    }
  }
  return result;
}

FitResult fit_on(const char* backend, int threads, const Prototype& prototype, const Points& points, Case made) {
  made.options.backend = backend;
  made.options.threads = threads;
  const std::span<const double> weights = made.weighted ? std::span<const double>(points.weights) : std::span<double>();
  return fit_kind(prototype, points.view(made.type), weights, made.options, {});
}

// The digest that the reference and the cpu backend, on one thread and on three, all have.
std::string common_digest(const Prototype& prototype, const Points& points, const Case& made) {
  const std::string expected = fit_on("reference", 1, prototype, points, made).digest();
  for (const int threads : {1, 3}) {
    const FitResult found = fit_on("cpu", threads, prototype, points, made);
    EXPECT_EQ(found.digest(), expected) << prototype.name << ": " << made.name << ", " << threads << " threads";
    EXPECT_EQ(found.provenance.options.backend, "cpu");
  }
  return expected;
}

std::string plain_digest(const Points& points, const Case& made) {
  return fit_on("reference", 1, centroid(), points, made).digest();
}

TEST(KindsOfPrototypes, HalfTheColumnsAreCentroidsOfThatHalf) {
  const Points all(kRows, kColumns, values_of(kRows, kColumns));
  std::vector<double> first_half;
  for (int64_t i = 0; i < kRows; ++i) {
    first_half.insert(first_half.end(), all.f64.begin() + i * kColumns, all.f64.begin() + i * kColumns + kColumns / 2);
  }
  const Points half(kRows, kColumns / 2, first_half);
  for (const Case& made : cases()) {
    EXPECT_EQ(common_digest(kind<HalfCentroid>(), all, made), plain_digest(half, made)) << made.name;
  }
}

TEST(KindsOfPrototypes, AnOffsetIsThatOfThePoints) {
  const Points points(kRows, 3, values_of(kRows, 3));
  std::vector<double> values;
  for (const double value : points.f64) values.push_back(value - OffsetCentroid::kPlace);
  const Points seen(kRows, 3, values);
  std::vector<Case> all = cases();
  for (Case& made : all) {
    made.options.stop += ",tol";  // the variance is that of the points wherever they are seen from
    EXPECT_EQ(common_digest(kind<OffsetCentroid>(), points, made), plain_digest(seen, made)) << made.name;
  }
}

TEST(KindsOfPrototypes, SlopesOverOneAreMeans) {
  const std::vector<double> y = values_of(kRows, 1);
  std::vector<double> rows;
  for (const double value : y) rows.insert(rows.end(), {1.0, value});
  const Points pairs(kRows, 2, rows);
  const Points alone(kRows, 1, y);
  for (const Case& made : cases()) {
    EXPECT_EQ(common_digest(kind<Slope>(), pairs, made), plain_digest(alone, made)) << made.name;
  }
}

// Rows around three lines: models that have one of them each are found, and two columns that say the same do no harm.
TEST(KindsOfPrototypes, LinearModelsFindTheLines) {
  std::mt19937 random(5);
  std::vector<double> values;
  for (int64_t i = 0; i < kRows; ++i) {
    const double x = static_cast<double>(random() % 1000) / 100, z = static_cast<double>(random() % 100);
    const auto line = static_cast<double>(i % 3);
    values.insert(values.end(), {x, z, 2 * x, (line - 1) * 8 * x + line * z + 100 * line});
  }
  const Points points(kRows, 4, values);
  const std::vector<double> given = {-7, 0, 0, 1, 0, 1, 0, 90, 7, 2, 0, 190};
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    FitHooks hooks;
    hooks.initial = {given.data(), 3, 4};
    FitOptions options;
    options.k = {3};
    options.stop = "strict";
    options.backend = "cpu";
    const FitResult found = fit_kind(linear_model(), points.view(type), {}, options, hooks);
    const Matrix& models = found.models[0].prototypes;
    for (int64_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(models.at(k, 0), static_cast<double>(k - 1) * 8, 1e-5) << k;
      EXPECT_NEAR(models.at(k, 1), static_cast<double>(k), 1e-5) << k;
      EXPECT_EQ(models.at(k, 2), 0) << k;
      EXPECT_NEAR(models.at(k, 3), 100 * static_cast<double>(k), 1e-4) << k;
    }
    options.backend = "reference";
    EXPECT_EQ(found.digest(), fit_kind(linear_model(), points.view(type), {}, options, hooks).digest());
  }
}

TEST(KindsOfPrototypes, LinearModelsAreTheSameEverywhere) {
  const Points points(kRows, 3, values_of(kRows, 3));
  for (Case made : cases()) {
    common_digest(linear_model(), points, made);
    made.type = DataType::kUInt8;
    common_digest(linear_model(), points, made);
  }
}

// Nothing plain to compare with: products of different x, narrow values, given prototypes.
TEST(KindsOfPrototypes, SlopesAreTheSameEverywhere) {
  std::mt19937 random(11);
  std::vector<double> values;
  for (int64_t i = 0; i < kRows; ++i) {
    const auto x = static_cast<double>(random() % 12 + 1);
    values.insert(values.end(), {x, x * static_cast<double>(i % 3 + 1) + static_cast<double>(random() % 3)});
  }
  const Points points(kRows, 2, values);
  for (Case made : cases()) {
    common_digest(kind<Slope>(), points, made);
    made.type = DataType::kUInt8;
    common_digest(kind<Slope>(), points, made);
  }
}

TEST(KindsOfPrototypes, SlopesFindTheLinesOfThreeFans) {
  std::vector<double> values;
  for (int64_t i = 0; i < 300; ++i) {
    const auto x = static_cast<double>(i % 20 + 1);
    values.insert(values.end(), {x, x * (static_cast<double>(i % 3) - 1) * 4});
  }
  const Points points(300, 2, values);
  const std::vector<float> given = {-3, 1, 3};
  FitOptions options;
  options.k = {3};
  options.backend = "cpu";
  FitHooks hooks;
  hooks.initial = {given.data(), 3, 1};
  const FitResult found = fit_kind(kind<Slope>(), points.view(DataType::kFloat32), {}, options, hooks);
  EXPECT_EQ(found.models[0].prototypes.columns(), 1);
  for (const int64_t k : {0, 1, 2}) EXPECT_EQ(found.models[0].prototypes.at(k, 0), static_cast<double>(4 * k - 4));
  EXPECT_EQ(found.models[0].inertia, 0);
  options.backend = "reference";
  EXPECT_EQ(found.digest(), fit_kind(kind<Slope>(), points.view(DataType::kFloat32), {}, options, hooks).digest());
}

TEST(KindsOfPrototypes, AreAskedForAllDistances) {
  const Points points(kRows, 2, values_of(kRows, 2));
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kUInt8}) {
    ThreadPool pool(2);
    Input input = prepare_input(points.view(type), {}, pool);
    use_prototype(input, kind<Slope>(), pool);
    const std::vector<int64_t> rows = {1, 200, 300};
    const Matrix prototypes = prototypes_at(input, rows);
    Matrix found[2];
    for (size_t i = 0; i < 2; ++i) {
      const auto backend = make_backend(i == 0 ? "reference" : "cpu", {.threads = 2});
      const auto upload = backend->upload(input);
      const int64_t k = prototypes.rows();
      found[i] = Matrix(kRows, k, prototypes.type());
      upload->session({&k, 1}, 2)->rows().transform(prototypes, found[i]);
    }
    EXPECT_TRUE(std::ranges::equal(found[0].bytes(), found[1].bytes())) << name_of(type);
  }
}

TEST(KindsOfPrototypes, AreRefusedWhereNothingServesThem) {
  const Points points(20, 2, values_of(20, 2));
  FitOptions options;
  options.k = {2};
  options.backend = "cpu";
  for (const char* algorithm : {"matrix", "bounds", "kdtree"}) {
    options.algorithm = algorithm;
    EXPECT_THROW(fit_kind(kind<Slope>(), points.view(DataType::kFloat32), {}, options, {}), Error) << algorithm;
  }
  options.algorithm = "auto";
  const std::vector<float> two_wide = {1, 2, 3, 4};
  FitHooks hooks;
  hooks.initial = {two_wide.data(), 2, 2};
  EXPECT_THROW(fit_kind(kind<Slope>(), points.view(DataType::kFloat32), {}, options, hooks), Error);
}

}  // namespace
}  // namespace manymeans::test
