#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "core/distance.h"
#include "core/random.h"
#include "engine/small_data.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>

namespace manymeans {
namespace {

using test::mixture;
using test::options;

TEST(Fit, LabelsPrototypesAndInertiaAgree) {
  const auto x = mixture(1000, 3, 1);
  const FitResult result = fit(PointsView(x.data(), 1000, 3), {}, options({2, 7}, 2));
  ASSERT_EQ(result.models.size(), 4U);
  for (const ModelResult& model : result.models) {
    double inertia = 0;
    std::vector<int64_t> counts(static_cast<size_t>(model.k));
    const float* c = model.prototypes.values<float>().data();
    for (int64_t i = 0; i < 1000; ++i) {
      const uint32_t label = model.labels[i];
      ++counts[label];
      const double d2 = canonical_distance(x.data() + i * 3, c + label * 3, 3);
      for (int64_t k = 0; k < model.k; ++k) EXPECT_LE(d2, canonical_distance(x.data() + i * 3, c + k * 3, 3));
      inertia += d2;
    }
    EXPECT_EQ(model.counts, counts);
    EXPECT_NEAR(model.inertia / inertia, 1, 1e-12);
  }
}

TEST(Fit, AMemberAloneHasTheSameDigest) {
  const auto x = mixture(1500, 4, 2);
  const PointsView points(x.data(), 1500, 4);
  for (const char* init : {"k-means++", "k-means||", "random", "first"}) {
    FitOptions o = options({3, 8}, 3);
    o.init = init;
    const FitResult all = fit(points, {}, o);
    for (const ModelResult& model : all.models) {
      EXPECT_EQ(model.seed, member_seed(o.seed, model.k, model.replica));
      FitOptions alone = options({model.k});
      alone.init = init;
      alone.model_seed = model.seed;
      EXPECT_EQ(fit(points, {}, alone).models[0].digest(), model.digest()) << init;
    }
  }
}

TEST(Fit, WeightsOfOneChangeNothingAndScaleDoesNotMatter) {
  const auto x = mixture(800, 2, 3);
  const PointsView points(x.data(), 800, 2);
  const FitOptions o = options({6}, 2);
  const FitResult plain = fit(points, {}, o);
  EXPECT_EQ(fit(points, std::vector<double>(800, 1.0), o).digest(), plain.digest());
  // A common power of two scales the inertia and nothing else.
  const FitResult scaled = fit(points, std::vector<double>(800, 8.0), o);
  for (size_t m = 0; m < 2; ++m) {
    EXPECT_TRUE(std::ranges::equal(scaled.models[m].prototypes.bytes(), plain.models[m].prototypes.bytes()));
    EXPECT_EQ(scaled.models[m].inertia, 8 * plain.models[m].inertia);
    EXPECT_EQ(scaled.models[m].weights[0], 8 * plain.models[m].weights[0]);
    EXPECT_EQ(scaled.models[m].counts, plain.models[m].counts);
  }
}

// v = RN(w' x) with w' as given would underflow: prototypes would be 0 and 10, or nothing at all.
TEST(Fit, TinyWeightsLoseNothing) {
  const std::vector<double> values = {0.1, 0.3, 10, 10.4};
  for (const double scale : {1.0, 1e-20, 1e-140}) {
    std::vector<double> x;
    for (const double v : values) x.push_back(v * scale);
    const FitResult expected = fit(PointsView(x.data(), 4, 1), {}, options({2}));
    for (const double weight : {0x1p-1074, 1e-305, 0x1p-1000}) {
      const ModelResult model = fit(PointsView(x.data(), 4, 1), std::vector(4, weight), options({2})).models[0];
      for (const int64_t k : {0, 1}) {  // w' is rounded, and so is its product: a little, unless it is a power of two
        EXPECT_DOUBLE_EQ(model.prototypes.at(k, 0), expected.models[0].prototypes.at(k, 0)) << scale << " " << weight;
      }
      EXPECT_EQ(model.iterations, expected.models[0].iterations);
      EXPECT_DOUBLE_EQ(model.weights[0], 2 * weight);
      EXPECT_NEAR(std::min(model.prototypes.at(0, 0), model.prototypes.at(1, 0)) / scale, 0.2, 1e-15);
    }
  }
}

// Weights times a power of two: the same answer, its inertia times that.
TEST(Fit, TheScaleOfWeightsChangesInertiaAlone) {
  const auto x = mixture(300, 3, 4);
  std::vector<double> weights;
  for (size_t i = 0; i < 300; ++i) weights.push_back(1 + static_cast<double>(i % 7));
  FitOptions o = options({4}, 2);
  o.stop = "inertia:0.01";
  const FitResult expected = fit(PointsView(x.data(), 300, 3), weights, o);
  for (const int scale : {-1074, -1020, -500, 900}) {
    std::vector<double> others;
    for (const double weight : weights) others.push_back(std::ldexp(weight, scale));
    const FitResult found = fit(PointsView(x.data(), 300, 3), others, o);
    for (size_t m = 0; m < 2; ++m) {
      EXPECT_TRUE(std::ranges::equal(found.models[m].prototypes.bytes(), expected.models[m].prototypes.bytes()));
      EXPECT_TRUE(std::ranges::equal(found.models[m].labels.bytes(), expected.models[m].labels.bytes())) << scale;
      EXPECT_EQ(found.models[m].iterations, expected.models[m].iterations) << scale;
      EXPECT_EQ(found.models[m].inertia, std::ldexp(expected.models[m].inertia, scale)) << scale;
    }
  }
}

TEST(Fit, IntegerWeightsEqualRepeatedRows) {
  const auto x = mixture(300, 2, 4);
  std::vector<float> repeated;
  std::vector<double> weights;
  for (size_t i = 0; i < 300; ++i) {
    weights.push_back(static_cast<double>(i % 4));
    for (size_t r = 0; r < i % 4; ++r) repeated.insert(repeated.end(), {x[2 * i], x[2 * i + 1]});
  }
  FitHooks hooks;
  hooks.initial = PointsView(x.data(), 5, 2);
  const FitOptions o = options({5});
  const FitResult weighted = fit(PointsView(x.data(), 300, 2), weights, o, hooks);
  const FitResult plain = fit(PointsView(repeated.data(), static_cast<int64_t>(repeated.size() / 2), 2), {}, o, hooks);
  EXPECT_TRUE(std::ranges::equal(weighted.models[0].prototypes.bytes(), plain.models[0].prototypes.bytes()));
  EXPECT_NEAR(weighted.models[0].inertia / plain.models[0].inertia, 1, 1e-12);
}

// One update after the first pass whose inertia is the number, in the units of the weights.
TEST(Fit, ErrorComparesTheInertiaThatIsReported) {
  const auto x = mixture(3000, 3, 5, 30);
  const std::vector<double> weights(3000, 0x3p-400);
  FitOptions o = options({12});
  const auto fitted = [&](int64_t max_iter, const std::string& stop) {
    o.max_iter = max_iter;
    o.stop = stop;
    return fit(PointsView(x.data(), 3000, 3), weights, o).models[0];
  };
  const double before = fitted(2, "strict").inertia;
  ASSERT_LT(fitted(3, "strict").inertia, std::nextafter(before, 0.0));
  EXPECT_EQ(fitted(100, fmt::format("error:{}", before)).iterations, 3);
  const ModelResult below = fitted(100, fmt::format("error:{}", std::nextafter(before, 0.0)));
  EXPECT_EQ(below.iterations, 4);
  EXPECT_EQ(name_of(below.stop_reason), "error");
}

TEST(Fit, StopsForTheReasonAskedFor) {
  const auto x = mixture(3000, 3, 5, 30);
  const PointsView points(x.data(), 3000, 3);
  const auto reason = [&](auto change) {
    FitOptions o = options({12});
    change(o);
    return fit(points, {}, o).models[0].stop_reason;
  };
  EXPECT_EQ(reason([](auto& o) { o.tol = 0; }), StopReason::kStrict);
  EXPECT_EQ(reason([](auto& o) { o.tol = 0.01; }), stop_reason_named("tol"));
  EXPECT_EQ(reason([](auto& o) { o.stop = "labels:0.05"; }), stop_reason_named("labels"));
  EXPECT_EQ(reason([](auto& o) { o.stop = "shift:0.05"; }), stop_reason_named("shift"));
  EXPECT_EQ(reason([](auto& o) { o.stop = "inertia:0.001"; }), stop_reason_named("inertia"));
  EXPECT_EQ(reason([](auto& o) { o.stop = "error:1e300"; }), stop_reason_named("error"));
  EXPECT_EQ(reason([](auto& o) { o.max_iter = 3, o.stop = "strict"; }), StopReason::kMaxIter);
  EXPECT_EQ(reason([](auto& o) { o.max_iter = 0; }), StopReason::kMaxIter);
}

TEST(Fit, GivenPrototypesAreUsed) {
  const auto x = mixture(200, 2, 6);
  FitHooks hooks;
  const std::vector<double> given = {0.1, -0.0, 3, 4};
  hooks.initial = PointsView(given.data(), 2, 2);
  FitOptions o = options({2});
  o.max_iter = 0;
  const FitResult result = fit(PointsView(x.data(), 200, 2), {}, o, hooks);
  EXPECT_EQ(result.models[0].init, "given");
  EXPECT_EQ(result.models[0].prototypes.at(0, 0), static_cast<double>(0.1F));
  EXPECT_FALSE(std::signbit(result.models[0].prototypes.at(0, 1)));
}

TEST(Fit, RefusesWhatCannotBeFitted) {
  const auto x = mixture(10, 2, 7);
  const PointsView points(x.data(), 10, 2);
  const auto code = [&](auto change) {
    FitOptions o = options({3});
    FitHooks hooks;
    PointsView view = points;
    change(o, hooks, view);
    try {
      fit(view, {}, o, hooks);
    } catch (const Error& error) {
      return static_cast<int>(error.code());
    }
    return 0;
  };
  const std::vector<float> wrong(9, 1.0F);
  const std::vector<float> nan(6, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(code([](auto& o, auto&, auto&) { o.k = {11}; }), 2);
  EXPECT_EQ(code([](auto& o, auto&, auto&) { o.init = "best"; }), 2);
  EXPECT_EQ(code([](auto& o, auto&, auto&) { o.backend = "abacus"; }), 2);
  EXPECT_EQ(code([](auto& o, auto&, auto&) { o.algorithm = "magic"; }), 2);
  EXPECT_EQ(code([](auto& o, auto&, auto&) { o.backend = "opencl:99"; }), 4);
  EXPECT_EQ(code([&](auto&, auto& h, auto&) { h.initial = PointsView(wrong.data(), 3, 3); }), 3);
  EXPECT_EQ(code([&](auto&, auto& h, auto&) { h.initial = PointsView(wrong.data(), 2, 2); }), 2);
  EXPECT_EQ(code([&](auto&, auto& h, auto&) { h.initial = PointsView(nan.data(), 3, 2); }), 3);
  EXPECT_EQ(code([](auto&, auto&, auto& v) { v.n = 0; }), 3);
  EXPECT_EQ(code([](auto&, auto&, auto& v) { v.d = 0; }), 3);
  EXPECT_EQ(code([](auto& o, auto&, auto&) { o.k = {10}; }), 0) << "K = N is fine";
}

TEST(Fit, RefusesGivenPrototypesWhoseWeightedDistancesOverflow) {
  const std::vector<double> x = {1, 2, 3, 4};
  const std::vector<double> far = {0x1p500};
  FitOptions o = options({1});
  o.max_iter = 0;  // the inertia of the given prototypes is part of the answer
  FitHooks hooks;
  hooks.initial = PointsView(far.data(), 1, 1);
  const PointsView points(x.data(), 4, 1);
  EXPECT_EQ(fit(points, {}, o, hooks).models[0].inertia, 0x1p1002);
  EXPECT_GT(fit(points, std::vector<double>(4, 0x1p15), o, hooks).models[0].inertia, 0x1p1016);
  try {
    fit(points, std::vector<double>(4, 0x1p100), o, hooks);
    FAIL() << "the points alone would be fine, but weight * d2 = 2^1100";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_NE(std::string(error.what()).find("overflows"), std::string::npos) << error.what();
  }
}

TEST(Fit, ProvenanceTellsWhatRan) {
  const auto x = mixture(5000, 4, 8);
  const FitResult result = fit(PointsView(x.data(), 5000, 4), {}, options({5, 6}, 2));
  const Provenance& p = result.provenance;
  EXPECT_EQ(p.backend, "cpu");
  EXPECT_EQ(p.rows, 5000);
  EXPECT_EQ(p.columns, 4);
  EXPECT_EQ(p.threads, 2);
  EXPECT_EQ(p.total.certified + p.total.resolved, p.total.labelled);
  EXPECT_GT(p.passes, 1);
  EXPECT_FALSE(p.plan.empty());
  EXPECT_EQ(result.best(5), result.models[0].inertia <= result.models[1].inertia ? 0 : 1);
  EXPECT_EQ(result.best(7), -1);
}

// Ten distinct rows cannot fill twelve clusters: every model fails, in its own words.
TEST(Fit, TheFirstModelsErrorIsThrownWhicheverThreadIsFast) {
  std::vector<float> x = mixture(10, 2, 8);
  for (int copies = 0; copies < 2; ++copies) x.insert(x.end(), x.begin(), x.begin() + 20);
  FitOptions o = options({12}, 8);
  o.init = "random";
  o.empty = EmptyPolicy::kError;
  o.threads = 4;
  const auto error = [&](Strategy strategy) -> std::string {
    o.strategy = strategy;
    try {
      fit(PointsView(x.data(), 30, 2), {}, o);
    } catch (const Error& thrown) {
      return thrown.what();
    }
    return "";
  };
  const std::string expected = error(Strategy::kData);
  ASSERT_NE(expected.find("lost all its points"), std::string::npos) << expected;
  for (int repeat = 0; repeat < 100; ++repeat) ASSERT_EQ(error(Strategy::kTask), expected);
}

TEST(Fit, ConvergedModelsLeaveThePasses) {
  const auto x = mixture(4000, 3, 9, 40);
  FitHooks hooks;
  hooks.initial = PointsView(x.data(), 42, 3);  // so that clusters keep their numbers, and no pass is needed for them
  const FitResult result = fit(PointsView(x.data(), 4000, 3), {}, options({2, 40}, 1), hooks);
  int64_t needed = 0;
  for (const ModelResult& model : result.models) {
    needed += 4000 * (model.iterations + 1);
    EXPECT_NE(model.iterations, 0);
  }
  EXPECT_EQ(result.provenance.total.labelled, needed) << "a model costs its own passes and no others'";
}

// Which models share a pass depends on the strategy; what the i-th pass of every model did does not.
TEST(Fit, MoreClustersThanRowsAreRefusedBeforeAnyRowIsRead) {
  constexpr int64_t kRows = 1000;
  constexpr size_t kBytes = kRows * 4 * sizeof(float);
  void* unreadable = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(unreadable, MAP_FAILED);
  const PointsView points(static_cast<const float*>(unreadable), kRows, 4);
  FitOptions options;
  options.k = {kRows + 1, 3};
  for (const auto& refused :
       {std::function([&] { fit(points, {}, options); }), std::function([&] { initialise(points, {}, options); })}) {
    try {
      refused();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      EXPECT_NE(std::string(error.what()).find("1001 clusters were asked for"), std::string::npos) << error.what();
    }
  }
  ::munmap(unreadable, kBytes);
}

TEST(Fit, ThePassLogAddsUp) {
  const auto x = mixture(3000, 3, 9, 40);
  for (const Strategy strategy : {Strategy::kConcatenated, Strategy::kData, Strategy::kTask}) {
    FitOptions o = options({2, 40}, 2);
    o.strategy = strategy;
    o.tol = 0;
    FitHooks hooks;
    hooks.initial = PointsView(x.data(), 84, 3);
    const FitResult result = fit(PointsView(x.data(), 3000, 3), {}, o, hooks);
    const std::vector<PassLog>& log = result.provenance.pass_log;
    int64_t most = 0;
    for (const ModelResult& model : result.models) most = std::max(most, model.iterations + 1);
    ASSERT_EQ(static_cast<int64_t>(log.size()), most);
    EXPECT_EQ(log[0].models, 4);
    EXPECT_EQ(log[0].changed, 4 * 3000) << "in its first pass every row changes";
    EXPECT_EQ(log[static_cast<size_t>(most - 1)].changed, 0) << "strict";
    PassLog sum;
    for (const PassLog& pass : log) {
      EXPECT_EQ(pass.labelled, pass.models * 3000);
      EXPECT_EQ(pass.skipped + pass.certified + pass.resolved, pass.labelled);
      sum += pass;
    }
    EXPECT_EQ(sum.labelled, result.provenance.total.labelled);
    EXPECT_EQ(sum.certified, result.provenance.total.certified);
    EXPECT_EQ(sum.resolved, result.provenance.total.resolved);
    EXPECT_EQ(sum.candidates, result.provenance.total.candidates);
  }
}

}  // namespace
}  // namespace manymeans
