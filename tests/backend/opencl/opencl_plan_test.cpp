// What is planned for a shape and a device, without a device.
#include "backend/opencl/pass/opencl_plan.h"

#include <manymeans/error.h>

#include "conformance/cases.h"
#include "core/threads.h"

#include <gtest/gtest.h>

#include <string>

namespace manymeans::test {
namespace {

using opencl::OpenClPlan;
using opencl::UsedDevice;

UsedDevice some_device() {
  UsedDevice device;
  device.facts.name = "a device";
  device.facts.global_memory = int64_t{1} << 30;
  device.facts.largest_buffer = int64_t{1} << 28;
  return device;
}

class OpenClPlanTest : public testing::Test {
 protected:
  OpenClPlan plan(const UsedDevice& device, const BackendOptions& options = {}) {
    return opencl::make_plan(input_, device, options, {.max_clusters = 10, .all_clusters = 10});
  }

  ThreadPool pool_{1};
  const Case made_ = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {200000, 10, {10}}, 4);  // 8 MB
  const Input input_ = prepare_input(made_.points(), {}, pool_);
};

TEST_F(OpenClPlanTest, EverythingIsOnADeviceWithRoom) {
  const OpenClPlan found = plan(some_device());
  EXPECT_TRUE(found.whole(made_.shape.n));
  EXPECT_FALSE(found.exact);
}

// Points of which one allocation would be too large come in slices, and as many as one holds stay.
TEST_F(OpenClPlanTest, TheLargestAllocationCounts) {
  UsedDevice device = some_device();
  device.facts.largest_buffer = int64_t{3} << 20;
  const OpenClPlan found = plan(device);
  EXPECT_FALSE(found.whole(made_.shape.n));
  EXPECT_GT(found.resident_rows, 0);
  EXPECT_LE(found.resident_rows * 40, device.facts.largest_buffer);
  EXPECT_EQ(found.resident_rows % found.slice_rows, 0);
  EXPECT_NE(found.text.find("are copied to the device in every pass"), std::string::npos) << found.text;
}

TEST_F(OpenClPlanTest, AMemoryLimitMakesSlices) {
  const OpenClPlan found = plan(some_device(), {.device_memory = int64_t{6} << 20});
  EXPECT_FALSE(found.whole(made_.shape.n));
  EXPECT_LE(found.upload_bytes, int64_t{6} << 20);
  EXPECT_THROW(plan(some_device(), {.device_memory = 100000}), Error);
}

TEST_F(OpenClPlanTest, TellsTheLeavesOfATree) {
  const std::string text = plan(some_device(), {.algorithm = "kdtree"}).text;
  EXPECT_NE(text.find("kd-tree of 6250 leaves that the host sorts"), std::string::npos) << text;
}

TEST_F(OpenClPlanTest, BruteForceHasNoScreen) {
  EXPECT_TRUE(plan(some_device(), {.algorithm = "brute"}).exact);
}

}  // namespace
}  // namespace manymeans::test
