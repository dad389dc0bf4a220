#include <manymeans/compare.h>
#include <manymeans/consensus.h>
#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "io/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace manymeans::test {
namespace {

// Round clusters, apart by some deviations, of which each has fewer rows than the one before.
struct Planted {
  std::vector<float> values;
  std::vector<int64_t> truth;
  int64_t n = 0;

  Planted(int64_t rows, int64_t k, float apart, uint64_t seed) : n(rows) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t a = static_cast<int64_t>(random() % static_cast<uint64_t>(k));
      truth.push_back(std::min(a, static_cast<int64_t>(random() % static_cast<uint64_t>(k))));
      values.push_back(normal(random) + apart * static_cast<float>(truth.back() % 5));
      values.push_back(normal(random) + apart * static_cast<float>(truth.back() / 5));
    }
  }
  PointsView view() const { return {values.data(), n, 2}; }
};

FitResult ensemble(const Planted& points, std::vector<int64_t> k, int64_t models, const char* init = "random") {
  FitOptions options;
  options.k = std::move(k);
  options.models = models;
  options.init = init;
  options.seed = 3;
  return fit(points.view(), {}, options);
}

LabelsView view_of(const Labels& labels) {
  return {labels.bytes().data(), labels.size(), labels.width()};
}

std::vector<ConsensusMember> members_of(const FitResult& fitted, bool with_labels) {
  std::vector<ConsensusMember> members;
  for (const ModelResult& model : fitted.models) {
    members.push_back(
        {model.prototypes.view(), model.counts, model.inertia, with_labels ? view_of(model.labels) : LabelsView{}});
  }
  return members;
}

ConsensusOptions of_k(int64_t k) {
  ConsensusOptions options;
  options.k = k;
  return options;
}

// What the contract says, row by row.
void expect_as_in_the_contract(const FitResult& fitted, const std::vector<std::vector<uint32_t>>& votes_for,
                               const Consensus& found) {
  for (int64_t row = 0; row < found.labels.size(); ++row) {
    std::map<uint32_t, uint32_t> votes;
    for (size_t m = 0; m < fitted.models.size(); ++m) ++votes[votes_for[m][fitted.models[m].labels[row]]];
    uint32_t winner = votes.begin()->first;
    for (const auto& [cluster, count] : votes) {
      if (count > votes[winner]) winner = cluster;
    }
    ASSERT_EQ(found.labels[row], winner) << row;
    ASSERT_EQ(found.votes[row], votes[winner]) << row;
  }
}

TEST(Consensus, OfCentroidsIsAsInTheContract) {
  const Planted points(700, 9, 4, 1);
  const FitResult fitted = ensemble(points, {5, 9, 12}, 4);
  const Consensus found = consensus(points.view(), members_of(fitted, false), of_k(9));
  std::vector<float> centroids;
  std::vector<double> weights;
  for (const ModelResult& model : fitted.models) {
    const auto values = model.prototypes.values<float>();
    centroids.insert(centroids.end(), values.begin(), values.end());
    weights.insert(weights.end(), model.counts.begin(), model.counts.end());
  }
  FitOptions how;
  how.k = {9};
  how.models = 10;
  const FitResult of_all = fit({centroids.data(), static_cast<int64_t>(weights.size()), 2}, weights, how);
  const Labels& labels = of_all.models[static_cast<size_t>(of_all.best(9))].labels;
  std::vector<std::vector<uint32_t>> votes_for;
  int64_t centroid = 0;
  for (const ModelResult& model : fitted.models) {
    votes_for.emplace_back();
    for (int64_t k = 0; k < model.k; ++k) votes_for.back().push_back(labels[centroid++]);
  }
  const auto best = static_cast<size_t>(fitted.best(9));
  std::map<uint32_t, uint32_t> numbers;
  std::set<uint32_t> left;
  for (uint32_t turn = 0; turn < 9; ++turn) left.insert(turn);
  std::vector<std::pair<int64_t, uint32_t>> turns;
  for (uint32_t k = 0; k < 9; ++k) turns.emplace_back(-fitted.models[best].counts[k], k);
  std::ranges::sort(turns);
  for (const auto& [rows, k] : turns) {
    if (numbers.emplace(votes_for[best][k], k).second) left.erase(k);
  }
  for (uint32_t cluster = 0; cluster < 9; ++cluster) {
    if (!left.empty() && numbers.emplace(cluster, *left.begin()).second) left.erase(left.begin());
  }
  for (auto& of_model : votes_for) {
    for (uint32_t& cluster : of_model) cluster = numbers.at(cluster);
  }
  expect_as_in_the_contract(fitted, votes_for, found);
  EXPECT_EQ(found.members, 12);
  EXPECT_EQ(found.prototypes.rows(), 9);
  EXPECT_EQ(found.counts.size(), 9u);
}

