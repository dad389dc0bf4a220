// Memory that the process keeps between fits.
#include "backend/cuda/cuda_present.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kept_memory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace manymeans::cuda {
namespace {

using Clock = std::chrono::steady_clock;

int64_t free_memory() {
  DeviceMemory there;
  check(ask_device_memory(&there), "asking for the device's free memory");
  return static_cast<int64_t>(there.free);
}

TEST(CudaMemory, WhatIsKeptCountsAsFree) {
  if (!test::device_present()) GTEST_SKIP() << "no CUDA device";
  size_t free = 0;
  size_t all = 0;
  check(cudaMemGetInfo(&free, &all), "asking for the device's free memory");
  const auto bytes = static_cast<int64_t>(all / 8);  // more than may be kept
  constexpr int64_t kPages = int64_t{64} << 20;      // what the pool takes may be that much more
  { const DeviceBuffer<std::byte> first(1, "the first of the process"); }
  const int64_t before = free_memory();
  {
    const DeviceBuffer<std::byte> much(static_cast<size_t>(bytes), "much");
    EXPECT_NEAR(static_cast<double>(before - free_memory()), static_cast<double>(bytes), kPages);
  }
  EXPECT_NEAR(static_cast<double>(free_memory()), static_cast<double>(before), kPages);
  trim_device_memory();
  check(cudaMemGetInfo(&free, &all), "asking for the device's free memory");
  EXPECT_GE(static_cast<int64_t>(free) + static_cast<int64_t>(all / 16) + kPages, before) << "for others";
}

TEST(CudaMemory, PinnedMemoryIsUsedAgain) {
  if (!test::device_present()) GTEST_SKIP() << "no CUDA device";
  const std::byte* place = nullptr;
  {
    PinnedBuffer<std::byte> some(100'000, "some");
    place = some.data();
    EXPECT_NE(PinnedBuffer<std::byte>(100'000, "more").data(), place);
  }
  PinnedBuffer<std::byte> again(90'000, "again"), other(90'000, "another");
  EXPECT_TRUE(again.data() == place || other.data() == place);
  std::vector<PinnedBuffer<std::byte>> many;
  for (int i = 0; i < 8; ++i) many.emplace_back(size_t{16} << 20, "more than is kept");
}

void sleep_for_two_seconds(void*) {
  std::this_thread::sleep_for(std::chrono::seconds(2));
}

// cudaFree() would wait for all work of the device, which may never end.
TEST(CudaMemory, NobodyWaitsForOthersWork) {
  if (!test::device_present()) GTEST_SKIP() << "no CUDA device";
  const Stream busy;
  check(cudaLaunchHostFunc(busy, sleep_for_two_seconds, nullptr), "keeping a stream busy");
  const auto begin = Clock::now();
  for (const size_t bytes : {size_t{1000}, size_t{1} << 20, size_t{1} << 28}) {
    const DeviceBuffer<std::byte> there(bytes, "test data");
    const PinnedBuffer<std::byte> here(bytes / 100, "test data");
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1));
  busy.synchronize("waiting for a busy stream");
}

}  // namespace
}  // namespace manymeans::cuda
