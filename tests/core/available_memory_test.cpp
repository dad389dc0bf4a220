#include "core/memory.h"
#include "core/os/cgroup.h"

#include <gtest/gtest.h>

#include <limits>

namespace manymeans {
namespace {

TEST(AvailableMemory, LeftOfALimit) {
  EXPECT_EQ(left_of_limit(1000, 300, 0), 700);
  EXPECT_EQ(left_of_limit(1000, 300, 200), 900);
  EXPECT_EQ(left_of_limit(1000, 900, 1000), 1000) << "more files than is used: counted later";
  EXPECT_EQ(left_of_limit(1000, 1200, 0), 0) << "the limit was lowered";
  EXPECT_EQ(left_of_limit(1000, 1200, 100), 100);
}

// Version 1 of control groups says so of a group without a limit.
TEST(AvailableMemory, NoLimitStaysNoLimit) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max() - 4095;
  EXPECT_EQ(left_of_limit(kNone, 1'500'000'000, 1'600'000'000), kNone);
  EXPECT_EQ(left_of_limit(kNone, 1'500'000'000, 400'000'000), kNone - 1'100'000'000);
  EXPECT_GT(available_memory(), 0);
}

}  // namespace
}  // namespace manymeans
