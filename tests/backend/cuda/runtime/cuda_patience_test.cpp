// How long a CUDA device is waited for. Needs none.
#include "backend/cuda/hopper_device.h"
#include "backend/cuda/pass/cuda_plan.h"
#include "core/threads.h"

#include <gtest/gtest.h>

#include <vector>

namespace manymeans::cuda {
namespace {

// The rule: two minutes, and fifty times what all distances take at a gigahertz.
TEST(CudaPatience, FollowsFromTheWork) {
  std::vector<float> values(300 * 20, 1.0F);
  ThreadPool pool(1);
  Input input = prepare_input({values.data(), 300, 20}, {}, pool);
  const auto usual = [&](int64_t n, int64_t d, const Workload& workload, const CudaDevice& device) {
    input.points.n = n;
    input.points.d = d;
    return make_cuda_plan(input, device, {.algorithm = "brute"}, 1, workload).usual_seconds;
  };
  CudaDevice large = hopper();
  large.memory_free = int64_t{1} << 60;
  EXPECT_NEAR(products_per_second(large), 2.1e12, 0.1e12);
  const double small = usual(300, 20, {}, large);
  EXPECT_LT(small, 1e-4);
  const double much = usual(2'000'000, 160, {1024, 1024}, large);
  EXPECT_GT(much, 2e6 * 168 * 1088 / 2.2e12);
  EXPECT_LT(much, 10) << "so a pass is given up after minutes";
  EXPECT_NEAR(usual(2'000'000, 160, {1024, 1024, 10, 1, 8}, large), 8 * much, 1e-6)
      << "eight sessions share the device";
  CudaDevice slow = large;
  slow.double_ratio = 64;
  EXPECT_GT(usual(2'000'000, 160, {1024, 1024}, slow), 3);
}

}  // namespace
}  // namespace manymeans::cuda
