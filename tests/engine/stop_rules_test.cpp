#include "engine/stop_rules.h"

#include <manymeans/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace manymeans {
namespace {

Matrix column(std::vector<float> values) {
  Matrix m(static_cast<int64_t>(values.size()), 1, DataType::kFloat32);
  std::copy(values.begin(), values.end(), m.values<float>().begin());
  return m;
}

TEST(ParseStopRules, ReadsLists) {
  EXPECT_TRUE(parse_stop_rules("strict", 1e-4).empty());
  EXPECT_TRUE(parse_stop_rules("tol", 0).empty()) << "tol = 0 is no rule";
  const auto rules = parse_stop_rules("tol,labels:0.25,shift:1e-3:0.5,inertia:1e-6,shift:2,error:1e308", 1e-4);
  ASSERT_EQ(rules.size(), 6U);
  EXPECT_EQ(rules[0].value, 1e-4);
  EXPECT_EQ(rules[1].reason, stop_reason_named("labels"));
  EXPECT_EQ(rules[2].value, 1e-3);
  EXPECT_EQ(rules[2].share, 0.5);
  EXPECT_EQ(rules[3].reason, stop_reason_named("inertia"));
  EXPECT_EQ(rules[4].share, 1);
  EXPECT_EQ(rules[5].reason, stop_reason_named("error"));
  EXPECT_EQ(rules[5].value, 1e308);
}

TEST(ParseStopRules, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"", "never", "labels", "labels:2", "labels:-1", "labels:x", "shift", "shift:1:2",
                           "shift:1:0.5:3", "inertia:nan", "error", "error:-1", "error:nan", "error:inf", "error:1:0.5",
                           "tol:1", "tol,,strict", "labels:0.1 "}) {
    EXPECT_THROW(parse_stop_rules(text, 1e-4), Error) << text;
  }
}

// Digests and checkpoint files have these numbers.
TEST(StopReasons, KeepTheirNumbers) {
  const std::vector<std::string> names = {"not_begun", "strict",   "tol",        "labels",   "shift",       "inertia",
                                          "cycle",     "max_iter", "time_limit", "callback", "interrupted", "error"};
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(stop_reason_named(names[i])), i) << names[i];
    EXPECT_EQ(name_of(static_cast<StopReason>(i)), names[i]);
  }
  EXPECT_EQ(name_of(StopReason{255}), "");
  for (const char* unknown : {"", "never", "Tol"}) EXPECT_THROW(stop_reason_named(unknown), Error) << unknown;
}

TEST(StopRules, TolSumsSquaredShifts) {
  const Matrix before = column({0, 10});
  const Matrix after = column({3, 14});  // 9 + 16
  StopState state;
  state.before = &before;
  state.after = &after;
  state.mean_variance = 100;
  EXPECT_EQ(first_rule_that_holds(parse_stop_rules("tol", 0.25), state), stop_reason_named("tol"));
  EXPECT_FALSE(first_rule_that_holds(parse_stop_rules("tol", 0.2499), state));
}

TEST(StopRules, ShiftCountsPrototypesThatStayed) {
  const Matrix before = column({0, 0, 0, 0});
  const Matrix after = column({1, 2, 3, 4});
  StopState state;
  state.before = &before;
  state.after = &after;
  EXPECT_TRUE(first_rule_that_holds(parse_stop_rules("shift:3:0.75", 0), state));
  EXPECT_FALSE(first_rule_that_holds(parse_stop_rules("shift:3:0.76", 0), state));
  EXPECT_FALSE(first_rule_that_holds(parse_stop_rules("shift:3", 0), state));
  EXPECT_TRUE(first_rule_that_holds(parse_stop_rules("shift:4", 0), state));
}

TEST(StopRules, LabelsAndInertia) {
  StopState state;
  state.changed_share = 0.1;
  EXPECT_TRUE(first_rule_that_holds(parse_stop_rules("labels:0.1", 0), state));
  EXPECT_FALSE(first_rule_that_holds(parse_stop_rules("labels:0.09", 0), state));
  state.first_pass = true;
  EXPECT_FALSE(first_rule_that_holds(parse_stop_rules("labels:1", 0), state)) << "never in the first iteration";
  state.inertia_now = 90;
  EXPECT_FALSE(first_rule_that_holds(parse_stop_rules("inertia:0.5", 0), state)) << "nothing to compare with";
  state.inertia_before = 100;
  EXPECT_EQ(first_rule_that_holds(parse_stop_rules("inertia:0.1", 0), state), stop_reason_named("inertia"));
  EXPECT_FALSE(first_rule_that_holds(parse_stop_rules("inertia:0.09", 0), state));
}