TEST(Consensus, OfMatchedClustersIsAsInTheContract) {
  const Planted points(600, 8, 4, 2);
  const FitResult fitted = ensemble(points, {8}, 9);
  ConsensusOptions options = of_k(8);
  options.method = ConsensusMethod::kMatched;
  const Consensus found = consensus(points.view(), members_of(fitted, false), options);
  const auto wide = [](const Matrix& prototypes) {
    const auto values = prototypes.values<float>();
    return std::vector<double>(values.begin(), values.end());
  };
  const ModelResult& first = fitted.models[static_cast<size_t>(fitted.best(8))];
  std::vector<std::vector<uint32_t>> votes_for;
  for (const ModelResult& model : fitted.models) {
    votes_for.emplace_back(8);
    for (const PrototypeMatch& match : match_prototypes(wide(first.prototypes), wide(model.prototypes), 2)) {
      votes_for.back()[static_cast<size_t>(match.b)] = static_cast<uint32_t>(match.a);
    }
  }
  expect_as_in_the_contract(fitted, votes_for, found);
}

TEST(Consensus, HasTheNumbersOfTheBestModel) {
  const Planted points(900, 6, 12, 5);
  const FitResult fitted = ensemble(points, {5, 6, 7}, 5, "k-means++");
  const Consensus found = consensus(points.view(), members_of(fitted, true), of_k(6));
  const ModelResult& best = fitted.models[static_cast<size_t>(fitted.best(6))];
  int64_t same = 0;
  for (int64_t row = 0; row < found.labels.size(); ++row) same += found.labels[row] == best.labels[row] ? 1 : 0;
  EXPECT_GT(same, 850);
  for (int64_t k = 0; k < 6; ++k) {
    EXPECT_NEAR(found.prototypes.at(k, 0), best.prototypes.at(k, 0), 1);
    EXPECT_NEAR(found.prototypes.at(k, 1), best.prototypes.at(k, 1), 1);
  }
}

// Threads, backends, blocks of rows and where the labels come from do not matter.
TEST(Consensus, HasOneDigest) {
  const Planted points(3000, 9, 3, 4);
  const FitResult fitted = ensemble(points, {7, 9}, 15);
  for (const ConsensusMethod method : {ConsensusMethod::kCentroids, ConsensusMethod::kMatched}) {
    std::vector<ConsensusMember> members = members_of(fitted, false), labelled = members_of(fitted, true);
    if (method == ConsensusMethod::kMatched) {
      std::erase_if(members, [](const ConsensusMember& its) { return its.prototypes.n != 9; });
      std::erase_if(labelled, [](const ConsensusMember& its) { return its.prototypes.n != 9; });
    }
    ConsensusOptions options = of_k(9);
    options.method = method;
    options.threads = 1;
    const Consensus one = consensus(points.view(), members, options);
    EXPECT_EQ(one.digest().size(), 32u);
    for (const char* backend : {"cpu", "reference"}) {
      options.backend = backend;
      options.threads = backend[0] == 'c' ? 3 : 2;
      const Consensus other = consensus(points.view(), members, options);
      EXPECT_EQ(other.digest(), one.digest());
      EXPECT_EQ(other.between, one.between);
      EXPECT_EQ(other.ambiguous, one.ambiguous);
    }
    EXPECT_EQ(consensus({}, labelled, options).digest(), one.digest());
    EXPECT_EQ(consensus(points.view(), labelled, options).between, one.between);
  }
}

// Blocks of rows: many members have small ones.
TEST(Consensus, OfManyMembersGoesBlockByBlock) {
  const Planted points(2500, 3, 5, 4);
  const FitResult fitted = ensemble(points, {3}, 2);
  std::vector<ConsensusMember> few = members_of(fitted, true), many;
  for (int copy = 0; copy < 1500; ++copy) many.insert(many.end(), few.begin(), few.end());
  ConsensusOptions options = of_k(3);
  options.pairs = 0;
  options.method = ConsensusMethod::kMatched;
  const Consensus one = consensus({}, few, options), other = consensus({}, many, options);
  for (int64_t row = 0; row < points.n; ++row) {
    ASSERT_EQ(one.labels[row], other.labels[row]);
    ASSERT_EQ(1500 * one.votes[row], other.votes[row]);
  }
}

// The members begin from random rows and end in local optima. What they agree on is better than most of them.
TEST(Consensus, IsBetterThanTheMedianMember) {
  for (const uint64_t seed : {1, 2, 3}) {
    const Planted points(3000, 15, 5, 100 + seed);
    const FitResult fitted = ensemble(points, {15}, 25);
    std::vector<double> alone;
    for (const ModelResult& model : fitted.models) {
      std::vector<int64_t> labels;
      for (int64_t row = 0; row < points.n; ++row) labels.push_back(model.labels[row]);
      alone.push_back(compare_labels(labels, points.truth).adjusted_rand);
    }
    std::ranges::sort(alone);
    const Consensus found = consensus(points.view(), members_of(fitted, true), of_k(15));
    std::vector<int64_t> labels;
    for (int64_t row = 0; row < points.n; ++row) labels.push_back(found.labels[row]);
    EXPECT_GT(compare_labels(labels, points.truth).adjusted_rand, alone[12] + 0.02) << seed;
  }
}

