#include "backend/cpu/choose/cpu_plan.h"

#include <manymeans/error.h>

#include "backend/cpu/kernels/instruction_set.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

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

PointsPlan plan(const char* algorithm, const Input& input, int64_t budget) {
  BackendOptions options;
  options.algorithm = algorithm;
  options.tuning.cpu.memory_budget = budget;
  options.tuning.cpu.screen_format = "float32";
  return plan_points(input, kernels(), options, {});
}

SessionPlan session(const Input& input, int64_t k, int threads, int64_t budget) {
  return plan_session(input, plan("matrix", input, 0), {&k, 1}, threads, budget);
}

TEST(PlanPoints, PacksWhatFitsTheBudget) {
  EXPECT_TRUE(plan("auto", shape(1000, 10), 1 << 20).packed);
  const PointsPlan tight = plan("auto", shape(1000, 10), 1 << 10);
  EXPECT_FALSE(tight.packed);
  EXPECT_FALSE(tight.brute);
  EXPECT_GE(tight.packed_bytes, 1000 * 11 * 4);
  EXPECT_FALSE(plan("auto", shape(int64_t{1} << 40, 100), 0).packed) << "more than any machine has";
}

TEST(PlanPoints, ObeysTheAlgorithm) {
  EXPECT_TRUE(plan("brute", shape(10, 2), 0).brute);
  EXPECT_FALSE(plan("matrix", shape(10, 2), 0).brute);
  EXPECT_TRUE(plan("auto", shape(10, (int64_t{1} << 20) + 1), 0).brute) << "beyond the proof";
  EXPECT_THROW(plan("fastest", shape(10, 2), 0), Error);
}

TEST(PlanPoints, TakesATreeWhereNoiseIsFasterByIt) {
  const auto pays = [](int64_t n, int64_t d, std::vector<int64_t> clusters, int64_t passes = 300) {
    return tree_pays({}, shape(n, d).points, {.passes = passes, .clusters = std::move(clusters)});
  };
  EXPECT_TRUE(pays(20'000, 2, {2}, 4));
  EXPECT_FALSE(pays(19'999, 2, {1000})) << "few rows";
  EXPECT_FALSE(pays(20'000, 2, {2}, 3)) << "few passes";
  // Each of these was measured: bench/results/amd-epyc-2cpu/kdtree_by_auto.md.
  EXPECT_TRUE(pays(1'000'000, 3, {256}));
  EXPECT_TRUE(pays(300'000, 3, {4096}));
  EXPECT_TRUE(pays(300'000, 4, {1024}));
  EXPECT_FALSE(pays(300'000, 3, {16}));
  EXPECT_FALSE(pays(20'000, 3, {400})) << "clusters of 50 rows";
  EXPECT_FALSE(pays(20'000, 4, {800})) << "clusters of 25 rows";
  EXPECT_FALSE(pays(300'000, 3, {4096}, 11)) << "few passes";
  EXPECT_FALSE(pays(1'000'000, 5, {4096}));
  EXPECT_FALSE(pays(300'000, 3, {1024, 2, 2, 2, 2, 2, 2, 2})) << "most models have few clusters";
  BackendOptions matrix;
  matrix.algorithm = "matrix";
  EXPECT_FALSE(tree_pays(matrix, shape(300'000, 3).points, {.clusters = {4096}}));
}

TEST(PlanSession, StaysInItsLimits) {
  for (const int64_t n : {1, 100, 100000, 100000000}) {
    for (const int64_t d : {1, 7, 128, 5000, 1000000}) {
      for (const int threads : {1, 2, 64}) {
        const SessionPlan made = session(shape(n, d), 1000, threads, 0);
        EXPECT_GE(made.tiles_per_block, 1);
        EXPECT_LE(made.tiles_per_block, 32);
        EXPECT_GE(made.spans_per_chunk, 1);
        EXPECT_EQ(made.statistics_bytes, 1000 * (d * 2 + 2) * 8);
      }
    }
  }
}

TEST(PlanSession, AccumulatesByLabelWhereCopiesWouldBeTooMuch) {
  EXPECT_FALSE(session(shape(1000000, 128), 1000, 2, 0).by_label_order);
  EXPECT_TRUE(session(shape(1000000, 128), 1000000, 2, 0).by_label_order);
  EXPECT_FALSE(session(shape(1000000, 128), 1000000, 1, 0).by_label_order) << "one thread, one copy";
  EXPECT_TRUE(session(shape(1000, 8), 10, 2, 1).by_label_order) << "a budget is obeyed";
}

}  // namespace
}  // namespace manymeans
