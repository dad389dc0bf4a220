#include "backend/device/slice_planner.h"

#include <gtest/gtest.h>

namespace manymeans::device {
namespace {

constexpr int64_t kRows = 1'000'000;
constexpr SlicePlanner::Points kPoints{kRows, 100, false, int64_t{1} << 31, 4096, 0};

// The points, and as much again for a copy of a slice.
int64_t bytes_of(const SlicePlan& plan) {
  const int64_t rooms = plan.resident_rows < kRows ? 2 * plan.slice_rows : 0;
  return 100 * (plan.resident_rows + rooms + plan.slice_rows);
}

TEST(SlicePlanner, HoldsAllWhereItFits) {
  const SlicePlanner planner(kPoints, 2 * 100 * kRows, bytes_of);
  EXPECT_TRUE(planner.holds_all());
  const SlicePlanner::Choice choice = planner.choose();
  EXPECT_EQ(choice.plan.slice_rows, kRows);
  EXPECT_EQ(choice.plan.resident_rows, kRows);
  EXPECT_EQ(choice.bytes, 2 * 100 * kRows);
}

TEST(SlicePlanner, PointsStayWhereTheirCopyDoesNotFit) {
  const SlicePlanner planner(kPoints, 2 * 100 * kRows - 1, bytes_of);
  EXPECT_FALSE(planner.holds_all());
  const SlicePlanner::Choice choice = planner.choose();
  EXPECT_EQ(choice.plan.resident_rows, kRows);
  EXPECT_LT(choice.plan.slice_rows, kRows);
  EXPECT_EQ(choice.plan.slice_rows % 4096, 0);
}

TEST(SlicePlanner, WholeSlicesStayWhereThereIsRoom) {
  constexpr int64_t kRoom = 40 * kRows;
  const SlicePlanner::Choice choice = SlicePlanner(kPoints, kRoom, bytes_of).choose();
  EXPECT_LE(choice.bytes, kRoom);
  EXPECT_GT(choice.bytes, kRoom - 100 * choice.plan.slice_rows);
  EXPECT_GT(choice.plan.resident_rows, 0);
  EXPECT_EQ(choice.plan.resident_rows % choice.plan.slice_rows, 0);
}

// The points would fit, but not what is made of them where all of them stay.
TEST(SlicePlanner, SomePointsComeWhereAllOfThemWouldTakeMore) {
  constexpr int64_t kRoom = 120 * kRows;
  const auto bytes = [](const SlicePlan& plan) {
    return bytes_of(plan) + (plan.resident_rows >= kRows ? 50 * kRows : 0);
  };
  const SlicePlanner::Choice choice = SlicePlanner(kPoints, kRoom, bytes).choose();
  EXPECT_LE(choice.bytes, kRoom);
  EXPECT_LT(choice.plan.resident_rows, kRows);
  EXPECT_GT(choice.plan.resident_rows, kRows * 9 / 10);
}

TEST(SlicePlanner, SaysWhatTheSmallestSlicesTake) {
  const SlicePlanner::Choice choice = SlicePlanner(kPoints, 1000, bytes_of).choose();
  EXPECT_EQ(choice.plan.slice_rows, 4096);
  EXPECT_EQ(choice.plan.resident_rows, 0);
  EXPECT_GT(choice.bytes, 1000);
}

TEST(SlicePlanner, PointsOnTheDeviceAlwaysStay) {
  SlicePlanner::Points points = kPoints;
  points.on_device = true;
  points.max_rows = 100'000;
  const auto no_points = [](const SlicePlan& plan) { return 100 * plan.slice_rows; };
  const SlicePlanner::Choice choice = SlicePlanner(points, int64_t{1} << 40, no_points).choose();
  EXPECT_EQ(choice.plan.resident_rows, kRows);
  EXPECT_EQ(choice.plan.slice_rows, 100'000 / 4096 * 4096);
}

TEST(SlicePlanner, TestsForceSlices) {
  SlicePlanner::Points points = kPoints;
  points.forced_rows = 1000;
  const SlicePlanner planner(points, int64_t{1} << 40, bytes_of);
  EXPECT_FALSE(planner.holds_all());
  EXPECT_EQ(planner.choose().plan.slice_rows, 1000);
  EXPECT_EQ(planner.choose().plan.resident_rows, 1000);
}

}  // namespace
}  // namespace manymeans::device
