#include "backend/cpu/cpu_plan.h"

#include <manymeans/error.h>

#include "backend/cpu/instruction_set.h"

#include <gtest/gtest.h>

namespace manymeans {
namespace {

// An input of a shape, without data: plans look at nothing else.
Input shape(int64_t n, int64_t d, DataType type = DataType::kFloat32) {
  Input input;
  input.points.n = n;
  input.points.d = d;
  input.points.type = type;
  input.limbs = 2;
  return input;
}

const CpuKernels& kernels() {
  return choose_kernels("portable");
}

TEST(PlanPoints, PacksWhatFitsTheBudget) {
  EXPECT_TRUE(plan_points(shape(1000, 10), kernels(), "auto", 1 << 20).packed);
  const PointsPlan tight = plan_points(shape(1000, 10), kernels(), "auto", 1 << 10);
  EXPECT_FALSE(tight.packed);
  EXPECT_FALSE(tight.brute);
  EXPECT_GE(tight.packed_bytes, 1000 * 11 * 4);
  EXPECT_FALSE(plan_points(shape(int64_t{1} << 40, 100), kernels(), "auto", 0).packed) << "more than any machine has";
}

TEST(PlanPoints, ObeysTheAlgorithm) {
  EXPECT_TRUE(plan_points(shape(10, 2), kernels(), "brute", 0).brute);
  EXPECT_FALSE(plan_points(shape(10, 2), kernels(), "screen", 0).brute);
  EXPECT_TRUE(plan_points(shape(10, (int64_t{1} << 20) + 1), kernels(), "auto", 0).brute) << "beyond the proof";
  EXPECT_THROW(plan_points(shape(10, 2), kernels(), "fastest", 0), Error);
}

TEST(PlanSession, StaysInItsLimits) {
  for (const int64_t n : {1, 100, 100000, 100000000}) {
    for (const int64_t d : {1, 7, 128, 5000, 1000000}) {
      for (const int threads : {1, 2, 64}) {
        const SessionPlan plan = plan_session(shape(n, d), kernels(), 1000, threads, 0);
        EXPECT_GE(plan.tiles_per_group, 1);
        EXPECT_LE(plan.tiles_per_group, 32);
        EXPECT_GE(plan.blocks_per_chunk, 1);
        EXPECT_EQ(plan.statistics_bytes, 1000 * (d * 2 + 2) * 8);
      }
    }
  }
}

TEST(PlanSession, AccumulatesByLabelWhereCopiesWouldBeTooMuch) {
  EXPECT_FALSE(plan_session(shape(1000000, 128), kernels(), 1000, 2, 0).by_label_order);
  EXPECT_TRUE(plan_session(shape(1000000, 128), kernels(), 1000000, 2, 0).by_label_order);
  EXPECT_FALSE(plan_session(shape(1000000, 128), kernels(), 1000000, 1, 0).by_label_order) << "one thread, one copy";
  EXPECT_TRUE(plan_session(shape(1000, 8), kernels(), 10, 2, 1).by_label_order) << "a budget is obeyed";
}

}  // namespace
}  // namespace manymeans
