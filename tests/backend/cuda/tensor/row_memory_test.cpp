// What passes leave of the rows for the next ones, and when that is used. Needs no device.
#include "backend/cuda/tensor/row_memory.h"

#include "backend/cuda/cuda_present.h"
#include "backend/cuda/tensor/matrix_pack.h"

#include <gtest/gtest.h>

#include <vector>

namespace manymeans::cuda {
namespace {

constexpr int64_t kRows = 100'000;

// The passes of a session: each is begun and ended, and what it counted is learned.
class Passes {
 public:
  explicit Passes(const RowMemory::Use& use, size_t models = 1) : memory_(use, kRows, 64, models, log_) {}

  void batch(const std::vector<ModelMemory>& models) {
    memory_.begin_batch(models);
    models_ = models.size();
    pass_ = 0;
  }
  void pass(unsigned long long changed, unsigned long long kept = 0) {
    memory_.begin_pass();
    memory_.end_pass();
    PassCounters found = {};
    found.changed = changed;
    found.kept = kept;
    memory_.learn(pass_++, std::vector<PassCounters>(models_, found));
  }
  RowMemory& memory() { return memory_; }
  std::string log() const { return log_.text(); }

 private:
  BoundsLog log_;
  RowMemory memory_;
  size_t models_ = 0;
  size_t pass_ = 0;
};

TEST(CudaRowMemory, ThresholdsPayWhereFewLabelsChangeOrColumnsAreMany) {
  EXPECT_FALSE(thresholds_pay(90, 1000, 1024, 128));
  EXPECT_TRUE(thresholds_pay(75, 1000, 1024, 128));
  EXPECT_FALSE(thresholds_pay(1000, 1000, 8192, 128)) << "a first pass";
  EXPECT_TRUE(thresholds_pay(1000, 1000, 65536, 128));
  EXPECT_FALSE(thresholds_pay(10, 1000, 65536, 768)) << "products of long rows hide the ranking";
  EXPECT_TRUE(thresholds_pay(0, int64_t{1} << 40, 1, 1));
}

TEST(CudaRowMemory, ThresholdsNeedAPassBefore) {
  Passes passes({.thresholds = true});
  passes.batch({{0, false, 1024}});
  EXPECT_FALSE(passes.memory().uses_thresholds());
  passes.pass(kRows);
  EXPECT_FALSE(passes.memory().uses_thresholds()) << "all labels changed";
  passes.pass(kRows / 100);
  EXPECT_TRUE(passes.memory().uses_thresholds());
  passes.batch({{0, true, 1024}});
  EXPECT_TRUE(passes.memory().uses_thresholds()) << "what is known outlives the batch";
  passes.memory().forget();
  EXPECT_FALSE(passes.memory().uses_thresholds());
  passes.pass(kRows / 100);
  EXPECT_TRUE(passes.memory().uses_thresholds());
}

TEST(CudaRowMemory, AModelWithoutLabelsHasNoScores) {
  Passes passes({.thresholds = true, .always_thresholds = true}, 2);
  passes.batch({{0, false, 1024}});
  passes.pass(0);
  EXPECT_TRUE(passes.memory().uses_thresholds());
  passes.batch({{0, true, 1024}, {1, false, 1024}});
  EXPECT_FALSE(passes.memory().uses_thresholds());
  passes.pass(0);
  EXPECT_TRUE(passes.memory().uses_thresholds());
}

TEST(CudaRowMemory, WithoutThresholdsThereAreNone) {
  Passes passes({});
  EXPECT_FALSE(passes.memory().learns());
  passes.batch({{0, false, 1024}});
  passes.pass(0);
  EXPECT_FALSE(passes.memory().uses_thresholds());
  EXPECT_FALSE(passes.memory().carries_margins());
}

TEST(CudaRowMemory, MarginsThatAreAskedForAreCarriedFromTheFirstPass) {
  Passes passes({.margins = BoundsUse::kAlways});
  passes.batch({{0, false, 64}});
  EXPECT_TRUE(passes.memory().carries_margins());
  EXPECT_FALSE(passes.memory().knows_margins());
  passes.pass(kRows);
  EXPECT_TRUE(passes.memory().knows_margins());
  passes.memory().forget();
  EXPECT_FALSE(passes.memory().knows_margins());
}

// A pass leaves scores or margins, never both.
TEST(CudaRowMemory, MarginsTakeThePlaceOfScores) {
  Passes passes({.thresholds = true, .always_thresholds = true, .margins = BoundsUse::kWhenTheyPay});
  passes.batch({{0, false, 1024}});
  passes.pass(kRows);
  EXPECT_FALSE(passes.memory().carries_margins());
  EXPECT_TRUE(passes.memory().uses_thresholds());
  passes.pass(kRows / 1000);
  EXPECT_TRUE(passes.memory().carries_margins()) << "few labels change";
  EXPECT_FALSE(passes.memory().knows_margins());
  EXPECT_FALSE(passes.memory().uses_thresholds());
  EXPECT_NE(passes.log(), "");
  passes.pass(kRows / 1000, kRows - 1);
  EXPECT_TRUE(passes.memory().knows_margins());
  while (passes.memory().carries_margins()) passes.pass(kRows / 2, 0);
  EXPECT_FALSE(passes.memory().uses_thresholds()) << "the pass before left margins";
  passes.pass(kRows / 2);
  EXPECT_TRUE(passes.memory().uses_thresholds());
}

// The room for sorting columns is counted without a device.
TEST(CudaRowMemory, ThereIsRoomToSortColumns) {
  if (!test::device_present()) GTEST_SKIP() << "no CUDA device";
  for (int64_t columns = 64; columns <= int64_t{1} << 24; columns *= 2) {
    EXPECT_LE(ColumnSort::bytes_for(columns), static_cast<size_t>(ColumnSort::room(columns))) << columns;
  }
}

}  // namespace
}  // namespace manymeans::cuda
