// Streams that the process keeps between fits.
#include "backend/cuda/cuda_present.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kept_streams.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <vector>

namespace manymeans::cuda {
namespace {

TEST(CudaKeptStreams, AreUsedAgainByOneAtATime) {
  if (!test::device_present()) GTEST_SKIP() << "no CUDA device";
  std::optional<Stream> first(std::in_place);
  const cudaStream_t stream = *first;
  const Stream second;
  EXPECT_NE(static_cast<cudaStream_t>(second), stream);
  first.reset();
  const Stream again;
  EXPECT_EQ(static_cast<cudaStream_t>(again), stream);
}

TEST(CudaKeptStreams, ManyComeAndGo) {
  if (!test::device_present()) GTEST_SKIP() << "no CUDA device";
  constexpr size_t kMany = 40;  // more than are kept
  for (int round = 0; round < 2; ++round) {
    std::vector<Stream> streams(kMany);
    std::set<cudaStream_t> different;
    PinnedBuffer<int> there(1, "a value of a test");
    DeviceBuffer<int> value(1, "a value of a test");
    for (const Stream& stream : streams) {
      different.insert(stream);
      const Settled settled(stream);
      there[0] = 1;
      fill_zero(value.data(), 1, stream, "a value of a test");
      copy_to_host(there, value.data(), 1, stream, "a value of a test");
      stream.synchronize("a value of a test");
      ASSERT_EQ(there[0], 0);
    }
    EXPECT_EQ(different.size(), kMany);
  }
}

}  // namespace
}  // namespace manymeans::cuda
