#include "engine/stability.h"

#include <manymeans/compare.h>
#include <manymeans/error.h>

#include "core/random.h"
#include "engine/row_pairs.h"
#include "engine/valley.h"
#include "io/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

std::vector<float> three_clusters(int64_t n) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(normal(random) + 7 * static_cast<float>(i % 3));
    values.push_back(normal(random));
  }
  return values;
}

ChooseOptions options_of(int64_t bootstraps) {
  ChooseOptions options;
  options.fit.k = {2, 3, 4, 5};
  options.fit.models = 4;
  options.fit.seed = 9;
  options.references = 0;
  options.bootstraps = bootstraps;
  options.sample = 0;
  return options;
}

std::map<int64_t, Stability> find(const std::vector<float>& values, const ChooseOptions& options) {
  ThreadPool pool(options.fit.threads == 0 ? 2 : options.fit.threads);
  const PointsView points(values.data(), std::ssize(values) / 2, 2);
  const auto found = find_stability(points, options, {}, TimeLeft(0), pool);
  EXPECT_TRUE(found);
  return found.value_or(std::map<int64_t, Stability>());
}

// What is between the fits looks at the pool's flag, too.
TEST(Stability, AStopIsSeenBetweenTheFits) {
  const std::vector<float> values = three_clusters(200);
  const ChooseOptions options = options_of(2);
  std::atomic<bool> stop = false;
  ThreadPool pool(1, &stop);
  const PointsView points(values.data(), std::ssize(values) / 2, 2);
  FitHooks hooks;
  hooks.progress = [&](const Progress&) { return stop = true; };
  expect_error(ErrorCode::kInterrupted, {}, [&] { find_stability(points, options, hooks, TimeLeft(0), pool); });
}

// One member, as the contract says: the rows that it sees, and the best of its models.
struct TextbookMember {
  std::vector<float> rows;
  FitResult fitted;
  PredictOptions by;

  TextbookMember(const std::vector<float>& values, const ChooseOptions& options, uint32_t split, uint64_t side) {
    for (size_t i = 0; i < values.size() / 2; ++i) {
      const uint64_t u = random_u64(options.fit.seed, i, split, Purpose::kMaskedRow);
      if (u >> 63 != side) continue;
      rows.push_back(values[2 * i]);
      rows.push_back(values[2 * i + 1]);
    }
    by.metric = options.fit.metric;
    FitOptions how = options.fit;
    how.models = 2;  // a third of 4
    how.seed = random_u64(options.fit.seed, 2 * split + side, 0, Purpose::kDrawSeed);
    fitted = fit(view(), {}, how);
  }
  PointsView view() const { return {rows.data(), std::ssize(rows) / 2, 2}; }
  std::vector<int64_t> labels(int64_t k, const PointsView& points) const {
    const Matrix& prototypes = fitted.models[static_cast<size_t>(fitted.best(k))].prototypes;
    const Labels found = predict(points, prototypes.view(), by).labels;
    std::vector<int64_t> all;
    for (int64_t row = 0; row < found.size(); ++row) all.push_back(found[row]);
    return all;
  }
};

// The valley of a member's clusters in rows that it does not see.
double depth(const TextbookMember& member, int64_t k, const TextbookMember& other) {
  ThreadPool pool(1);
  const bool angles = member.by.metric == Metric::kCosine;
  const Matrix unit = angles ? rows_of_length_one(other.view()) : Matrix();
  const FitResult& fitted = member.fitted;
  return valley(angles ? unit.view() : other.view(), fitted.models[static_cast<size_t>(fitted.best(k))].prototypes,
                pool);
}

// Pair by pair.
double strength(const std::vector<int64_t>& own, const std::vector<int64_t>& others, int64_t k) {
  double least = 1;
  for (int64_t cluster = 0; cluster < k; ++cluster) {
    int64_t pairs = 0, together = 0;
    for (size_t a = 0; a < own.size(); ++a) {
      for (size_t b = 0; b < own.size(); ++b) {
        if (a == b || own[a] != cluster || own[b] != cluster) continue;
        ++pairs;
        together += others[a] == others[b];
      }
    }
    if (pairs > 0) least = std::min(least, static_cast<double>(together) / static_cast<double>(pairs));
  }
  return least;
}

class StabilityBy : public testing::TestWithParam<Metric> {};

INSTANTIATE_TEST_SUITE_P(All, StabilityBy, testing::Values(Metric::kEuclidean, Metric::kCosine));

