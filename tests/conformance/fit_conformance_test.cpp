// Whole fits: the digest of every backend equals that of the reference, whatever is chosen for speed.
#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "backend/device/async_backend.h"
#include "conformance/cases.h"
#include "conformance/fit_cases.h"
#include "conformance/variants.h"
#include "core/hostile_environment.h"
#include "engine/tuned.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace manymeans::test {
namespace {

constexpr std::array<int, 4> kThreads = {1, 2, 3, 7};
constexpr std::array<const char*, 5> kAlgorithms = {"brute", "bounds", "matrix", "auto", "kdtree"};

// What a fit says: its digest and warnings, or its error.
std::string outcome(const Case& made, const FitOptions& options, const FitHooks& hooks, const Tuning& tuning = {}) {
  try {
    const FitResult result = fit_tuned(made.points(), made.weights, options, hooks, tuning);
    std::string text = result.digest();
    for (const ModelResult& model : result.models) {
      text += fmt::format(" {}:{}:{}", model.k, model.iterations, name_of(model.stop_reason));
    }
    std::vector<std::string> warnings = result.warnings;
    // What an algorithm has to do without is the backend's, not the answer's.
    std::erase_if(warnings, [](const std::string& warning) { return warning.starts_with("algorithm "); });
    std::sort(warnings.begin(), warnings.end());
    for (const std::string& warning : warnings) text += "\n" + warning;
    return text;
  } catch (const Error& error) {
    return error.what();
  }
}

std::vector<std::string> other_backends() {
  std::vector<std::string> names;
  for (const Target& target : targets()) {
    if (names.empty() || names.back() != target.backend) names.push_back(target.backend);
  }
  return names;
}

class FitConformance : public testing::Test {
 protected:
  void SetUp() override {
    if (backends_.empty() && !has_async_) GTEST_SKIP() << "there is no backend to compare with the reference";
  }

  // One fit by the reference, then by every backend with all strategies.
  void compare(const Case& made, FitOptions options, const FitHooks& hooks = {}) {
    options.backend = "reference";
    options.algorithm = "auto";
    const std::string expected = outcome(made, options, hooks);
    if (has_async_) compare_late(made, options, hooks, expected);
    for (const std::string& backend : backends_) {
      options.backend = backend;
      for (const Strategy strategy : kStrategies) {
        options.strategy = strategy;
        options.threads = kThreads[(compared_ / 16 + compared_) % kThreads.size()];
        // Only the cpu backend looks at it; its instruction sets take turns.
        const std::string& set = targets_[(compared_ / 5) % targets_.size()].instruction_set;
        if (!set.empty()) setenv("MANYMEANS_CPU_ISA", set.c_str(), 1);
        options.algorithm = kAlgorithms[(compared_ / 4 + compared_) % kAlgorithms.size()];
        if (!takes(backend, options.algorithm, made.shape.d)) options.algorithm = "auto";
        Tuning tuning;
        tuning.opencl.slice_rows = compared_ % 3 == 2 ? 128 : 0;
        FitHooks asked = hooks;
        asked.labels = compared_ % 2 == 0 ? LabelsOf::kAll : LabelsOf::kBest;
        EXPECT_EQ(outcome(made, options, asked, tuning), expected)
            << made.name << " init " << options.init << " stop " << options.stop << " empty " << name_of(options.empty)
            << " on " << backend << " " << name_of(strategy) << " " << options.algorithm << " " << options.threads;
        ++compared_;
      }
      compared_ += 2;  // so that strategies, threads and algorithms meet in all combinations
    }
  }

  // A backend that is nothing but backend/device/ and plain loops, on a device that is late.
  void compare_late(const Case& made, FitOptions options, const FitHooks& hooks, const std::string& expected) {
    Tuning tuning;
    tuning.test_backend = make_async_backend;
    options.algorithm = "auto";
    tuning.cuda.slice_rows = late_ % 2 == 0 ? 0 : 50;
    options.strategy = kStrategies[late_++ % kStrategies.size()];
    EXPECT_EQ(outcome(made, options, hooks, tuning), expected)
        << made.name << " init " << options.init << " stop " << options.stop << " empty " << name_of(options.empty)
        << " late, " << name_of(options.strategy) << ", slices of " << tuning.cuda.slice_rows << " rows";
  }

  void TearDown() override { unsetenv("MANYMEANS_CPU_ISA"); }

