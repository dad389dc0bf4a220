// Evidence that is made up, and the answer that follows.
#include "engine/decide_k.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

// Of k = 1 to 6: no k returns, no valley, and the criteria of distances choose 2.
ChosenK nothing_found(int64_t rows = 500) {
  ChosenK found;
  for (int64_t k = 1; k <= 6; ++k) {
    Evidence its;
    its.k = k;
    its.gap = 0, its.gap_error = 0.1;
    its.prediction_strength = k == 1 ? 1 : 0.5, its.prediction_strength_error = 0.01;
    its.criteria.rows = rows;
    its.criteria.bic = static_cast<double>(k);
    if (k > 1) {
      its.stability = 0.5, its.stability_error = 0.01, its.pac = 0.3, its.valley = 0.1;
      its.criteria.calinski_harabasz = its.criteria.simplified_silhouette = its.criteria.squared_silhouette = 1.0 / k;
      its.criteria.davies_bouldin = static_cast<double>(k);
    }
    found.evidence.push_back(its);
  }
  return found;
}

Evidence& of(ChosenK& found, int64_t k) {
  return found.evidence[static_cast<size_t>(k - 1)];
}

// Clusters of this k return; all families but distances choose the largest such k.
void let_return(ChosenK& found, int64_t k, double valley) {
  Evidence& its = of(found, k);
  its.prediction_strength = its.stability = 0.9;
  its.valley = valley;
  its.gap = static_cast<double>(k);
  its.criteria.bic = -static_cast<double>(k);
}

// The criteria of distances choose this k.
void let_distances_choose(ChosenK& found, int64_t k) {
  Criteria& its = of(found, k).criteria;
  its.calinski_harabasz = its.simplified_silhouette = its.squared_silhouette = 10;
  its.davies_bouldin = 0;
}

std::vector<int64_t> defensible(const ChosenK& found) {
  std::vector<int64_t> all;
  for (const DefensibleK& its : found.defensible) all.push_back(its.k);
  return all;
}

using Ks = std::vector<int64_t>;

Shape with_names(Shape shape) {
  shape.tails.add("price");
  shape.far.add("age");
  return shape;
}

TEST(DecideK, OneKWhereAllFamiliesAgree) {
  ChosenK found = nothing_found();
  let_return(found, 3, 2);
  decide(found, Shape{.columns = 2, .skewed = 1});
  EXPECT_EQ(found.status, ChoiceStatus::kFirm);
  EXPECT_EQ(found.k, 3);
  EXPECT_EQ(found.answer, "k = 3");
  EXPECT_EQ(defensible(found), Ks{3});
  EXPECT_TRUE(found.reason.ends_with(", and no other k has both")) << found.reason;
  EXPECT_EQ(found.reason.find("skew"), std::string::npos) << found.reason;
  EXPECT_TRUE(found.warnings.empty());
}

// A k whose clusters do not return gets no vote, so that the criteria of distances, which would choose 5, choose 3.
TEST(DecideK, FamiliesVoteAmongCandidatesOnly) {
  ChosenK found = nothing_found();
  let_return(found, 3, 2);
  let_distances_choose(found, 5);
  decide(found, {});
  EXPECT_EQ(found.answer, "k = 3");
  EXPECT_EQ(std::ranges::find(found.votes, "calinski_harabasz", &Vote::criterion)->k, 5);
}

// The reason tells of a finer k whose clusters touch.
TEST(DecideK, FinerClustersThatTouchAreTold) {
  ChosenK found = nothing_found();
  let_return(found, 2, 2);
  let_return(found, 4, 0.3);
  decide(found, {});
  EXPECT_EQ(found.status, ChoiceStatus::kFirm);
  EXPECT_EQ(found.k, 2);
  EXPECT_TRUE(found.reason.ends_with("no other k has both; the clusters of k = 4 return, too, but touch"))
      << found.reason;
}

TEST(DecideK, OneOfSeveralCandidatesThatAllFamiliesChoose) {
  ChosenK found = nothing_found();
  let_return(found, 2, 2);
  let_return(found, 4, 2);
  let_distances_choose(found, 4);
  decide(found, {});
  EXPECT_EQ(found.answer, "k = 4");
  EXPECT_TRUE(found.reason.ends_with("all 4 families of criteria choose it among such k")) << found.reason;
}

TEST(DecideK, SeveralWhereFamiliesDisagree) {
  ChosenK found = nothing_found();
  let_return(found, 2, 2);
  let_return(found, 4, 2);
  decide(found, {});
  EXPECT_EQ(found.status, ChoiceStatus::kSeveral);
  EXPECT_EQ(found.answer, "k = 2 or 4");
  EXPECT_EQ(defensible(found), (Ks{2, 4}));
  EXPECT_EQ(found.k, 4);  // of gap, information and valley
  EXPECT_EQ(found.defensible[0].meaning, "clusters that valleys separate (2.0, at least 0.7)");
}

