// Sparse points: the bits of the dense points of the same values, on the reference and on the cpu backend.
#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/info.h>
#include <manymeans/io.h>
#include <manymeans/regress.h>

#include "conformance/cases.h"
#include "conformance/fit_cases.h"
#include "conformance/sparse_cases.h"
#include "conformance/variants.h"
#include "engine/tuned.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

namespace manymeans::test {
namespace {

std::string outcome(const PointsView& points, const std::vector<double>& weights, const FitOptions& options,
                    const Tuning& tuning = {}) {
  try {
    const FitResult result = fit_tuned(points, weights, options, {}, tuning);
    std::string text = result.digest();
    for (const ModelResult& model : result.models) {
      text += fmt::format(" {}:{}:{}", model.k, model.iterations, name_of(model.stop_reason));
    }
    return text;
  } catch (const Error& error) {
    return error.what();
  }
}

std::string what_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class Sparse : public testing::Test {
 protected:
  // The reference on the dense points says what is right.
  void compare(const Case& made, FitOptions options) {
    if (made.type != DataType::kFloat32 && made.type != DataType::kFloat64) return;
    options.backend = "reference";
    const std::string expected = outcome(made.points(), made.weights, options);
    const SparseCopy sparse(made.points(), compared_ % 2 == 1);
    const auto same = [&](const Tuning& tuning) {
      EXPECT_EQ(outcome(sparse.points(), made.weights, options, tuning), expected)
          << made.name << " init " << options.init << " stop " << options.stop << " empty " << name_of(options.empty)
          << " on " << options.backend << " " << tuning.cpu.instruction_set << " " << name_of(options.strategy) << " "
          << options.algorithm << " " << options.threads;
      ++compared_;
    };
    if (compared_ % 5 == 0) same({});
    options.backend = "cpu";
    for (const Strategy strategy : kStrategies) {
      constexpr std::array<int, 4> kThreads = {1, 2, 3, 7};
      constexpr std::array<const char*, 4> kAlgorithms = {"auto", "matrix", "auto", "brute"};
      Tuning tuning;
      if (!sets_.empty()) tuning.cpu.instruction_set = sets_[compared_ % sets_.size()];
      options.strategy = strategy;
      options.threads = kThreads[(compared_ / 4 + compared_) % kThreads.size()];
      options.algorithm = kAlgorithms[(compared_ / 3 + compared_) % kAlgorithms.size()];
      same(tuning);
    }
  }

  static std::vector<std::string> sets() {
    std::vector<std::string> names;
    for (const Choice& choice : cpu_instruction_sets()) {
      if (choice.available) names.push_back(choice.name);
    }
    return names;
  }

  std::vector<std::string> sets_ = sets();
  size_t compared_ = 0;
};

TEST_F(Sparse, SmallFitsOfEveryKind) {
  size_t number = 0;
  for_each_small_fit([&](const Case& made, const FitOptions& options) {
    if (++number % 2 == 0) return true;
    Case thin = made;
    if (thin.type == DataType::kFloat32 || thin.type == DataType::kFloat64) {
      thin_out(thin, number % 3 == 0 ? 0.9 : 0.5, number);
    }
    compare(thin, options);
    return !HasFailure();
  });
  EXPECT_GT(compared_, 100U);
}

TEST_F(Sparse, ManyColumns) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    for (const Weighting weighting : {Weighting::kNone, Weighting::kIntegers, Weighting::kRanges}) {
      for (const Family family :
           {Family::kNormal, Family::kGrid, Family::kRanges, Family::kTiny, Family::kHugeOutlier}) {
        Case made = make_case(family, type, weighting, {90, 603, {1}}, 5);
        thin_out(made, 0.98, 7);
        FitOptions options;
        options.k = {1, 7, 20};
        options.max_iter = 4;
        options.init = family == Family::kGrid ? "k-means||" : "k-means++";
        compare(made, options);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(Sparse, MoreClustersThanDistinctRows) {
  Case made = make_case(Family::kDuplicates, DataType::kFloat32, Weighting::kNone, {200, 30, {1}}, 9);
  thin_out(made, 0.97, 3);
  for (const char* init : {"k-means++", "k-means||", "random", "first"}) {
    for (const EmptyPolicy empty : kPolicies) {
      FitOptions options;
      options.k = {150};
      options.init = init;
      options.empty = empty;
      options.max_iter = 5;
      compare(made, options);
    }
  }
}

TEST_F(Sparse, PredictionsAndDistances) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    Case made = make_case(Family::kClusters, type, Weighting::kIntegers, {257, 77, {19}}, 4);
    thin_out(made, 0.8, 2);
    const SparseCopy sparse(made.points(), true);
    const PointsView centres = made.prototypes[0].view();
    PredictOptions options;
    options.distances = options.inertia = true;
    options.weights = made.weights;
    const Prediction dense = predict(made.points(), centres, options);
    for (const char* backend : {"auto", "cpu", "reference"}) {
      options.backend = backend;
      const Prediction found = predict(sparse.points(), centres, options);
      EXPECT_TRUE(std::ranges::equal(found.labels.bytes(), dense.labels.bytes()));
      EXPECT_EQ(found.distances, dense.distances);
      EXPECT_EQ(found.inertia, dense.inertia);
      EXPECT_TRUE(std::ranges::equal(transform(sparse.points(), centres, options).bytes(),
                                     transform(made.points(), centres, {}).bytes()));
      EXPECT_TRUE(std::ranges::equal(Predictor(centres).predict(sparse.points()).labels.bytes(), dense.labels.bytes()));
    }
    FitOptions first;
    first.k = {11};
    const Initialisation of_dense = initialise(made.points(), made.weights, first);
    EXPECT_EQ(initialise(sparse.points(), made.weights, first).rows, of_dense.rows);
  }
}

TEST_F(Sparse, RowsOfLengthOne) {
  uint64_t seed = 0;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    for (const Weighting weighting : {Weighting::kNone, Weighting::kRanges}) {
      for (const Family family : {Family::kNormal, Family::kGrid, Family::kRanges, Family::kTiny}) {
        Case made = make_case(family, type, weighting, {150, 83, {1}}, ++seed);
        thin_out(made, 0.93, seed);
        FitOptions options;
        options.metric = Metric::kCosine;
        options.k = {1, 5, 20};
        options.max_iter = 4;
        options.init = family == Family::kGrid ? "k-means||" : "k-means++";
        compare(made, options);  // both name the first row of zeros
        fill_empty_rows(made);
        compare(made, options);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(Sparse, PredictionsByAngle) {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    Case made = make_case(Family::kClusters, type, Weighting::kNone, {257, 77, {19}}, 4);
    thin_out(made, 0.8, 2);
    fill_empty_rows(made);
    const SparseCopy sparse(made.points(), type == DataType::kFloat32);
    const Matrix unit = rows_of_length_one(made.points());
    EXPECT_TRUE(std::ranges::equal(rows_of_length_one(sparse.points()).bytes(), unit.bytes()));
    const Matrix values = values_of_length_one(sparse.view);
    SparseView of_length_one = sparse.view;
    of_length_one.values = values.view().data;
    PredictOptions options;
    options.metric = Metric::kCosine;
    options.distances = options.inertia = true;
    const PointsView centres(unit.view().data, 9, made.shape.d, type);
    const Prediction dense = predict(made.points(), centres, options);
    const Prediction found = predict(sparse.points(), centres, options);
    EXPECT_TRUE(std::ranges::equal(found.labels.bytes(), dense.labels.bytes()));
    EXPECT_EQ(found.distances, dense.distances);
    EXPECT_EQ(found.inertia, dense.inertia);
    const Matrix distances = transform(made.points(), centres, options);
    EXPECT_TRUE(std::ranges::equal(transform(sparse.points(), centres, options).bytes(), distances.bytes()));
    EXPECT_TRUE(std::ranges::equal(transform(of_length_one.points(), centres, {}).bytes(), distances.bytes()));
    FitOptions first;
    first.k = {11};
    first.metric = Metric::kCosine;
    EXPECT_EQ(initialise(sparse.points(), {}, first).rows, initialise(made.points(), {}, first).rows);
  }
}

TEST_F(Sparse, RowsWithoutADirectionAreNamed) {
  Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {40, 9, {1}}, 1);
  std::fill_n(reinterpret_cast<float*>(made.bytes.data()) + 21 * 9, 9, -0.0F);
  const SparseCopy sparse(made.points(), false);
  const std::string expected = what_of([&] { rows_of_length_one(made.points()); });
  EXPECT_NE(expected.find("row 22 is all zeros"), std::string::npos);
  EXPECT_EQ(what_of([&] { values_of_length_one(sparse.view); }), expected);
  reinterpret_cast<float*>(made.bytes.data())[5 * 9 + 2] = std::numeric_limits<float>::infinity();
  const SparseCopy infinite(made.points(), false);
  EXPECT_NE(what_of([&] { values_of_length_one(infinite.view); }).find("row 6, column 3"), std::string::npos);
}

// Points and prototypes whose labels rounding may take.
struct Doubtful {
  Matrix points, prototypes;
};

// Rows with one value x, prototypes with about 2 x there and one that is zero: the two are equally near.
Doubtful near_ties(int64_t n, uint64_t seed) {
  Doubtful made{Matrix(n, n, DataType::kFloat64), Matrix(n + 1, n, DataType::kFloat64)};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> value(1, 1.05), margin(-1e-11, 1e-11);
  for (int64_t i = 0; i < n; ++i) {
    const double x = value(random);
    made.points.values<double>()[static_cast<size_t>(i * n + i)] = x;
    made.prototypes.values<double>()[static_cast<size_t>((i + 1) * n + i)] = 2 * x * (1 + margin(random));
  }
  return made;
}

// Rows with the value 1 and then many that are small. Their products with the first prototype are a little less than
// half a unit in the last place of the sum, so that float32 loses all of them: half of the rows' 256 roundings are as
// large as they can be. The second prototype is nearer in float32, and not in truth.
Doubtful lost_products(int64_t n, uint64_t seed) {
  constexpr int64_t kTail = 256;
  constexpr int64_t kColumns = kTail + 2;
  Doubtful made{Matrix(n, kColumns, DataType::kFloat32), Matrix(2, kColumns, DataType::kFloat32)};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> share(0.95F, 0.99F);
  const std::span<float> x = made.points.values<float>(), c = made.prototypes.values<float>();
  for (int64_t i = 0; i < n; ++i) {
    const auto row = static_cast<size_t>(i * kColumns);
    x[row] = 1;
    x[row + 1] = 0x1p-6F;
    for (size_t j = 2; j < static_cast<size_t>(kColumns); ++j) x[row + j] = 0x1p-8F * share(random);
  }
  for (size_t j = 2; j < static_cast<size_t>(kColumns); ++j) c[j] = 0x1p-16F;
  c[0] = c[kColumns] = 1;
  c[kColumns + 1] = 200 * 0x1p-18F;
  return made;
}

// How many labels differ from the reference's.
int64_t wrong_labels(const Doubtful& ties, const std::string& set, double bound_scale) {
  const SparseCopy sparse(ties.points.view(), false);
  Tuning tuning;
  tuning.cpu.instruction_set = set;
  tuning.cpu.bound_scale = bound_scale;
  PredictOptions options;
  options.backend = "reference";
  const Prediction expected = predict(ties.points.view(), ties.prototypes.view(), options);
  options.backend = "cpu";
  const Prediction found = predict_tuned(sparse.points(), ties.prototypes.view(), options, tuning);
  int64_t wrong = 0;
  for (int64_t i = 0; i < found.labels.size(); ++i) wrong += found.labels[i] != expected.labels[i];
  return wrong;
}

TEST_F(Sparse, NearTiesAreRightAndASmallerBoundIsNoticed) {
  for (const std::string& set : sets_) {
    int64_t wrong = 0, wrong_with_less = 0;
    for (uint64_t seed = 0; seed < 12; ++seed) {
      wrong += wrong_labels(near_ties(60, seed), set, 1);
      const Doubtful lost = lost_products(20, seed);
      wrong += wrong_labels(lost, set, 1);
      wrong_with_less += wrong_labels(lost, set, 0.25);
    }
    EXPECT_EQ(wrong, 0) << set;
    EXPECT_GT(wrong_with_less, 0) << set;
  }
}

TEST_F(Sparse, TheScreenCertifiesAndResolves) {
  Case made = make_case(Family::kGrid, DataType::kFloat32, Weighting::kNone, {2000, 300, {1}}, 5);
  thin_out(made, 0.98, 7);
  const SparseCopy sparse(made.points(), false);
  FitOptions options;
  options.k = {30};
  options.max_iter = 5;
  const FitResult result = fit(sparse.points(), {}, options);
  EXPECT_EQ(result.provenance.backend, "cpu");
  EXPECT_GT(result.provenance.total.certified, 0);
  EXPECT_GT(result.provenance.total.resolved, 0);
  EXPECT_GT(result.provenance.total.certified, result.provenance.total.resolved);
}

TEST_F(Sparse, ProgressAndCheckpointsAreThoseOfDensePoints) {
  Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {300, 20, {1}}, 6);
  thin_out(made, 0.7, 1);
  const SparseCopy sparse(made.points(), false);
  FitOptions options;
  options.k = {6};
  FitHooks hooks;
  std::vector<double> estimates;
  hooks.progress = [&](const Progress& progress) {
    if (progress.phase == "iterate") estimates.push_back(progress.inertia_estimate);
    return true;
  };
  const FitResult result = fit(sparse.points(), {}, options, hooks);
  ASSERT_FALSE(estimates.empty());
  EXPECT_NEAR(estimates.back() / result.models[0].inertia, 1, 1e-6);
}

// A limit that is too small names one that is large enough, which a copy of the values makes larger.
TEST_F(Sparse, LimitsOfMemoryAreKeptOrNamed) {
  Case made = make_case(Family::kClusters, DataType::kFloat64, Weighting::kNone, {3000, 200, {1}}, 7);
  thin_out(made, 0.3, 1);
  fill_empty_rows(made);
  const SparseCopy sparse(made.points(), false);
  int64_t named[2] = {};
  for (const Metric metric : {Metric::kEuclidean, Metric::kCosine}) {
    FitOptions options{.k = {6}, .models = 2, .metric = metric, .threads = 2};
    if (metric == Metric::kCosine) options.init = "k-means||";
    const std::string expected = outcome(sparse.points(), {}, options);
    options.memory.bytes = int64_t{1} << 20;
    const std::string refusal = outcome(sparse.points(), {}, options);
    const size_t at = refusal.find("(memory ");
    ASSERT_NE(at, std::string::npos) << refusal;
    int64_t& mib = named[metric == Metric::kCosine];
    mib = std::stoll(refusal.substr(at + 8));
    options.memory.bytes = mib << 20;
    EXPECT_EQ(outcome(sparse.points(), {}, options), expected);
    options.memory.bytes = (mib - 1) << 20;
    EXPECT_EQ(outcome(sparse.points(), {}, options).rfind("[memory] ", 0), 0U);
    options.memory.bytes = int64_t{1} << 30;
    EXPECT_EQ(outcome(sparse.points(), {}, options), expected);
  }
  EXPECT_GT(named[1], named[0]);
}

class HostileSparse : public testing::Test {
 protected:
  std::string says() const {
    return what_of([&] { fit(view().points(), {}, FitOptions{.k = {2}}); });
  }
  SparseView view() const {
    SparseView view;
    view.values = values.data();
    view.indices = indices.data();
    view.starts = starts.data();
    view.entries = static_cast<int64_t>(values.size());
    view.n = 3;
    view.d = 4;
    return view;
  }
  std::vector<float> values = {1, 2, 3, 4};
  std::vector<int32_t> indices = {0, 3, 1, 2};
  std::vector<int64_t> starts = {0, 2, 3, 4};
};

TEST_F(HostileSparse, GoodPointsAreTaken) {
  EXPECT_EQ(says(), "no error");
}

TEST_F(HostileSparse, BadStartsAndIndicesAreNamed) {
  const std::vector<int64_t> good_starts = starts;
  starts = {0, 3, 2, 4};
  EXPECT_NE(says().find("row 2 has the values from 3 to before 2 of 4"), std::string::npos) << says();
  starts = {0, 2, 3, 5};
  EXPECT_NE(says().find("row 3 has the values from 3 to before 5 of 4"), std::string::npos) << says();
  starts = {-1, 2, 3, 4};
  EXPECT_NE(says().find("row 1 begins at value -1"), std::string::npos) << says();
  starts = {0, 2, 3, std::numeric_limits<int64_t>::max()};
  EXPECT_NE(says().find("row 3"), std::string::npos) << says();
  starts = good_starts;
  indices = {0, 4, 1, 2};
  EXPECT_NE(says().find("row 1 has a value in column 4"), std::string::npos) << says();
  indices = {0, 3, -1, 2};
  EXPECT_NE(says().find("row 2 has a value in column -1"), std::string::npos) << says();
  indices = {3, 0, 1, 2};
  EXPECT_NE(says().find("row 1 has column 0 after column 3"), std::string::npos) << says();
  indices = {3, 3, 1, 2};
  EXPECT_NE(says().find("row 1 has column 3 after column 3"), std::string::npos) << says();
}

TEST_F(HostileSparse, ValuesAreChecked) {
  values[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(says().find("row 1, column 4 is NaN"), std::string::npos) << says();
  values[1] = 2;
  values[2] = std::numeric_limits<float>::infinity();
  EXPECT_NE(says().find("row 2, column 2 is inf"), std::string::npos) << says();
}

TEST_F(HostileSparse, WhatKnowsNoSparsePointsSaysSo) {
  const SparseView sparse = view();
  const PointsView points = sparse.points();
  const auto fit_with = [&](FitOptions options) { return what_of([&] { fit(points, {}, options); }); };
  for (const char* algorithm : {"kdtree", "bounds"}) {
    EXPECT_NE(fit_with({.k = {2}, .algorithm = algorithm}).find("knows no sparse points"), std::string::npos);
  }
  for (const char* backend : {"cuda", "opencl"}) {
    const std::string said = fit_with({.k = {2}, .backend = backend});
    EXPECT_TRUE(said.find("are sparse (CSR)") != std::string::npos || said.find("no backend") != std::string::npos)
        << said;
  }
  EXPECT_NE(fit_with({.k = {2}, .backend = "cpu,reference"}).find("are sparse"), std::string::npos);
  EXPECT_NE(what_of([&] { find_scaling(points, Scale::kStandard); }).find("keep them sparse"), std::string::npos);
  SparseView narrow = view();
  narrow.type = DataType::kUInt8;
  EXPECT_NE(what_of([&] { fit(narrow.points(), {}, FitOptions{.k = {2}}); }).find("float32 or float64"),
            std::string::npos);
}

}  // namespace
}  // namespace manymeans::test
