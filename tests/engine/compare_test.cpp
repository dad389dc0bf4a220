#include <manymeans/compare.h>
#include <manymeans/error.h>

#include "io/files.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

namespace manymeans::test {
namespace {

using Labels64 = std::vector<int64_t>;
using Cells = std::vector<LabelCell>;

double adjusted_rand(const Labels64& a, const Labels64& b) {
  const double alone = manymeans::adjusted_rand(a, b);
  EXPECT_EQ(alone, compare_labels(a, b).adjusted_rand);
  return alone;
}

// What sklearn.metrics.adjusted_rand_score says of the same labels (scikit-learn 1.9).
TEST(CompareLabels, AdjustedRandIndexIsThatOfScikitLearn) {
  Labels64 a, b, c;
  for (int64_t i = 0; i < 1000; ++i) {
    a.push_back((i * i + 3 * i) % 7);
    b.push_back((i * i * i + i / 5) % 5);
    c.push_back(i % 10 != 0 ? (i * i + 3 * i) % 7 : i % 3);
  }
  EXPECT_DOUBLE_EQ(adjusted_rand(a, b), -0.0031486177474023855);
  EXPECT_DOUBLE_EQ(adjusted_rand(a, c), 0.841952177498663);
  EXPECT_EQ(adjusted_rand(a, a), 1);
  EXPECT_EQ(adjusted_rand({0, 0, 1, 1}, {0, 1, 0, 1}), -0.5);
  EXPECT_EQ(adjusted_rand({0, 0, 0, 0}, {0, 1, 2, 3}), 0);
  EXPECT_DOUBLE_EQ(adjusted_rand({0, 0, 1, 2}, {0, 0, 1, 1}), 4.0 / 7);
  EXPECT_EQ(adjusted_rand({0}, {5}), 1);
  EXPECT_EQ(adjusted_rand({}, {}), 1);
}

// More clusters than can be matched one to one.
TEST(CompareLabels, TheIndexAloneTakesAnyNumberOfClusters) {
  Labels64 own(65'536), halves;
  std::iota(own.begin(), own.end(), 0);
  for (const int64_t label : own) halves.push_back(label / 2);
  EXPECT_EQ(manymeans::adjusted_rand(own, own), 1);
  EXPECT_EQ(manymeans::adjusted_rand(own, halves), 0);
  expect_error(ErrorCode::kUsage, {"65536 and 1 labels"}, [&] { manymeans::adjusted_rand(own, Labels64{0}); });
}

TEST(CompareLabels, NumbersOfClustersMeanNothing) {
  const LabelComparison same = compare_labels(Labels64{0, 0, 1, 1, 2}, Labels64{7, 7, 0, 0, 4'000'000'000});
  EXPECT_EQ(same.adjusted_rand, 1);
  EXPECT_EQ(same.moved, 0);
  EXPECT_EQ(same.pairs, (Cells{{0, 7, 2}, {1, 0, 2}, {2, 4'000'000'000, 1}}));
  EXPECT_TRUE(same.moves.empty());
}

TEST(CompareLabels, MovesComeByTheirRows) {
  const LabelComparison found =
      compare_labels(Labels64{0, 0, 0, 0, 1, 1, 1, 1, 1, 1}, Labels64{0, 0, 0, 1, 1, 1, 1, 0, 0, 2});
  EXPECT_EQ(found.pairs, (Cells{{0, 0, 3}, {1, 1, 3}}));
  EXPECT_EQ(found.moves, (Cells{{1, 0, 2}, {0, 1, 1}, {1, 2, 1}}));
  EXPECT_EQ(found.moved, 4);
  EXPECT_EQ(found.clusters_a, 2);
  EXPECT_EQ(found.clusters_b, 3);
}

TEST(CompareLabels, RowsWithoutALabelAreLeftOut) {
  const LabelComparison found = compare_labels(Labels64{0, -1, 1, 1, -1}, Labels64{0, 0, -1, 1, -1});
  EXPECT_EQ(found.rows, 2);
  EXPECT_EQ(found.left_out, 3);
  EXPECT_EQ(found.adjusted_rand, 1);
}

TEST(CompareLabels, OtherNumbersOfRowsAreRefused) {
  expect_error(ErrorCode::kUsage, {"3 and 2 labels"}, [] { compare_labels(Labels64{0, 1, 2}, Labels64{0, 1}); });
}

TEST(MatchPrototypes, OneToOne) {
  const std::vector<double> a = {0, 0, 10, 0, 0, 10}, b = {0, 11, 1, 0};
  const std::vector<PrototypeMatch> matches = match_prototypes(a, b, 2);
  ASSERT_EQ(matches.size(), 2U);
  EXPECT_EQ(matches[0].a, 0);
  EXPECT_EQ(matches[0].b, 1);
  EXPECT_EQ(matches[0].distance, 1);
  EXPECT_EQ(matches[1].a, 2);
  EXPECT_EQ(matches[1].b, 0);
  EXPECT_EQ(matches[1].distance, 1);
  EXPECT_EQ(match_prototypes(b, a, 2).size(), 2U);
}

TEST(MatchPrototypes, SumOfSquaresIsLeastNotEachDistance) {
  // The nearest of 4 is 5; but then 0 has to go to 1000 away.
  const std::vector<double> a = {0, 4}, b = {5, 1000};
  const std::vector<PrototypeMatch> matches = match_prototypes(a, b, 1);
  ASSERT_EQ(matches.size(), 2U);
  EXPECT_EQ(matches[0].b, 0);
  EXPECT_EQ(matches[1].b, 1);
}

TEST(MatchPrototypes, WhatCannotBeMatchedIsRefused) {
  const std::vector<double> three = {1, 2, 3}, far = {1e300}, here = {0};
  expect_error(ErrorCode::kUsage, {"of 2 columns"}, [&] { match_prototypes(three, three, 2); });
  expect_error(ErrorCode::kBadData, {"beyond binary64"}, [&] { match_prototypes(far, here, 1); });
}

TEST(CompareLabels, CallersStopWhatTakesLong) {
  const std::atomic<bool> stop = true;
  const std::vector<double> values = {1, 2, 3, 4};
  const Labels64 labels = {0, 1, 1};
  expect_error(ErrorCode::kInterrupted, {}, [&] { compare_labels(labels, labels, &stop); });
  expect_error(ErrorCode::kInterrupted, {}, [&] { match_prototypes(values, values, 2, &stop); });
  expect_error(ErrorCode::kInterrupted, {}, [&] { least_assignment(values, 2, 2, &stop); });
  expect_error(ErrorCode::kInterrupted, {}, [&] { least_assignment(values, 4, 1, &stop); });
}

}  // namespace
}  // namespace manymeans::test