TEST(DecideK, NumbersBesideALimitDoNotContradictIt) {
  EXPECT_EQ(beside_limit(0.83, 0.8, 2), "0.83");
  EXPECT_EQ(beside_limit(0.8, 0.8, 2), "0.80");
  EXPECT_EQ(beside_limit(0.797, 0.8, 2), "0.797");
  EXPECT_EQ(beside_limit(0.79999, 0.8, 2), "0.79999");
  EXPECT_EQ(beside_limit(Criteria::kUndefined, 0.8, 2), "nan");
  ChosenK found = nothing_found();
  let_return(found, 3, 0.3);
  of(found, 3).prediction_strength = 0.78, of(found, 3).prediction_strength_error = 0.03;
  decide(found, {});
  EXPECT_EQ(found.defensible[1].meaning,
            "parts that return in other rows (strength 0.78, within its standard error of 0.8) but touch");
  const auto reason = [](const ChosenK& its, const std::string& criterion) {
    return std::ranges::find(its.votes, criterion, &Vote::criterion)->reason;
  };
  EXPECT_EQ(reason(found, "prediction_strength"), "0.7800, within its standard error of 0.8");
  EXPECT_EQ(reason(found, "gap"), "3, the largest");
  found.votes.clear();
  of(found, 3).gap_error = 0.25, of(found, 2).gap = 2.75;
  decide(found, {});
  EXPECT_EQ(reason(found, "gap"), "2.75, at least 2.75: the 3 of k = 3 less its standard error");
}

TEST(DecideK, OneIsDefensibleWhereClustersTouch) {
  ChosenK found = nothing_found();
  let_return(found, 3, 0.3);
  decide(found, with_names({.rows = 500, .outliers = 3}));
  EXPECT_EQ(found.status, ChoiceStatus::kSeveral);
  EXPECT_EQ(defensible(found), (Ks{1, 3}));
  EXPECT_EQ(found.k, 3);
  EXPECT_EQ(found.defensible[1].meaning, "parts that return in other rows (strength 0.90) but touch");
  EXPECT_TRUE(found.reason.ends_with("; outliers mislead criteria, 3 of 500 rows (in age)")) << found.reason;
}

// Slices of a tail return, too.
TEST(DecideK, SkewedColumnsNeedAValley) {
  ChosenK found = nothing_found();
  let_return(found, 4, 0.3);
  decide(found, with_names({.columns = 2, .skewed = 1}));
  EXPECT_EQ(found.status, ChoiceStatus::kUnclear);
  EXPECT_EQ(found.reason,
            "the clusters of k = 4 return in other rows, but no valley separates them; skewed columns "
            "mislead criteria, 1 of 2 (price): try their logarithms");
  ChosenK among_many = nothing_found();
  let_return(among_many, 4, 0.3);
  decide(among_many, {.columns = 11, .skewed = 1});
  EXPECT_EQ(among_many.status, ChoiceStatus::kSeveral);
}

TEST(DecideK, OneGroupWhereNothingReturnsAndNoValleyIs) {
  ChosenK found = nothing_found();
  decide(found, {});
  EXPECT_EQ(found.status, ChoiceStatus::kOne);
  EXPECT_EQ(found.k, 1);
  EXPECT_EQ(found.answer, "one group");
}

// A hint of a valley, few rows, and no members: each leaves it open.
TEST(DecideK, NoClearK) {
  ChosenK hint = nothing_found(), few = nothing_found(60), none = nothing_found();
  of(hint, 2).valley = 0.6;
  for (Evidence& its : none.evidence) its.stability = its.prediction_strength = its.valley = Criteria::kUndefined;
  for (ChosenK* found : {&hint, &few, &none}) {
    let_distances_choose(*found, 2);
    decide(*found, {});
    EXPECT_EQ(found->status, ChoiceStatus::kUnclear) << found->reason;
    EXPECT_EQ(found->answer, "no clear k");
    EXPECT_EQ(found->k, found == &none ? 1 : 2);  // where nothing is known of other rows, the gap chooses 1
    EXPECT_TRUE(found->defensible.empty());
  }
  ChosenK rising = nothing_found(60);
  for (Evidence& its : rising.evidence) its.gap = static_cast<double>(its.k), its.criteria.bic = -its.gap;
  decide(rising, {});
  EXPECT_NE(rising.reason.find(fmt::format("k = {} comes nearest", rising.k)), std::string::npos) << rising.reason;
}

TEST(DecideK, WarnsAtTheEndOfTheRangeAndAboutSingleRows) {
  ChosenK found = nothing_found();
  let_return(found, 6, 2);
  found.fit.models.resize(1);
  found.fit.models[0].k_requested = 6;
  found.fit.models[0].stop_reason = StopReason::kStrict;
  found.fit.models[0].counts = {1, 1, 90, 90, 90, 90};
  decide(found, {});
  EXPECT_EQ(found.warnings, (std::vector<std::string>{"k = 6 has 2 clusters of one row: outliers, or too many clusters",
                                                      "k = 6 is the largest that was judged: judge larger k, too"}));
}

TEST(DecideK, WithoutEvidence) {
  ChosenK found;
  decide(found, {});
  EXPECT_EQ(found.status, ChoiceStatus::kUnclear);
  EXPECT_EQ(found.k, 1);
}

TEST(DecideK, ShapeNamesSkewAndOutliers) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  std::vector<double> values(2000);
  for (double& value : values) value = normal(random);
  const std::vector<std::string> names = {"price", "age"};
  const auto shape = [&] { return shape_of({values.data(), 1000, 2}, names).text(); };
  EXPECT_EQ(shape(), "");
  values[11] = 20;
  values[13] = -20;
  EXPECT_EQ(shape(), "outliers mislead criteria, 2 of 1000 rows (in age)");
  for (size_t i = 0; i < values.size(); i += 2) values[i] = std::exp(values[i]);
  EXPECT_EQ(shape(), "skewed columns mislead criteria, 1 of 2 (price): try their logarithms");
  values[11] = values[13] = 0;
  EXPECT_EQ(shape_of({values.data(), 200, 10}).text(),
            "skewed columns mislead criteria, 5 of 10 (column 1, column 3, column 5 and 2 more): try their logarithms");
}

}  // namespace
}  // namespace manymeans::test
