// Arrays that are cut from one. Needs no device.
#include "product/cuda/memory_cutter.h"

#include <gtest/gtest.h>

#include <vector>

namespace manymeans::cuda {
namespace {

TEST(MemoryCutter, ArraysAreAlignedAndApartAndFitIntoWhatWasSaid) {
  MemoryCutter sizes(nullptr);
  EXPECT_EQ(sizes.cut<double>(33), nullptr);
  EXPECT_EQ(sizes.cut<std::byte>(1), nullptr);
  EXPECT_EQ(sizes.cut<int32_t>(0), nullptr);
  EXPECT_EQ(sizes.cut<int64_t>(64), nullptr);
  std::vector<std::byte> memory(static_cast<size_t>(sizes.bytes()));
  MemoryCutter cutter(memory.data());
  const auto place = [&memory](const void* at) { return static_cast<const std::byte*>(at) - memory.data(); };
  EXPECT_EQ(place(cutter.cut<double>(33)), 0);
  EXPECT_EQ(place(cutter.cut<std::byte>(1)), 2 * MemoryCutter::kAligned);
  EXPECT_EQ(place(cutter.cut<int32_t>(0)), 3 * MemoryCutter::kAligned);
  EXPECT_EQ(place(cutter.cut<int64_t>(64)), 3 * MemoryCutter::kAligned);
  EXPECT_EQ(cutter.bytes(), 5 * MemoryCutter::kAligned);
  EXPECT_EQ(cutter.bytes(), sizes.bytes());
}

}  // namespace
}  // namespace manymeans::cuda
