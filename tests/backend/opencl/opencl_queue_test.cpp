// Memory, queues and events of a device, and its arithmetic.
#include "backend/opencl/kernels/kernel_sources.h"
#include "backend/opencl/opencl_here.h"
#include "backend/opencl/runtime/device_check.h"
#include "backend/opencl/runtime/kernel_launch.h"

#include <numeric>
#include <vector>

namespace manymeans::test {
namespace {

using device::Buffer;
using device::PinnedBytes;
using device::Queue;
using device::Settled;

class OpenClQueueTest : public OnOpenClDevice {};

TEST_F(OpenClQueueTest, CopiesBothWaysAtAnyOffset) {
  const std::unique_ptr<Queue> queue = device_->make_queue({});
  const Buffer there(*device_, 1000, "test data");
  std::vector<unsigned char> sent(600), found(1000);
  std::iota(sent.begin(), sent.end(), static_cast<unsigned char>(0));
  const Settled settled(*queue);
  queue->fill(there.at(), std::byte{7}, 1000, "test data");
  queue->copy_to_device(there.at(100), sent.data(), sent.size(), "test data");
  queue->fill(there.at(300), std::byte{9}, 10, "test data");
  queue->read_back(found.data(), there.at(), found.size(), "reading test data");
  for (size_t i = 0; i < found.size(); ++i) {
    const bool nine = i >= 300 && i < 310;
    const bool copied = i >= 100 && i < 700;
    EXPECT_EQ(found[i], nine ? 9 : (copied ? sent[i - 100] : 7)) << i;
  }
}

TEST_F(OpenClQueueTest, AQueueWaitsForAnothersEvent) {
  const std::unique_ptr<Queue> first = device_->make_queue({});
  const std::unique_ptr<Queue> second = device_->make_queue({});
  const std::unique_ptr<device::Event> event = device_->make_event();
  event->synchronize(*first, "an event that was never recorded");
  const size_t bytes = size_t{64} << 20;
  const Buffer there(*device_, bytes, "test data");
  const PinnedBytes here(*device_, bytes, "test data");
  const Settled first_settled(*first), second_settled(*second);
  for (int round = 1; round < 5; ++round) {
    first->fill(there.at(), std::byte(round), bytes, "test data");
    event->record(*first);
    second->wait_for(*event, "waiting for the other queue");
    second->copy_to_host(here.data(), there.at(), bytes, "reading test data");
    second->synchronize("reading test data");
    EXPECT_EQ(here.data()[0], std::byte(round));
    EXPECT_EQ(here.data()[bytes - 1], std::byte(round));
  }
}

// Of Ubuntu 22.04, Debian 12, Ubuntu 24.04, later ones; NVIDIA's and AMD's.
TEST(OpenClPlatform, WhoRunsSeveralQueues) {
  EXPECT_FALSE(opencl::runs_several_queues("OpenCL 2.0 pocl 1.8  Linux, None+Asserts, RELOC, LLVM 11.1.0, SLEEF"));
  EXPECT_FALSE(
      opencl::runs_several_queues("OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts, RELOC, SPIR, LLVM 14.0.6"));
  EXPECT_FALSE(
      opencl::runs_several_queues("OpenCL 3.0 PoCL 5.0+debian  Linux, None+Asserts, RELOC, SPIR-V, LLVM 16.0.6"));
  EXPECT_TRUE(opencl::runs_several_queues("OpenCL 3.0 PoCL 6.0  Linux, Release, RELOC, SPIR-V, LLVM 18.1.8"));
  EXPECT_TRUE(opencl::runs_several_queues("OpenCL 3.0 PoCL 10.1  Linux"));
  EXPECT_TRUE(opencl::runs_several_queues("OpenCL 3.0 CUDA 13.0.84"));
  EXPECT_TRUE(opencl::runs_several_queues("OpenCL 2.1 AMD-APP (3581.0)"));
}

TEST_F(OpenClQueueTest, PinnedMemoryIsKnownByItsAddress) {
  const PinnedBytes here(*device_, 1000, "test data");
  EXPECT_TRUE(device_->is_pinned(here.data()));
  EXPECT_TRUE(device_->is_pinned(here.data() + 999));
}

TEST_F(OpenClQueueTest, TheDeviceComputesAsTheContractAsks) {
  EXPECT_TRUE(opencl::computes_alike(*device_));
}

}  // namespace
}  // namespace manymeans::test
