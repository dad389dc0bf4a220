#include "backend/backend.h"
#include "backend/cuda/cuda_present.h"
#include "backend/cuda/queries/device_swap_scores.h"
#include "conformance/cases.h"
#include "engine/host_swap_scores.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

using cuda::DevicePoints;
using cuda::SwapRoom;

// What does not fit is said, before anything is asked of a device.
TEST(CudaSwapRoom, SaysWhyTheHostHasToScore) {
  const float x = 0;
  const int64_t much = int64_t{1} << 40;
  const auto refusal = [&](const DevicePoints& points, int64_t k) { return SwapRoom::make(points, k, much).refusal; };
  const DataType type = DataType::kFloat32;
  EXPECT_NE(refusal({nullptr, type, 100, 2}, 5).find("not all on the device"), std::string::npos);
  EXPECT_NE(refusal({&x, type, int64_t{1} << 31, 2}, 5).find("2^31 rows"), std::string::npos);
  EXPECT_NE(refusal({&x, type, 100, 5000}, 5).find("columns"), std::string::npos);
  EXPECT_NE(refusal({&x, type, 100'000, 2}, 70'000).find("clusters"), std::string::npos);
}

TEST(CudaSwapRoom, FollowsTheMemory) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const float x = 0;
  const DevicePoints points{&x, DataType::kFloat32, 1'000'000, 16};
  const SwapRoom roomy = SwapRoom::make(points, 200, int64_t{8} << 30);
  EXPECT_EQ(roomy.refusal, "");
  EXPECT_EQ(roomy.candidates, 200);
  const int64_t tight = 2 * (roomy.rows_bytes + 100 * roomy.candidate_bytes);
  EXPECT_EQ(SwapRoom::make(points, 200, tight).candidates, 100);
  const SwapRoom none = SwapRoom::make(points, 200, roomy.rows_bytes);
  EXPECT_NE(none.refusal.find("MB of the device's memory"), std::string::npos) << none.refusal;
}

void expect_hosts_swaps(const Case& made, int64_t device_memory, const char* plan) {
  ThreadPool pool(2);
  const Input input = prepare_input(made.points(), made.weights, pool);
  BackendOptions options;
  options.device_memory = device_memory;
  const std::unique_ptr<Backend> backend = make_backend("cuda", options);
  const std::unique_ptr<Upload> upload = backend->upload(input);
  const Matrix& model = made.prototypes[0];
  const std::unique_ptr<SwapScores> scores = upload->swap_scores(model.rows());
  EXPECT_NE(upload->plan().find(plan), std::string::npos) << upload->plan();
  if (!scores) return;
  const SearchRows rows(input, pool);
  HostSwapScores host(rows);
  for (int repeat = 0; repeat < 3; ++repeat) {  // a wait that lacks is seen seldom
    host.assign(model, pool);
    scores->assign(model, pool);
    const std::vector<int64_t> drawn = host.draw({1, 2, 3}, model.rows());
    ASSERT_EQ(scores->draw({1, 2, 3}, model.rows()), drawn);
    const std::vector<Swap> expected = host.swaps(drawn, pool);
    const std::vector<Swap> found = scores->swaps(drawn, pool);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].row, expected[i].row) << i;
      ASSERT_EQ(found[i].removed, expected[i].removed) << i;
      ASSERT_EQ(found[i].change, expected[i].change) << i;
    }
  }
}

TEST(CudaSwapScores, OfManyRows) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const char* const here = "swaps scored on the device";
  const auto many = [](int64_t n, int64_t d, int64_t k) {
    return make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {n, d, {k}}, 5);
  };
  expect_hosts_swaps(many(300'000, 16, 200), 0, here);
  expect_hosts_swaps(many(400'000, 3, 2), 0, here);  // long sums
  expect_hosts_swaps(many(30'000, 128, 150), 0, here);
}

TEST(CudaSwapScores, AreTheHostsWithoutRoom) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {300'000, 16, {200}}, 5);
  expect_hosts_swaps(made, int64_t{64} << 20, "swaps scored by the host: ");
}

}  // namespace
}  // namespace manymeans::test
