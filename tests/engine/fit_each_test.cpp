#include <manymeans/error.h>
#include <manymeans/fit_each.h>
#include <manymeans/sparse.h>

#include "conformance/cases.h"
#include "conformance/fit_cases.h"
#include "conformance/variants.h"
#include "engine/problem_batch.h"
#include "engine/small_data.h"
#include "io/files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <string>

namespace manymeans {
namespace {

using Batch = test::ProblemBatch;
using test::Folder;
using test::mixture;
using test::one_of;

// Ragged groups of any type, with any options.
Batch random_batch(uint64_t seed) {
  std::mt19937_64 random(seed);
  Batch batch;
  const size_t problems = 1 + random() % 12;
  const uint64_t most = one_of<uint64_t>(random, {3, 20, 120});
  for (size_t b = 0; b < problems; ++b) {
    batch.groups.push_back(batch.groups.back() + 1 + static_cast<int64_t>(random() % most));
  }
  const auto type = static_cast<DataType>(random() % 6);
  const auto weighting = static_cast<test::Weighting>(random() % test::kWeightings);
  const int64_t d = one_of<int64_t>(random, {1, 2, 3, 7, 16, 40});
  batch.rows = test::make_case(static_cast<test::Family>(random() % test::kFamilies), type, weighting,
                               {batch.groups.back(), d, {1}}, seed);
  EachOptions& options = batch.options;
  options.errors = ProblemErrors::kSkip;
  options.k = one_of<std::vector<int64_t>>(random, {{1}, {2}, {3}, {5}, {1, 2}, {4, 2, 3}});
  options.models = one_of<int64_t>(random, {1, 1, 3});
  options.seed = random();
  options.init = one_of<const char*>(random, {"auto", "k-means++", "k-means||", "random", "first"});
  options.metric = one_of(random, {Metric::kEuclidean, Metric::kEuclidean, Metric::kCosine});
  options.min_size = random() % 8 == 0 ? 1 : 0;
  options.max_iter = one_of<int64_t>(random, {0, 1, 5, 300});
  options.tol = one_of(random, {0.0, 1e-4, 0.1});
  options.stop = one_of<const char*>(random, {"tol", "strict", "labels:0.05", "shift:0.1", "inertia:0.01"});
  options.empty = test::kPolicies[options.min_size > 0 ? 0 : random() % test::kPolicies.size()];
  options.algorithm = one_of<const char*>(random, {"auto", "auto", "matrix", "bounds", "brute"});
  options.strategy = test::kStrategies[random() % test::kStrategies.size()];
  for (size_t b = 0; random() % 3 == 0 && b < problems; ++b) {
    options.seed_each.push_back(random());
    if (options.seed_each.size() == 1 && random() % 2 == 0) break;
  }
  if (options.seed_each.size() != problems) options.seed_each.clear();
  for (size_t b = 0; seed % 3 == 0 && b < problems; ++b) {
    options.k_each.push_back(1 + static_cast<int64_t>(random() % most));
  }
  return batch;
}

PointsView points_of(const Batch& batch, int64_t b) {
  const int64_t first = batch.groups[static_cast<size_t>(b)];
  const size_t row = static_cast<size_t>(batch.rows.shape.d) * size_of(batch.rows.type);
  return {batch.rows.bytes.data() + static_cast<size_t>(first) * row, batch.groups[static_cast<size_t>(b) + 1] - first,
          batch.rows.shape.d, batch.rows.type};
}

// What fit() says of each problem: its digest, or its error.
std::vector<std::string> one_by_one(const Batch& batch) {
  std::vector<std::string> all;
  for (int64_t b = 0; b < batch.count(); ++b) {
    const auto at = static_cast<size_t>(b);
    FitOptions options = batch.options;
    options.backend = "reference";
    options.algorithm = "auto";
    if (!batch.options.k_each.empty()) options.k = {batch.options.k_each[at]};
    if (!batch.options.seed_each.empty()) options.seed = batch.options.seed_each[at];
    std::span<const double> weights = batch.rows.weights;
    const PointsView points = points_of(batch, b);
    if (!weights.empty()) {
      weights = weights.subspan(static_cast<size_t>(batch.groups[at]), static_cast<size_t>(points.n));
    }
    try {
      all.push_back(fit(points, weights, options).digest());
    } catch (const Error& error) {
      all.push_back(error.what());
    }
  }
  return all;
}

std::vector<std::string> outcomes(const EachResult& result) {
  std::vector<std::string> all;
  for (const FitResult& fit : result.fits) all.push_back(fit.digest());
  for (const ProblemError& error : result.errors) {
    EXPECT_TRUE(result.fits[static_cast<size_t>(error.problem())].models.empty());
    all[static_cast<size_t>(error.problem())] = error.text();
  }
  return all;
}

EachResult fit_batch(const Batch& batch, const FitHooks& hooks = {}) {
  return fit_each(batch.rows.points(), batch.rows.weights, batch.groups, batch.options, hooks);
}

TEST(FitEach, RandomBatchesEqualSingleFits) {
  std::set<std::string> names = {"reference"};
  for (const test::Target& target : test::targets()) names.insert(target.backend);
  int64_t models = 0, errors = 0;
  for (uint64_t seed = 0; seed < 240; ++seed) {
    Batch batch = random_batch(seed);
    const std::vector<std::string> expected = one_by_one(batch);
    const std::string algorithm = batch.options.algorithm;
    for (const std::string& name : names) {
      if ((name == "opencl" || name == "cuda") && seed % 8 != 0) continue;  // which are slow to begin
      batch.options.backend = name;
      batch.options.algorithm =
          name != "reference" && test::takes(name, algorithm, batch.rows.shape.d) ? algorithm : "auto";
      for (const int threads : {1, 2, 5}) {
        batch.options.threads = threads;
        const EachResult result = fit_batch(batch);
        EXPECT_EQ(outcomes(result), expected) << seed << " " << batch.rows.name << " on " << name << " " << threads;
        EXPECT_FALSE(result.interrupted);
        models += std::ssize(result.fits);
        errors += std::ssize(result.errors);
      }
    }
  }
  EXPECT_GT(models, 4000);
  EXPECT_GT(errors, 100);
  EXPECT_LT(errors, models / 2);
}

Batch plain_batch(int64_t problems, int64_t rows, int threads = 2) {
  Batch batch;
  batch.rows.shape = {problems * rows, 3, {1}};
  const std::vector<float> x = mixture(problems * rows, 3, 11);
  const auto bytes = std::as_bytes(std::span(x));
  batch.rows.bytes.assign(bytes.begin(), bytes.end());
  batch.groups = equal_groups(problems, rows);
  batch.options.k = {3};
  batch.options.threads = threads;
  return batch;
}

std::string error_of(const Batch& batch, const FitHooks& hooks = {}) {
  try {
    fit_batch(batch, hooks);
    return "none";
  } catch (const Error& error) {
    return fmt::format("{} {}", static_cast<int>(error.code()), error.what());
  }
}

TEST(FitEach, LargeProblemsHaveAllThreads) {
  for (const int threads : {2, 5}) {
    Batch batch = plain_batch(400, 10, threads);
    batch.groups = {0, 10, 20, 3000, 3010};  // one large, and 99 small ones
    while (batch.groups.back() < 4000) batch.groups.push_back(batch.groups.back() + 10);
    const EachResult result = fit_batch(batch);
    EXPECT_EQ(outcomes(result), one_by_one(batch));
    for (size_t b = 0; b < result.fits.size(); ++b) {
      EXPECT_EQ(result.fits[b].provenance.threads, b == 2 ? threads : 1);
    }
  }
  const EachResult few = fit_batch(plain_batch(2, 50, 5));
  EXPECT_EQ(few.fits[1].provenance.threads, 5);
}

TEST(FitEach, SeveralBackendsShareTheProblemsOut) {
  Batch batch = plain_batch(200, 40, 5);
  batch.options.backend = "cpu,reference";
  const EachResult result = fit_batch(batch);
  EXPECT_EQ(outcomes(result), one_by_one(batch));
  for (const FitResult& fit : result.fits) {
    EXPECT_TRUE(fit.provenance.backend == "cpu" || fit.provenance.backend == "reference") << fit.provenance.backend;
    EXPECT_EQ(fit.provenance.options.backend, "cpu,reference");
  }
  batch.options.backend = "cpu,cpu";
  EXPECT_NE(error_of(batch).find("stands twice"), std::string::npos);
}

TEST(FitEach, SparsePointsAndGivenPrototypes) {
  const std::vector<float> values = {1, 2, 9, 8, 1, 7, 30, 20};
  const std::vector<int32_t> columns = {0, 1, 0, 0, 1, 0, 1, 0};
  const std::vector<int64_t> starts = {0, 2, 3, 4, 5, 5, 6, 7, 8};
  const SparseView sparse{values.data(), columns.data(), starts.data(), 8, 8, 2};
  std::vector<float> dense(16);
  for (size_t i = 0; i < 8; ++i) {
    for (auto at = static_cast<size_t>(starts[i]); at < static_cast<size_t>(starts[i + 1]); ++at) {
      dense[2 * i + static_cast<size_t>(columns[at])] = values[at];
    }
  }
  EachOptions options;
  options.k_each = {2, 1, 3};
  const std::vector<int64_t> groups = {0, 3, 4, 8};
  const std::vector<float> initial = {0, 0, 9, 9, 1, 1, 5, 5, 6, 6, 0, 7};
  FitHooks hooks;
  hooks.initial = PointsView(initial.data(), 6, 2);
  const EachResult of_dense = fit_each(PointsView(dense.data(), 8, 2), {}, groups, options, hooks);
  EXPECT_EQ(outcomes(fit_each(sparse.points(), {}, groups, options, hooks)), outcomes(of_dense));
  FitHooks last;
  last.initial = PointsView(initial.data() + 6, 3, 2);
  FitOptions alone;
  alone.k = {3};
  EXPECT_EQ(fit(PointsView(dense.data() + 8, 4, 2), {}, alone, last).digest(), of_dense.fits[2].digest());
  options.k_each = {2, 1, 2};
  EXPECT_THROW(fit_each(PointsView(dense.data(), 8, 2), {}, groups, options, hooks), Error);
  options.k_each = {2, 1, 4};
  EXPECT_THROW(fit_each(PointsView(dense.data(), 8, 2), {}, groups, options, hooks), Error);
}

TEST(FitEach, ErrorsNameTheProblem) {
  struct Wrong {
    std::function<void(Batch&)> spoil;
    std::string expected;
  };
  const auto set_value = [](Batch& batch, int64_t row, float value) {
    reinterpret_cast<float*>(batch.rows.bytes.data())[3 * row] = value;
  };
  const std::vector<Wrong> all = {
      {[](Batch& b) { b.groups = {0}; }, "2 [groups] 1 offsets"},
      {[](Batch& b) { b.groups.clear(); }, "2 [groups] 0 offsets"},
      {[](Batch& b) { b.groups[2] = 9; }, "2 [problem 1] [groups] its offsets are 10 and 9"},
      {[](Batch& b) { b.groups[1] = -1; }, "2 [problem 0] [groups] its offsets are 0 and -1"},
      {[](Batch& b) { b.groups[4] = 41; }, "2 [problem 3] [groups] its offsets are 30 and 41"},
      {[](Batch& b) { b.groups[4] = 39; }, "2 [groups] they go from 0 to 39; the first must be 0, the last 40"},
      {[](Batch& b) { b.groups[0] = 1; }, "2 [groups] they go from 1 to 40"},
      {[](Batch& b) { b.groups[2] = 10; }, "3 [problem 1] [points]"},
      {[](Batch& b) { b.options.k = {11}; },
       "2 [problem 0] [k] 11 clusters were asked for, but there are only 10 rows"},
      {[](Batch& b) { b.options.k = {0}; }, "2 [k] 0 is out of range"},
      {[](Batch& b) { b.options.k_each = {1, 2, 0, 12}; }, "2 [problem 2] [k] 0 is out of range"},
      {[](Batch& b) { b.options.k_each = {1, 2, 12, 0}; }, "2 [problem 2] [k] 12 clusters were asked for"},
      {[](Batch& b) { b.options.k_each = {1, 2}; }, "2 [k_each] has 2 numbers; one for each of the 4 problems"},
      {[](Batch& b) { b.options.seed_each = {1}; }, "2 [seed_each] has 1 numbers"},
      {[](Batch& b) { b.rows.weights = {1}; }, "2 [weights] has 1 numbers; one for each of the 40 rows"},
      {[](Batch& b) { b.options.max_iter = -1; }, "2 [max_iter] -1 is negative"},
      {[](Batch& b) { b.options.backend = "none"; }, "2 [backend] there is no backend 'none'"},
      {[](Batch& b) { b.options.model_seed = 1, b.options.seed_each = {1, 2, 3, 4}; }, "2 [model_seed] it takes"},
      {[&](Batch& b) { set_value(b, 25, NAN); }, "3 [problem 2] [points] row 6, column 1"},
      {[&](Batch& b) { set_value(b, 39, INFINITY), set_value(b, 12, NAN); }, "3 [problem 1] [points] row 3, column 1"},
  };
  for (const Wrong& wrong : all) {
    for (const int threads : {1, 4}) {
      Batch batch = plain_batch(4, 10, threads);
      wrong.spoil(batch);
      const std::string found = error_of(batch);
      EXPECT_EQ(found.substr(0, wrong.expected.size()), wrong.expected) << found;
    }
  }
}

TEST(FitEach, ErrorsCarryTheNumberOfTheProblem) {
  Batch batch = plain_batch(4, 10);
  batch.options.k_each = {1, 2, 12, 0};
  try {
    fit_batch(batch);
    FAIL();
  } catch (const ProblemError& error) {
    EXPECT_EQ(error.problem(), 2);
    EXPECT_EQ(std::string(error.text()).substr(0, 5), "[k] 1");
    EXPECT_EQ(std::string("[problem 2] ") + error.text(), error.what());
  }
  batch.groups[2] = 9;
  EXPECT_THROW(fit_batch(batch), ProblemError);
  batch.groups = {0};
  try {
    fit_batch(batch);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(dynamic_cast<const ProblemError*>(&error), nullptr);
  }
}

TEST(FitEach, EqualGroupsRefuseWhatCannotBe) {
  EXPECT_EQ(equal_groups(3, 5), (std::vector<int64_t>{0, 5, 10, 15}));
  EXPECT_EQ(equal_groups(0, 5), std::vector<int64_t>{0});
  EXPECT_THROW(equal_groups(-1, 5), Error);
  EXPECT_THROW(equal_groups(1, -5), Error);
  EXPECT_THROW(equal_groups(int64_t{1} << 40, int64_t{1} << 30), Error);
}

TEST(FitEach, SkippedProblemsChangeNoOther) {
  const Batch whole = plain_batch(30, 12);
  const std::vector<std::string> expected = outcomes(fit_batch(whole));
  Batch bad = whole;
  bad.options.errors = ProblemErrors::kSkip;
  bad.options.k_each.assign(30, 3);
  bad.options.k_each[4] = 13;
  bad.options.k_each[7] = -1;
  reinterpret_cast<float*>(bad.rows.bytes.data())[3 * 12 * 20 + 1] = NAN;
  for (const int threads : {1, 2, 5}) {
    bad.options.threads = threads;
    const EachResult result = fit_batch(bad);
    ASSERT_EQ(result.errors.size(), 3U);
    EXPECT_EQ(result.errors[0].problem(), 4);
    EXPECT_EQ(result.errors[1].problem(), 7);
    EXPECT_EQ(result.errors[2].problem(), 20);
    EXPECT_EQ(result.errors[2].code(), ErrorCode::kBadData);
    EXPECT_NE(std::string(result.errors[0].text()).find("[k] 13 clusters were asked for"), std::string::npos);
    const std::vector<std::string> found = outcomes(result);
    for (size_t b = 0; b < 30; ++b) {
      if (b == 4 || b == 7 || b == 20) continue;
      EXPECT_EQ(found[b], expected[b]) << b;
    }
  }
  Batch unknown = bad;
  unknown.options.algorithm = "x";  // which no problem can have
  EXPECT_EQ(error_of(unknown, {}).substr(0, 36), "2 [algorithm] there is no algorithm ");
  bad.groups[2] = 0;
  EXPECT_THROW(fit_batch(bad), Error);  // offsets that descend are an error of the call
}

TEST(FitEach, ReportsAndStops) {
  for (const int threads : {1, 3}) {
    const Batch batch = plain_batch(20, 30, threads);
    std::vector<int64_t> seen;
    FitHooks hooks;
    hooks.progress = [&](const Progress& progress) {
      EXPECT_EQ(progress.phase, "problems");
      EXPECT_EQ(progress.max_iteration, 20);
      EXPECT_EQ(progress.active_models, 20 - progress.iteration);
      seen.push_back(progress.iteration);
      return true;
    };
    EXPECT_FALSE(fit_batch(batch, hooks).interrupted);
    std::vector<int64_t> expected(20);
    std::iota(expected.begin(), expected.end(), int64_t{1});
    EXPECT_EQ(seen, expected);
    hooks.pause = 1e9;
    seen.clear();
    fit_batch(batch, hooks);
    EXPECT_EQ(seen, (std::vector<int64_t>{1, 20}));

    hooks = {};
    hooks.progress = [](const Progress& progress) { return progress.iteration < 5; };
    const EachResult stopped = fit_batch(batch, hooks);
    EXPECT_TRUE(stopped.interrupted);
    const auto begun = std::ranges::count_if(stopped.fits, [](const FitResult& fit) { return !fit.models.empty(); });
    EXPECT_GE(begun, 5);
    EXPECT_LE(begun, 5 + threads);
    EXPECT_TRUE(stopped.fits.back().interrupted);
  }
}

TEST(FitEach, FlagsAndTimeLimit) {
  Batch batch = plain_batch(20, 30);
  const std::atomic<bool> set{true};
  FitHooks hooks;
  hooks.cancel = &set;
  EXPECT_TRUE(fit_batch(batch, hooks).interrupted);
  hooks = {};
  hooks.abort = &set;
  EXPECT_EQ(error_of(batch, hooks).substr(0, 9), "5 [abort]");
  batch.options.errors = ProblemErrors::kSkip;
  EXPECT_EQ(error_of(batch, hooks).substr(0, 9), "5 [abort]");
  batch.options.time_limit = 1e-9;
  const EachResult result = fit_batch(batch);
  EXPECT_TRUE(result.interrupted);
  for (const FitResult& fit : result.fits) {
    EXPECT_NE(fit.models.at(0).stop_reason, StopReason::kNotBegun);
    EXPECT_EQ(fit.provenance.options.time_limit, 1e-9);
    EXPECT_EQ(fit.provenance.options.threads, batch.options.threads);
  }
}

TEST(FitEach, GoesOnFromItsCheckpoint) {
  const Folder folder;
  int64_t resumed = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Batch batch = random_batch(seed);
    const std::vector<std::string> expected = outcomes(fit_batch(batch));
    FitHooks hooks;
    hooks.checkpoint = {folder / fmt::format("{}.ckpt", seed), 1, true};
    for (int64_t last = 0; last <= batch.count(); ++last) {  // each run does one problem more
      batch.options.threads = 1 + static_cast<int>(last % 3);
      hooks.progress = [&](const Progress& progress) { return progress.iteration <= last; };
      resumed += fit_batch(batch, hooks).interrupted ? 1 : 0;
    }
    EXPECT_EQ(outcomes(fit_batch(batch, hooks)), expected) << seed;
  }
  EXPECT_GT(resumed, 30);
}

TEST(FitEach, ACheckpointKeepsWhatIsDone) {
  const Folder folder;
  Batch batch = plain_batch(20, 50);
  FitHooks hooks;
  hooks.checkpoint = {folder / "c.ckpt", 1, true};
  const std::vector<std::string> expected = outcomes(fit_batch(batch, hooks));
  const EachResult again = fit_batch(batch, hooks);
  EXPECT_EQ(outcomes(again), expected);
  for (const FitResult& fit : again.fits) EXPECT_LE(fit.provenance.passes, 2) << "the last, and one for the numbers";
  const auto refused = [&](auto&& change) {
    Batch other = batch;
    change(other);
    return error_of(other, hooks);
  };
  EXPECT_NE(refused([](Batch& b) { b.options.tol = 0.5; }).find("tol was 0.0001 and is 0.5"), std::string::npos);
  EXPECT_NE(refused([](Batch& b) { b.groups[1] = 3; }).find("groups was 21 numbers"), std::string::npos);
  EXPECT_NE(refused([](Batch& b) { b.options.seed_each.assign(20, 1); }).find("seed_each was 0 numbers"),
            std::string::npos);
  EXPECT_NE(refused([](Batch& b) { b.rows.bytes[0] ^= std::byte{1}; }).find("the points have other values"),
            std::string::npos);
  hooks.checkpoint.every = -1;
  EXPECT_EQ(error_of(batch, hooks).substr(0, 9), "2 [every]");
}

// Of one row, too: no problem can have it.
TEST(FitEach, AMemoryLimitThatIsTooLowForAnyFitIsAnErrorOfTheCall) {
  Batch batch = plain_batch(3, 2000);
  batch.options.memory.bytes = 1;
  for (const ProblemErrors errors : {ProblemErrors::kThrow, ProblemErrors::kSkip}) {
    batch.options.errors = errors;
    EXPECT_EQ(error_of(batch).substr(0, 12), "4 [memory] 1");
  }
}

}  // namespace
}  // namespace manymeans