  std::vector<Target> targets_ = targets();
  std::vector<std::string> backends_ = other_backends();
  size_t compared_ = 0;
  const bool has_async_ = !async_targets().empty();
  size_t late_ = 0;
};

TEST_F(FitConformance, EveryInitStopRuleAndEmptyPolicy) {
  for_each_small_fit([this](const Case& made, const FitOptions& options) {
    compare(made, options);
    return !HasFailure();
  });
  fmt::print("{} comparisons\n", compared_);
}

TEST_F(FitConformance, EveryStopRuleAtItsThreshold) {
  for_each_threshold_fit([this](const Case& made, const FitOptions& options) {
    compare(made, options);
    return !HasFailure();
  });
  fmt::print("{} comparisons\n", compared_);
}

// Models that end in the middle of others' batches, and lose clusters there.
TEST_F(FitConformance, ManyModelsEndAtDifferentIterations) {
  for (const EmptyPolicy empty : kPolicies) {
    for (const char* stop : {"tol", "labels:0.02,shift:0.001", "shift:0.05:0.5", "error:20"}) {
      const Case made = make_case(Family::kDuplicates, DataType::kFloat32, Weighting::kIntegers, {400, 2, {1}}, 77);
      FitOptions options = small_options("random", stop, empty);
      options.k = {2, 4, 6, 9};
      options.models = 4;
      options.max_iter = 40;
      compare(made, options);
      Case spread = make_case(Family::kClusters, DataType::kFloat32, Weighting::kIntegers, {400, 2, {1}}, 78);
      compare(spread, options);
      if (HasFailure()) return;
    }
  }
}

// The instruction sets of the comparisons above are really those that were asked for.
TEST_F(FitConformance, TheForcedInstructionSetIsTheOneInTheProvenance) {
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {500, 3, {8}}, 3);
  FitOptions options = small_options("k-means++", "tol", EmptyPolicy::kFarthest);
  options.backend = "reference";
  const std::string expected = outcome(made, options, {});
  for (const Target& target : targets_) {
    if (target.backend != "cpu") continue;
    setenv("MANYMEANS_CPU_ISA", target.instruction_set.c_str(), 1);
    options.backend = "cpu";
    EXPECT_EQ(fit(made.points(), made.weights, options).provenance.instruction_set, target.instruction_set);
    EXPECT_EQ(outcome(made, options, {}), expected);
  }
}

// Prototypes given so that clusters start empty, are equal, or lie far away.
TEST_F(FitConformance, GivenPrototypesAndEmptyClusters) {
  uint64_t seed = 2000;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kUInt8}) {
    for (int family = 0; family < kFamilies; ++family) {
      for (const EmptyPolicy empty : kPolicies) {
        const auto weighting = static_cast<Weighting>(seed % kWeightings);
        Case made = make_case(static_cast<Family>(family), type, weighting, {150, 3, {12}}, seed++);
        FitHooks hooks;
        hooks.initial = made.prototypes[0].view();
        const FitOptions options = given_options(empty);
        compare(made, options, hooks);
      }
    }
    if (HasFailure()) return;
  }
  fmt::print("{} comparisons\n", compared_);
}

// Rows and prototypes of length one. Families with rows of zeros are errors, the same ones everywhere.
TEST_F(FitConformance, MetricCosine) {
  uint64_t seed = 9000;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kUInt8}) {
    for (int family = 0; family < kFamilies; ++family) {
      const auto weighting = static_cast<Weighting>(seed % kWeightings);
      FitOptions options = small_options(seed % 2 == 0 ? "k-means++" : "random", "tol", kPolicies[seed % 4]);
      options.metric = Metric::kCosine;
      compare(make_case(static_cast<Family>(family), type, weighting, {300, 1 + static_cast<int64_t>(seed % 9), {12}},
                        seed),
              options);
      ++seed;
    }
    if (HasFailure()) return;
  }
  const Case large = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {6000, 24, {1}}, 78);
  FitOptions options = small_options("k-means++", "tol,labels:0.001", EmptyPolicy::kFarthest);
  options.metric = Metric::kCosine;
  options.k = {40};
  compare(large, options);
  fmt::print("{} comparisons\n", compared_);
}

// Clusters of given sizes: the backends only say distances.
TEST_F(FitConformance, Balanced) {
  uint64_t seed = 9500;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    for (int family = 0; family < kFamilies; ++family) {
      const auto weighting = static_cast<Weighting>(seed % kWeightings);
      FitOptions options = small_options("k-means++", seed % 3 == 0 ? "inertia:0.01" : "tol", kPolicies[seed % 2]);
      options.min_size = static_cast<int64_t>(seed % 3) * 5;
      options.max_size = seed % 4 == 0 ? 0 : 100;
      options.k = {3, 8};
      options.models = 1;
      if (seed % 5 == 0) options.metric = Metric::kCosine;
      compare(
          make_case(static_cast<Family>(family), type, weighting, {200, 1 + static_cast<int64_t>(seed % 5), {1}}, seed),
          options);
      ++seed;
    }
    if (HasFailure()) return;
  }
  fmt::print("{} comparisons\n", compared_);
}

