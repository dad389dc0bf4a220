#include "engine/stop_rules.h"

#include <manymeans/error.h>

#include <gtest/gtest.h>

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
  const auto rules = parse_stop_rules("tol,labels:0.25,shift:1e-3:0.5,inertia:1e-6,shift:2", 1e-4);
  ASSERT_EQ(rules.size(), 5U);
  EXPECT_EQ(rules[0].value, 1e-4);
  EXPECT_EQ(rules[1].reason, StopReason::kLabels);
  EXPECT_EQ(rules[2].value, 1e-3);
  EXPECT_EQ(rules[2].share, 0.5);
  EXPECT_EQ(rules[3].reason, StopReason::kInertia);
  EXPECT_EQ(rules[4].share, 1);
}

TEST(ParseStopRules, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"", "never", "labels", "labels:2", "labels:-1", "labels:x", "shift", "shift:1:2",
                           "shift:1:0.5:3", "inertia:nan", "tol:1", "tol,,strict", "labels:0.1 "}) {
    EXPECT_THROW(parse_stop_rules(text, 1e-4), Error) << text;
  }
}

TEST(StopRules, TolSumsSquaredShifts) {
  const Matrix before = column({0, 10});
  const Matrix after = column({3, 14});  // 9 + 16
  StopState state;
  state.before = &before;
  state.after = &after;
  state.mean_variance = 100;
  EXPECT_EQ(first_rule_that_holds(parse_stop_rules("tol", 0.25), state), StopReason::kTol);
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
  EXPECT_EQ(first_rule_that_holds(parse_stop_rules("inertia:0.1", 0), state), StopReason::kInertia);
  EXPECT_FALSE(first_rule_that_holds(parse_stop_rules("inertia:0.09", 0), state));
}

TEST(StopRules, TheFirstThatHoldsIsTheReason) {
  StopState state;
  state.changed_share = 0.1;
  state.inertia_before = state.inertia_now = 5;
  EXPECT_EQ(first_rule_that_holds(parse_stop_rules("labels:0.01,inertia:0,labels:0.5", 0), state),
            StopReason::kInertia);
}

}  // namespace
}  // namespace manymeans
