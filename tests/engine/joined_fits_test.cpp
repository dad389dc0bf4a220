// Common passes of many problems give the digests of single fits.
#include "engine/joined_fits.h"

#include "backend/device/async_backend.h"
#include "conformance/cases.h"
#include "conformance/fit_cases.h"
#include "engine/problem_batch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>

namespace manymeans {
namespace {

using Batch = test::ProblemBatch;
using test::one_of;

// Ragged groups of any type, with any options that common passes take.
Batch random_batch(uint64_t seed) {
  std::mt19937_64 random(seed);
  Batch batch;
  const size_t problems = 2 + random() % 12;
  const uint64_t most = one_of<uint64_t>(random, {6, 20, 120, 400});
  for (size_t b = 0; b < problems; ++b) {
    batch.groups.push_back(batch.groups.back() + 1 + static_cast<int64_t>(random() % most));
  }
  const int64_t d = one_of<int64_t>(random, {1, 2, 3, 7, 16, 40, 128});
  batch.rows =
      test::make_case(static_cast<test::Family>(random() % test::kFamilies), static_cast<DataType>(random() % 6),
                      test::Weighting::kNone, {batch.groups.back(), d, {1}}, seed);
  EachOptions& options = batch.options;
  options.backend = "reference";
  options.k = one_of<std::vector<int64_t>>(random, {{1}, {2}, {3}, {5}, {1, 2}, {4, 2, 3}});
  options.models = one_of<int64_t>(random, {1, 1, 3});
  options.seed = random();
  options.init = one_of<const char*>(random, {"auto", "k-means++", "k-means||", "random", "first"});
  options.max_iter = one_of<int64_t>(random, {0, 1, 5, 300});
  options.tol = one_of(random, {0.0, 1e-4, 0.1});
  options.stop = one_of<const char*>(random, {"tol", "strict", "labels:0.05", "shift:0.1"});
  options.empty = test::kPolicies[random() % test::kPolicies.size()];
  const uint64_t most_clusters = d <= 8 && most == 400 ? 300 : 5;  // labels of one byte, or of two
  for (size_t b = 0; seed % 3 == 0 && b < problems; ++b) {
    options.k_each.push_back(1 + static_cast<int64_t>(random() % most_clusters));
  }
  return batch;
}

TEST(JoinedFits, GiveTheDigestsOfSingleFits) {
  const std::unique_ptr<Backend> backend = test::make_async_backend({});
  int64_t joined = 0, left = 0, batches = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Batch batch = random_batch(seed);
    const Problems problems(batch.rows.points(), {}, batch.groups, batch.options, {});
    std::vector<int64_t> all(static_cast<size_t>(problems.count()));
    std::iota(all.begin(), all.end(), int64_t{0});
    FitHooks hooks;
    hooks.labels = seed % 2 == 0 ? LabelsOf::kAll : LabelsOf::kBest;
    for (const std::vector<int64_t>& group : groups_to_join(*backend, problems, all, batch.options)) {
      const std::vector<FitResult> found = fit_joined(*backend, problems, group, batch.options, hooks);
      left += found.empty() ? 1 : 0;
      for (size_t i = 0; i < found.size(); ++i) {
        const FitResult alone = fit(problems.points(group[i]), {}, problems.options(group[i]), hooks);
        ASSERT_EQ(found[i].digest(), alone.digest()) << seed << " " << batch.rows.name << ", problem " << group[i];
        EXPECT_EQ(found[i].warnings, alone.warnings) << seed;
        EXPECT_EQ(found[i].ranges.minimum, alone.ranges.minimum);
        for (size_t m = 0; m < alone.models.size(); ++m) {
          EXPECT_EQ(found[i].models[m].labels.size(), alone.models[m].labels.size()) << seed;
          EXPECT_EQ(found[i].models[m].stop_reason, alone.models[m].stop_reason);
        }
        ++joined;
      }
    }
    ++batches;
  }
  EXPECT_GT(joined, 800);
  EXPECT_LT(left, batches / 2);  // an error of one, or sums that are not exact
}

// An update on the device may have given a row to an empty cluster when the caller ends the fit.
TEST(JoinedFits, EmptyClustersGetRows) {
  constexpr int64_t kProblems = 20, kRows = 200, kColumns = 3, kClusters = 5;
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(kProblems * kRows * kColumns), initial(kProblems * kClusters * kColumns);
  for (float& value : x) value = normal(random);
  for (size_t i = 0; i < initial.size(); ++i) {
    initial[i] = i / kColumns % kClusters == 2 ? 1000 : normal(random);  // cluster 2 becomes empty
  }
  Batch batch;
  for (int64_t b = 0; b < kProblems; ++b) batch.groups.push_back((b + 1) * kRows);
  batch.options.backend = "reference";
  batch.options.k = {kClusters};
  const PointsView points(x.data(), kProblems * kRows, kColumns);
  const PointsView given(initial.data(), kProblems * kClusters, kColumns);
  std::vector<int64_t> all(kProblems);
  std::iota(all.begin(), all.end(), int64_t{0});
  FitHooks hooks;
  hooks.labels = LabelsOf::kAll;
  std::atomic<bool> cancelled = true;
  hooks.cancel = &cancelled;
  const std::unique_ptr<Backend> backend = test::make_async_backend({});
  for (const bool ends : {true, false}) {
    cancelled = ends;
    batch.options.stop = ends ? "shift:10:0.5" : "strict";  // with the first one, the first update may be the last one
    const Problems problems(points, {}, batch.groups, batch.options, given);
    const std::vector<FitResult> found = fit_joined(*backend, problems, all, batch.options, hooks);
    ASSERT_EQ(std::ssize(found), kProblems);
    for (int64_t b = 0; b < kProblems; ++b) {
      const FitResult& fitted = found[static_cast<size_t>(b)];
      ASSERT_EQ(fitted.models[0].stop_reason, ends ? StopReason::kInterrupted : StopReason::kStrict);
      FitOptions options = problems.options(b);
      options.max_iter = fitted.models[0].iterations + (ends ? 0 : 1);
      FitHooks alone;
      alone.initial = problems.initial(b);
      EXPECT_EQ(fitted.digest(), fit(problems.points(b), {}, options, alone).digest()) << b;
    }
  }
}

// Updates on the device give rows to empty clusters in any pass, also in the last ones, and where states come back.
TEST(JoinedFits, EmptyClustersOfManyKindsGetRows) {
  const std::unique_ptr<Backend> backend = test::make_async_backend({});
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const int64_t problems_count = 30, d = 1 + static_cast<int64_t>(random() % 3);
    const auto k = one_of<int64_t>(random, {2, 4, 7});
    Batch batch;
    for (int64_t b = 0; b < problems_count; ++b) {
      batch.groups.push_back(batch.groups.back() + k + static_cast<int64_t>(random() % 30));
    }
    std::vector<float> x(static_cast<size_t>(batch.groups.back() * d)), initial;
    for (float& value : x) value = static_cast<float>(random() % 8);
    for (int64_t i = 0; i < problems_count * k; ++i) {
      const float far = random() % 3 == 0 ? 40 : 0;
      for (int64_t j = 0; j < d; ++j) initial.push_back(far + static_cast<float>(random() % 8));
    }
    batch.options.backend = "reference";
    batch.options.k = {k};
    batch.options.stop = one_of<const char*>(random, {"strict", "tol", "labels:0.1", "shift:1:0.5", "shift:0.2"});
    batch.options.tol = 0.1;
    batch.options.max_iter = one_of<int64_t>(random, {2, 3, 300});
    const PointsView given(initial.data(), problems_count * k, d);
    const Problems problems(PointsView(x.data(), batch.groups.back(), d), {}, batch.groups, batch.options, given);
    std::vector<int64_t> all(static_cast<size_t>(problems_count));
    std::iota(all.begin(), all.end(), int64_t{0});
    FitHooks hooks;
    hooks.labels = LabelsOf::kAll;
    const std::vector<FitResult> found = fit_joined(*backend, problems, all, batch.options, hooks);
    ASSERT_EQ(std::ssize(found), problems_count);
    for (int64_t b = 0; b < problems_count; ++b) {
      FitHooks alone;
      alone.initial = problems.initial(b);
      const FitResult expected = fit(problems.points(b), {}, problems.options(b), alone);
      ASSERT_EQ(found[static_cast<size_t>(b)].digest(), expected.digest()) << seed << ", problem " << b;
      ASSERT_EQ(found[static_cast<size_t>(b)].warnings, expected.warnings) << seed << ", problem " << b;
    }
  }
}

}  // namespace
}  // namespace manymeans