TEST(StopRules, ErrorIsTheReportedInertia) {
  StopState state;
  state.first_pass = true;
  state.inertia_now = 1;  // in other units
  state.reported_inertia = 90;
  EXPECT_EQ(first_rule_that_holds(parse_stop_rules("error:90", 0), state), stop_reason_named("error"));
  EXPECT_FALSE(first_rule_that_holds(parse_stop_rules("error:89.99", 0), state));
  state.reported_inertia = 0;
  EXPECT_TRUE(first_rule_that_holds(parse_stop_rules("error:0", 0), state));
}

TEST(StopRules, TheFirstThatHoldsIsTheReason) {
  StopState state;
  state.changed_share = 0.1;
  state.inertia_before = state.inertia_now = 5;
  EXPECT_EQ(first_rule_that_holds(parse_stop_rules("labels:0.01,inertia:0,labels:0.5", 0), state),
            stop_reason_named("inertia"));
}

// The number is the rule, to the last row.
TEST(Limits, ChangedRowsAreThoseWithWhichLabelsHolds) {
  for (const int64_t rows : {int64_t{1}, int64_t{3}, int64_t{7}, int64_t{1000}, (int64_t{1} << 31) + 11}) {
    for (const int64_t changed : {int64_t{0}, int64_t{1}, rows / 7, rows / 3, rows - 1, rows}) {
      const double exact = static_cast<double>(changed) / static_cast<double>(rows);
      for (const double share : {exact, std::nextafter(exact, 0.0), std::nextafter(exact, 1.0)}) {
        const int64_t most = limits_of({{stop_reason_named("labels"), share, 1}}, {rows, 1, 1, 0}).changed;
        EXPECT_EQ(most, share >= exact ? changed : changed - 1) << share << " of " << rows;
      }
    }
  }
}

// Whatever the order of additions, a shift with which a rule holds is within the limits, and little more is not.
TEST(Limits, ShiftsAreWithinThemInEveryOrder) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (const double scale : {1.0, 1e-160, 1e-155, 1e140}) {
    constexpr int64_t kClusters = 300;
    constexpr int64_t kColumns = 40;
    Matrix before(kClusters, kColumns, DataType::kFloat64);
    Matrix after = before;
    for (double& v : after.values<double>()) v = scale * normal(random);
    const std::vector<double> canonical = squared_shifts(centroid(), before, after);
    double sum = 0;
    for (const double d2 : canonical) sum += d2;
    double other = 0;
    for (int64_t i = kClusters * kColumns - 1; i >= 0; --i) {
      const double t = after.values<double>()[static_cast<size_t>(i)];
      other += t * t;
    }
    const RuleScale size{1, kClusters, kColumns, 1};
    const PassLimits limits = limits_of({{stop_reason_named("tol"), sum, 1}}, size);
    EXPECT_EQ(limits.passes, 64);
    EXPECT_TRUE(may_be_last(limits.shifts, {other, 0}, kClusters)) << scale;
    EXPECT_TRUE(may_be_last(limits.shifts, {sum, 0}, kClusters)) << scale;
    EXPECT_TRUE(may_be_last(limits.shifts, {std::nan(""), 0}, kClusters));
    EXPECT_FALSE(may_be_last(limits.shifts, {sum * (1 + 1e-9) + 1e-310, 0}, kClusters)) << scale;
    const double root = std::sqrt(canonical[7]);
    const PassLimits still = limits_of({{stop_reason_named("shift"), root, 0.5}}, size);
    EXPECT_GE(still.shifts.each, root * root);
    EXPECT_LE(still.shifts.each, root * root * (1 + 1e-9) + 1e-310);
    EXPECT_TRUE(may_be_last(still.shifts, {0, 150}, kClusters));
    EXPECT_FALSE(may_be_last(still.shifts, {0, 149}, kClusters));
  }
}

TEST(Limits, OfSeveralRulesTheWidest) {
  const RuleScale size{1000, 4, 2, 10};
  EXPECT_FALSE(limits_of({}, size).shifts.any());
  EXPECT_EQ(limits_of({}, size).changed, 0);
  const PassLimits limits =
      limits_of(parse_stop_rules("tol,labels:0.01,shift:2:0.5,labels:0.002,shift:1:0.25", 0.1), size);
  EXPECT_EQ(limits.changed, 10);
  EXPECT_NEAR(limits.shifts.sum, 1, 1e-9);
  EXPECT_NEAR(limits.shifts.each, 4, 1e-9);
  EXPECT_EQ(limits.shifts.share, 0.25);
  EXPECT_EQ(limits_of(parse_stop_rules("tol,inertia:0.1", 0.1), size).passes, 1) << "which only the engine can judge";
  EXPECT_EQ(limits_of(parse_stop_rules("tol,error:7", 0.1), size).passes, 1);
}

}  // namespace
}  // namespace manymeans
