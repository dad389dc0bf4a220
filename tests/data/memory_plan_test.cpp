#include "data/memory_plan.h"

#include <manymeans/error.h>
#include <manymeans/options.h>

#include "core/memory.h"
#include "engine/exact_sum.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <optional>
#include <string>

namespace manymeans::test {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

MemoryTask task_of(int64_t n, int64_t d, std::vector<int64_t> k, bool in_file = true) {
  MemoryTask task;
  task.points = PointsView(static_cast<const void*>(nullptr), n, d, DataType::kFloat32);
  task.in_file = in_file;
  task.k = std::move(k);
  task.threads = 2;
  return task;
}

// The limit that an error names as one that would do; nothing where there is a plan.
std::optional<int64_t> named_limit(const MemoryTask& task, int64_t limit) {
  try {
    plan_memory(task, limit);
    return std::nullopt;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    const std::string what = error.what();
    EXPECT_NE(what.find("[memory] "), std::string::npos) << what;
    const size_t at = what.find("(memory ");
    EXPECT_NE(at, std::string::npos) << what;
    return std::stoll(what.substr(at + 8)) * kMiB;
  }
}

// The sums of products of a linear model are about as many as the square of its columns.
TEST(MemoryPlan, LinearModelsCountAllTheirSums) {
  MemoryTask task = task_of(20'000, 129, {40, 40}, false);
  const int64_t centroids = min_memory(task);
  task.terms = 17'028;
  EXPECT_GE(min_memory(task) - centroids, 80 * (task.terms - 129) * 4 * 8);
  const std::optional<int64_t> named = named_limit(task, 25'000'000);
  ASSERT_TRUE(named);
  EXPECT_GT(*named, 80 * task.terms * 4 * 8);
}

// Each thread of a swap search has an exact sum for every prototype of the models that are searched together.
TEST(MemoryPlan, SwapsCountWhatPrototypesAreWorth) {
  MemoryTask task = task_of(60'000, 2, {20'000}, false);
  task.threads = 16;
  task.terms = 10;
  const int64_t without = min_memory(task);
  task.swaps = true;
  EXPECT_GE(min_memory(task) - without, 16 * 20'000 * static_cast<int64_t>(sizeof(ExactSum)));
  task.k = {20'000, 20'000};
  const int64_t two = min_memory(task);
  task.strategy = Strategy::kData;
  EXPECT_GE(two - min_memory(task), 16 * 20'000 * static_cast<int64_t>(sizeof(ExactSum)));
}

TEST(MemoryPlan, AClusteringHasAShareOfItsOwn) {
  for (const Strategy strategy : {Strategy::kConcatenated, Strategy::kTask}) {
    MemoryTask task = task_of(1'000'000, 10, {8, 8, 8});
    task.strategy = strategy;
    task.terms = 128;
    EXPECT_EQ(plan_memory(task, 512 * kMiB).clustering, 0);
    const int64_t without = min_memory(task);
    task.clusters = true;
    const int64_t least = min_memory(task);
    EXPECT_GT(least, without + kMiB);
    MemoryTask clustering = task_of(1'000'000, 10, {8});
    clustering.threads = strategy == Strategy::kTask ? 1 : 2;
    for (const int64_t more : {0, 64, 1024}) {
      const MemoryPlan plan = plan_memory(task, least + more * kMiB);
      EXPECT_FALSE(named_limit(clustering, plan.clustering)) << more;
      EXPECT_LE(plan.clustering + plan.copies + plan.bounds + plan.sums, least + more * kMiB);
    }
  }
}

// 16,000 models of 6 points were planned with 30 MiB and took 95.
TEST(MemoryPlan, ModelsCount) {
  const int64_t one = min_memory(task_of(6, 2, {2}));
  EXPECT_GE(min_memory(task_of(6, 2, std::vector<int64_t>(16'001, 2))) - one, 64 * kMiB);
  EXPECT_FALSE(fits_easily(task_of(6, 2, std::vector<int64_t>(available_memory() >> 12, 2))));
}

// Few rows of very many columns: no thread holds more rows than there are.
TEST(MemoryPlan, FewRowsTakeLittle) {
  const MemoryTask task = task_of(5, 200'000, {3});
  const int64_t least = min_memory(task);
  EXPECT_LT(least, 400 * kMiB);
  EXPECT_EQ(named_limit(task, 1), (least + kMiB - 1) / kMiB * kMiB);
  EXPECT_FALSE(plan_memory(task, least).window.moves());
}

TEST(MemoryPlan, ASmallFitIsLeftAlone) {
  const MemoryPlan plan = plan_memory(task_of(1000, 10, {8}), 0);
  EXPECT_FALSE(plan.limited);
  EXPECT_FALSE(plan.window.moves());
  EXPECT_TRUE(plan.text.empty());
}

TEST(MemoryPlan, ALimitAboveEverythingMovesNoWindow) {
  const MemoryPlan plan = plan_memory(task_of(100'000, 10, {8}), 512 * kMiB);
  EXPECT_TRUE(plan.limited);
  EXPECT_FALSE(plan.window.moves());
  EXPECT_GT(plan.copies, 100 * kMiB);
  EXPECT_LE(plan.copies + plan.bounds + plan.sums, 512 * kMiB);
}

TEST(MemoryPlan, PointsThatDoNotFitAreReadInPieces) {
  const MemoryTask task = task_of(4'194'304, 128, {64});  // 2 GiB
  const MemoryPlan plan = plan_memory(task, 256 * kMiB);
  ASSERT_TRUE(plan.window.moves());
  EXPECT_EQ(plan.labels, Storage::kMemory);
  EXPECT_EQ(plan.seeding, Storage::kMemory);
  EXPECT_LE(plan.window.chunk_rows() * 512, 4 * kMiB);
  EXPECT_LT(plan.copies + plan.sums + plan.bounds, 256 * kMiB);
}

TEST(MemoryPlan, WithoutALimitTheMachineIsTheLimit) {
  const int64_t rows = available_memory() / 256;  // twice what there is
  const MemoryPlan plan = plan_memory(task_of(rows, 128, {8}), 0);
  EXPECT_TRUE(plan.window.moves());
  EXPECT_LT(plan.copies + plan.bounds + plan.sums, available_memory());
  EXPECT_FALSE(plan_memory(task_of(rows, 128, {8}, false), 0).window.moves());
  EXPECT_FALSE(fits_easily(task_of(rows, 128, {8}, false)));
}

TEST(MemoryPlan, RoomThatNoCopyFitsKeepsRows) {
  const MemoryTask task = task_of(4'194'304, 128, {64});
  EXPECT_EQ(plan_memory(task, 256 * kMiB).copies, 0);
  MemoryTask wide = task;
  wide.points.type = DataType::kFloat64;
  EXPECT_GT(plan_memory(wide, 2600 * kMiB).copies, 1000 * kMiB);
}

TEST(MemoryPlan, LabelsOfManyModelsGoToAFile) {
  const MemoryTask task = task_of(4'194'304, 128, std::vector<int64_t>(200, 8));
  EXPECT_EQ(plan_memory(task, 256 * kMiB).labels, Storage::kFile);
  EXPECT_EQ(plan_memory(task, 3000 * kMiB).labels, Storage::kMemory);
}

TEST(MemoryPlan, WhatTheCallerHoldsIsNotCounted) {
  EXPECT_FALSE(plan_memory(task_of(4'194'304, 128, {8}, false), 256 * kMiB).window.moves());
}

TEST(MemoryPlan, WeightsCount) {
  MemoryTask task = task_of(4'194'304, 128, {64});
  const int64_t without = min_memory(task);
  task.weights = true;
  EXPECT_EQ(min_memory(task), without + 16 * task.points.n);
}

TEST(MemoryPlan, AnImpossibleLimitNamesOneThatWorks) {
  const MemoryTask task = task_of(100'000'000, 784, {1000});
  const auto named = named_limit(task, kMiB);
  ASSERT_TRUE(named);
  EXPECT_TRUE(plan_memory(task, *named).window.moves());
  EXPECT_FALSE(named_limit(task, *named));
  EXPECT_EQ(*named, (min_memory(task) + kMiB - 1) / kMiB * kMiB);
}

TEST(MemoryPlan, EveryLimitFromTheNamedOneOnWorksAndIsKept) {
  rc::check([] {
    MemoryTask task = task_of(
        *rc::gen::inRange<int64_t>(1, 200'000'000), *rc::gen::inRange<int64_t>(1, 5000),
        *rc::gen::container<std::vector<int64_t>>(*rc::gen::inRange<size_t>(1, 30), rc::gen::inRange<int64_t>(1, 3000)),
        *rc::gen::arbitrary<bool>());
    task.threads = *rc::gen::inRange(1, 65);
    task.weights = *rc::gen::arbitrary<bool>();
    task.oversamples = *rc::gen::arbitrary<bool>();
    task.strategy = *rc::gen::element(Strategy::kConcatenated, Strategy::kData, Strategy::kTask);
    const int64_t least = min_memory(task);
    const auto named = named_limit(task, 1);
    RC_ASSERT(named.has_value());
    RC_ASSERT(*named >= least && *named < least + kMiB);
    const int64_t limit = least + *rc::gen::inRange<int64_t>(0, 100 * least);
    RC_ASSERT(!named_limit(task, limit).has_value());
    const MemoryPlan plan = plan_memory(task, limit);
    const int64_t sessions =
        task.strategy == Strategy::kTask ? std::min<int64_t>(task.threads, static_cast<int64_t>(task.k.size())) : 1;
    const int64_t bytes_of_points = static_cast<int64_t>(task.points.bytes());
    RC_ASSERT(plan.copies >= 0 && plan.bounds >= 0 && plan.sums >= 0);
    RC_ASSERT(sessions * (plan.copies + plan.bounds + plan.sums) <= limit);
    if (!plan.window.moves()) RC_ASSERT(!task.in_file || bytes_of_points <= limit);
  });
}

TEST(AvailableMemory, IsSomething) {
  EXPECT_GT(available_memory(), 0);
}

TEST(ByteSizes, AreReadAndShown) {
  EXPECT_EQ(parse_byte_size("0").bytes, 0);
  EXPECT_EQ(parse_byte_size("4096").bytes, 4096);
  EXPECT_EQ(parse_byte_size("256MiB").bytes, 256 * kMiB);
  EXPECT_EQ(parse_byte_size("256m").bytes, 256 * kMiB);
  EXPECT_EQ(parse_byte_size("1.5GB").bytes, 1'500'000'000);
  EXPECT_EQ(parse_byte_size("2kB").bytes, 2000);
  EXPECT_EQ(name_of(ByteSize{256 * kMiB}), "256MiB");
  EXPECT_EQ(name_of(ByteSize{1500}), "1500");
  EXPECT_EQ(name_of(ByteSize{}), "0");
  for (const char* wrong : {"", "MiB", "-1", "1e9", "12 MiB", "5XB", "inf", "nan", "99999999TiB"}) {
    EXPECT_THROW(parse_byte_size(wrong), Error) << wrong;
  }
}

}  // namespace
}  // namespace manymeans::test
