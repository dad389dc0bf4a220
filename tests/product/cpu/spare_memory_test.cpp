#include "product/cpu/spare_memory.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

constexpr size_t kMax = kMaxSpareBytes / sizeof(double);

// What other tests left is no larger than this.
void fill() {
  AlignedBuffer<double> one(kMax), other(kMax);
  keep_memory(std::move(one));
  keep_memory(std::move(other));
}

TEST(SpareMemory, IsTakenAgain) {
  fill();
  AlignedBuffer<double> one = take_memory(100), other = take_memory(kMax);
  EXPECT_EQ(one.size(), kMax);
  EXPECT_EQ(other.size(), kMax);
  EXPECT_NE(one.data(), other.data());
  const double* const where = one.data();
  keep_memory(std::move(one));
  EXPECT_EQ(take_memory(kMax).data(), where);
}

TEST(SpareMemory, IsNewWhereWhatIsKeptIsTooSmall) {
  fill();
  const AlignedBuffer<double> one = take_memory(1), other = take_memory(1);
  EXPECT_EQ(take_memory(1).size(), 1U);
  keep_memory(AlignedBuffer<double>(64));
  const AlignedBuffer<double> larger = take_memory(65);
  EXPECT_EQ(larger.size(), 65U);
  EXPECT_EQ(take_memory(64).size(), 64U);
  EXPECT_EQ(take_memory(0).size(), 0U);
}

TEST(SpareMemory, TakesTheSmallestThatIsLargeEnough) {
  fill();
  { const AlignedBuffer<double> one = take_memory(1), other = take_memory(1); }
  keep_memory(AlignedBuffer<double>(1000));
  keep_memory(AlignedBuffer<double>(100));
  EXPECT_EQ(take_memory(50).size(), 100U);
  EXPECT_EQ(take_memory(50).size(), 1000U);
}

TEST(SpareMemory, OnlyTheLargestTwoAreKeptAndNoneAboveTheLimit) {
  fill();
  { const AlignedBuffer<double> one = take_memory(1), other = take_memory(1); }
  for (const size_t count : {300, 100, 200}) keep_memory(AlignedBuffer<double>(count));
  keep_memory(AlignedBuffer<double>(kMax + 1));
  EXPECT_EQ(take_memory(10).size(), 200U);
  EXPECT_EQ(take_memory(10).size(), 300U);
  EXPECT_EQ(take_memory(10).size(), 10U);
}

// As where an allocation failed after the memory was handed on.
TEST(SpareMemory, IsNotThatOfABufferWhoseMemoryWentElsewhere) {
  fill();
  { const AlignedBuffer<double> one = take_memory(1), other = take_memory(1); }
  AlignedBuffer<double> gone(100);
  const AlignedBuffer<double> there = std::move(gone);
  keep_memory(std::move(gone));  // NOLINT(bugprone-use-after-move)
  EXPECT_NE(take_memory(50).data(), nullptr);
}

TEST(SpareMemory, BelongsToOneThreadAtATime) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 2000; ++i) {
        AlignedBuffer<double> mine = take_memory(16);
        const double mark = t + 1e-4 * i;
        for (size_t j = 0; j < 16; ++j) mine[j] = mark;
        for (size_t j = 0; j < 16; ++j) EXPECT_EQ(mine[j], mark);
        keep_memory(std::move(mine));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace manymeans
