// How kernels are cut for a device: by its properties, and without changing an answer.
#include "backend/opencl/runtime/launch_parameters.h"

#include <manymeans/fit.h>

#include "backend/opencl/opencl_here.h"
#include "conformance/cases.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace manymeans::test {
namespace {

TEST(LaunchParameters, FollowFromTheDevice) {
  opencl::DeviceFacts device;
  device.local_memory = 32768;
  device.largest_group = 1024;
  device.float_lanes = 16;
  EXPECT_EQ(launch_parameters(device).group, 64);
  EXPECT_EQ(launch_parameters(device).width, 4);
  EXPECT_FALSE(launch_parameters(device).contiguous);
  device.largest_group = 7;
  EXPECT_EQ(launch_parameters(device).group, 7);
  device.local_memory = 0;
  EXPECT_EQ(launch_parameters(device).group, 1);
  device.processor = true;
  EXPECT_EQ(launch_parameters(device).columns, 4);
  EXPECT_EQ(launch_parameters(device).group, 1);
  EXPECT_TRUE(launch_parameters(device).contiguous);
  device.float_lanes = 8;
  EXPECT_EQ(launch_parameters(device).columns, 2);
}

class Contention : public OnOpenClDevice {
 protected:
  void TearDown() override { unsetenv("MANYMEANS_OPENCL_CONTENTION"); }
};

TEST_F(Contention, ChangesNoBits) {
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kIntegers, {3000, 5, {1}}, 4);
  FitOptions options;
  options.k = {17};
  options.backend = "reference";
  const std::string expected = fit(made.points(), made.weights, options).digest();
  options.backend = "opencl";
  for (const char* contention : {"high", "reduced"}) {
    setenv("MANYMEANS_OPENCL_CONTENTION", contention, 1);
    EXPECT_EQ(fit(made.points(), made.weights, options).digest(), expected) << contention;
  }
  setenv("MANYMEANS_OPENCL_CONTENTION", "none", 1);
  EXPECT_THROW(fit(made.points(), made.weights, options), Error);
}

}  // namespace
}  // namespace manymeans::test