TEST_P(StabilityBy, IsThatOfTheTextbook) {
  const std::vector<float> values = three_clusters(200);
  ChooseOptions options = options_of(4);
  options.fit.metric = GetParam();
  const std::map<int64_t, Stability> found = find(values, options);
  ASSERT_EQ(found.size(), 4u);
  for (const auto& [k, its] : found) {
    std::vector<double> strengths, agreements, valleys;
    CoAssociation together;
    for (uint32_t split = 0; split < 2; ++split) {
      const TextbookMember a(values, options, split, 0), b(values, options, split, 1);
      const auto aa = a.labels(k, a.view()), ab = b.labels(k, a.view());
      const auto ba = a.labels(k, b.view()), bb = b.labels(k, b.view());
      strengths.push_back((strength(aa, ab, k) + strength(bb, ba, k)) / 2);
      valleys.push_back((depth(a, k, b) + depth(b, k, a)) / 2);
      std::vector<int64_t> all_a = aa, all_b = ab;
      all_a.insert(all_a.end(), ba.begin(), ba.end());
      all_b.insert(all_b.end(), bb.begin(), bb.end());
      agreements.push_back(compare_labels(all_a, all_b).adjusted_rand);
      RowPairs pairs(200, 10'000, options.fit.seed);
      const std::vector<int64_t> rows = pairs.next(pairs.size());
      for (const TextbookMember* member : {&a, &b}) {
        const auto labels = member->labels(k, {values.data(), 200, 2});
        std::vector<uint32_t> of_rows;
        for (const int64_t row : rows) of_rows.push_back(static_cast<uint32_t>(labels[static_cast<size_t>(row)]));
        together.add_member(of_rows);
      }
    }
    EXPECT_DOUBLE_EQ(its.prediction_strength, (strengths[0] + strengths[1]) / 2) << k;
    EXPECT_DOUBLE_EQ(its.stability, (agreements[0] + agreements[1]) / 2) << k;
    EXPECT_NEAR(its.stability_error, std::abs(agreements[0] - agreements[1]) / 2, 1e-15) << k;
    EXPECT_EQ(its.pac, together.ambiguous()) << k;
    EXPECT_DOUBLE_EQ(its.valley, (valleys[0] + valleys[1]) / 2) << k;
  }
}

TEST(Stability, IsTheSameOnEveryBackendAndNumberOfThreads) {
  const std::vector<float> values = three_clusters(300);
  ChooseOptions options = options_of(6);
  options.fit.threads = 1;
  const std::map<int64_t, Stability> one = find(values, options);
  for (const char* backend : {"cpu", "reference"}) {
    options.fit.backend = backend;
    options.fit.threads = 3;
    for (const auto& [k, its] : find(values, options)) {
      EXPECT_EQ(std::bit_cast<uint64_t>(its.prediction_strength),
                std::bit_cast<uint64_t>(one.at(k).prediction_strength));
      EXPECT_EQ(std::bit_cast<uint64_t>(its.stability), std::bit_cast<uint64_t>(one.at(k).stability));
      EXPECT_EQ(std::bit_cast<uint64_t>(its.pac), std::bit_cast<uint64_t>(one.at(k).pac));
      EXPECT_EQ(std::bit_cast<uint64_t>(its.valley), std::bit_cast<uint64_t>(one.at(k).valley));
    }
  }
}

TEST(Stability, TellsTheNumberOfClusters) {
  const std::vector<float> values = three_clusters(600);
  const ChosenK found = choose_k({values.data(), 600, 2}, options_of(20));
  for (const Evidence& its : found.evidence) {
    EXPECT_EQ(its.prediction_strength >= 0.8, its.k == 1 || its.k == 3) << its.k;
    EXPECT_EQ(its.stability > 0.95, its.k == 3) << its.k;
    EXPECT_EQ(its.pac < 0.01, its.k == 3) << its.k;
    if (its.k >= 3) EXPECT_EQ(its.valley >= 0.7, its.k == 3) << its.k;
  }
  for (const char* name : {"prediction_strength", "stability", "pac", "valley"}) {
    const auto vote = std::ranges::find(found.votes, name, &Vote::criterion);
    ASSERT_NE(vote, found.votes.end()) << name;
    EXPECT_EQ(vote->k, 3) << name;
  }
}

// Fewer rows than clusters in a half: there is nothing to say of this k.
TEST(Stability, OfMoreClustersThanAMemberSeesRows) {
  const std::vector<float> values = three_clusters(12);
  ChooseOptions options = options_of(10);
  options.fit.k = {2, 12};
  const std::map<int64_t, Stability> found = find(values, options);
  EXPECT_EQ(found.count(2), 1u);
  EXPECT_EQ(found.count(12), 0u);
  const ChosenK chosen = choose_k({values.data(), 12, 2}, options);
  EXPECT_TRUE(std::isnan(chosen.evidence.back().stability));
  EXPECT_FALSE(std::isnan(chosen.evidence[1].stability));
}

TEST(Stability, RefusesOddNumbersAndSizesOfClusters) {
  const std::vector<float> values = three_clusters(50);
  for (const int64_t number : {-2, 3, 1002}) {
    expect_error(ErrorCode::kUsage, {"bootstraps"}, [&] { choose_k({values.data(), 50, 2}, options_of(number)); });
  }
  ChooseOptions options = options_of(2);
  options.fit.min_size = 3;
  expect_error(ErrorCode::kUsage, {"bootstraps"}, [&] { choose_k({values.data(), 50, 2}, options); });
}

}  // namespace
}  // namespace manymeans::test