TEST(Consensus, ComparesMembersByPairs) {
  const Planted points(60, 4, 4, 2);
  const FitResult fitted = ensemble(points, {3, 4}, 2);
  const Consensus found = consensus(points.view(), members_of(fitted, false), of_k(4));
  EXPECT_EQ(found.pairs, 60 * 59 / 2);
  double sum = 0;
  for (size_t a = 0; a < 4; ++a) {
    for (size_t b = 0; b < 4; ++b) {
      std::vector<int64_t> of_a, of_b;
      for (int64_t row = 0; row < 60; ++row) of_a.push_back(fitted.models[a].labels[row]);
      for (int64_t row = 0; row < 60; ++row) of_b.push_back(fitted.models[b].labels[row]);
      EXPECT_DOUBLE_EQ(found.between[a * 4 + b], compare_labels(of_a, of_b).adjusted_rand);
      if (a < b) sum += found.between[a * 4 + b];
    }
  }
  EXPECT_DOUBLE_EQ(found.mean_between, sum / 6);
  const std::vector<ConsensusMember> alone = {members_of(fitted, true)[0]};
  const Consensus one = consensus({}, alone, of_k(3));
  EXPECT_TRUE(std::isnan(one.mean_between) && std::isnan(one.ambiguous));
  EXPECT_EQ(one.agreement(0), 1);
}

TEST(Consensus, OfDirections) {
  const Planted points(500, 5, 6, 5);
  std::vector<float> moved;
  for (const float value : points.values) moved.push_back(value + 1000);
  FitOptions options;
  options.k = {3};
  options.models = 5;
  options.metric = Metric::kCosine;
  const FitResult fitted = fit({moved.data(), 500, 2}, {}, options);
  ConsensusOptions wanted = of_k(3);
  wanted.metric = Metric::kCosine;
  const Consensus found = consensus({moved.data(), 500, 2}, members_of(fitted, false), wanted);
  EXPECT_EQ(consensus({}, members_of(fitted, true), wanted).digest(), found.digest());
}

TEST(Consensus, RefusesWhatMakesNoSense) {
  const Planted points(100, 4, 4, 2), fewer(50, 4, 4, 2);
  const FitResult fitted = ensemble(points, {3, 4}, 1), small = ensemble(fewer, {3}, 1);
  const std::vector<ConsensusMember> members = members_of(fitted, false), labelled = members_of(fitted, true);
  expect_error(ErrorCode::kUsage, {"there are none"}, [&] { consensus(points.view(), {}, of_k(3)); });
  expect_error(ErrorCode::kUsage, {"are needed: model 0"}, [&] { consensus({}, members, of_k(3)); });
  expect_error(ErrorCode::kUsage, {"100", "50"}, [&] { consensus(fewer.view(), labelled, of_k(3)); });
  expect_error(ErrorCode::kUsage, {"k", "is 0"}, [&] { consensus(points.view(), members, of_k(0)); });
  expect_error(ErrorCode::kUsage, {"7 centroids altogether"}, [&] { consensus(points.view(), members, of_k(8)); });
  ConsensusOptions options = of_k(3);
  options.method = ConsensusMethod::kMatched;
  expect_error(ErrorCode::kUsage, {"model 1 has 4"}, [&] { consensus(points.view(), members, options); });
  options = of_k(3);
  options.pairs = -1;
  expect_error(ErrorCode::kUsage, {"pairs"}, [&] { consensus(points.view(), members, options); });
  std::vector<ConsensusMember> wrong = labelled;
  wrong[0].labels = labelled[1].labels;  // has 3
  expect_error(ErrorCode::kBadData, {"label 3 of model 0"}, [&] { consensus({}, wrong, of_k(3)); });
  wrong = members;
  wrong[1].counts = wrong[0].counts;
  expect_error(ErrorCode::kUsage, {"counts of 3"}, [&] { consensus(points.view(), wrong, of_k(3)); });
  std::vector<float> bad = points.values;
  bad[7] = std::numeric_limits<float>::quiet_NaN();
  expect_error(ErrorCode::kBadData, {"row 4"}, [&] { consensus({bad.data(), 100, 2}, members, of_k(3)); });
  EXPECT_THROW(consensus({bad.data(), 66, 3}, members, of_k(3)), Error);
  const std::atomic<bool> stop = true;
  options = of_k(3);
  options.abort = &stop;
  expect_error(ErrorCode::kInterrupted, {}, [&] { consensus(points.view(), members, options); });
}

TEST(Consensus, MethodsHaveNames) {
  for (const ConsensusMethod method : {ConsensusMethod::kCentroids, ConsensusMethod::kMatched}) {
    EXPECT_EQ(find_named<ConsensusMethod>(name_of(method)), method);
  }
  EXPECT_FALSE(find_named<ConsensusMethod>("vote"));
}

}  // namespace
}  // namespace manymeans::test