TEST_F(FitConformance, RandomCasesToTheEnd) {
  for (uint64_t seed = 5000; seed < 5060; ++seed) {
    const Case made = random_case(seed);
    FitOptions options;
    options.k = {made.shape.k[0]};
    options.seed = seed;
    options.max_iter = 20;
    options.tol = 0;
    if (made.shape.n * made.shape.d * made.shape.k[0] > 300000) options.max_iter = 3;
    compare(made, options);
    if (HasFailure()) return;
  }
  fmt::print("{} comparisons\n", compared_);
}

TEST_F(FitConformance, TheCallersRoundingAndFlushingDoNotMatter) {
  for (const Family family : {Family::kClusters, Family::kTiny, Family::kRanges, Family::kOffset}) {
    const Case made = make_case(family, DataType::kFloat32, Weighting::kRanges, {700, 5, {6}}, 31);
    for (std::string backend : {"reference", "cpu"}) {
      FitOptions options = small_options("k-means++", "tol", EmptyPolicy::kFarthest);
      options.backend = backend;
      options.threads = 3;
      const std::string expected = outcome(made, options, {});
      std::string found;
      bool restored = false;
      {
        const HostileEnvironment caller;
        found = outcome(made, options, {});
        restored = caller.still_holds();
      }
      EXPECT_EQ(found, expected) << made.name << " on " << backend;
      EXPECT_TRUE(restored) << backend;
    }
  }
}

// The same rows in another order.
Case permuted(const Case& made, const std::vector<int64_t>& order) {
  Case result = made;
  const size_t row_bytes = made.bytes.size() / order.size();
  for (size_t i = 0; i < order.size(); ++i) {
    const auto from = static_cast<size_t>(order[i]);
    std::memcpy(result.bytes.data() + i * row_bytes, made.bytes.data() + from * row_bytes, row_bytes);
    if (!made.weights.empty()) result.weights[i] = made.weights[from];
  }
  return result;
}

TEST_F(FitConformance, APermutationOfTheRowsGivesTheSamePrototypes) {
  std::mt19937_64 random(9);
  for (const Family family : {Family::kClusters, Family::kOffset, Family::kOutlier, Family::kRanges, Family::kSpread}) {
    for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
      const Case made = make_case(family, type, Weighting::kRanges, {3001, 4, {9}}, 91);
      std::vector<int64_t> order(3001);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      const Case shuffled = permuted(made, order);
      FitOptions options;
      options.k = {9};
      options.max_iter = 15;
      options.tol = 0;
      options.threads = 3;
      options.empty = EmptyPolicy::kKeep;
      FitHooks hooks;
      hooks.initial = made.prototypes[0].view();
      for (std::string backend : {"reference", "cpu"}) {
        options.backend = backend;
        const ModelResult a = fit(made.points(), made.weights, options, hooks).models[0];
        const ModelResult b = fit(shuffled.points(), shuffled.weights, options, hooks).models[0];
        EXPECT_TRUE(std::ranges::equal(a.prototypes.bytes(), b.prototypes.bytes())) << made.name << " " << backend;
        EXPECT_EQ(a.inertia, b.inertia);
        EXPECT_EQ(a.iterations, b.iterations);
        for (size_t i = 0; i < order.size(); ++i) {
          ASSERT_EQ(b.labels[static_cast<int64_t>(i)], a.labels[order[i]]);
        }
      }
    }
  }
}

// A member seed reproduces its model alone, on any backend.
TEST_F(FitConformance, AModelAloneHasTheDigestItHasInItsEnsemble) {
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {2000, 3, {8}}, 12);
  FitOptions options = small_options("k-means++", "tol", EmptyPolicy::kFarthest);
  options.backend = "cpu";
  const FitResult ensemble = fit(made.points(), made.weights, options);
  ASSERT_EQ(ensemble.models.size(), 6u);
  for (const ModelResult& model : ensemble.models) {
    FitOptions alone = options;
    alone.k = {model.k_requested};
    alone.models = 1;
    alone.model_seed = model.seed;
    for (const char* backend : {"cpu", "reference"}) {
      alone.backend = backend;
      EXPECT_EQ(fit(made.points(), made.weights, alone).models[0].digest(), model.digest());
    }
  }
}

}  // namespace
}  // namespace manymeans::test
