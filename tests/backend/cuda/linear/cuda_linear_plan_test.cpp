// What the cuda backend decides for linear models before it touches a device. Needs no device.
#include <manymeans/error.h>

#include "backend/cuda/hopper_device.h"
#include "backend/cuda/linear/linear_plan.h"
#include "core/threads.h"
#include "io/files.h"
#include "prototype/linear_model.h"

#include <gtest/gtest.h>

#include <vector>

namespace manymeans::test {
namespace {

using cuda::LinearPlan;

struct Points {
  std::vector<float> values;
  Input input;

  Points(int64_t n, int64_t d) {
    for (int64_t i = 0; i < n * d; ++i) values.push_back(static_cast<float>(i % 97) / 8);
    ThreadPool pool(1);
    input = prepare_input({values.data(), n, d}, {}, pool);
    use_prototype(input, linear_model(), pool);
  }
};

cuda::CudaDevice device_with(int64_t mebibytes) {
  cuda::CudaDevice device = cuda::hopper();
  device.memory_free = mebibytes << 20;
  return device;
}

TEST(CudaLinearPlan, TakesAllRowsWhereTheyFit) {
  const Points points(200'000, 5);
  const Workload workload{.max_clusters = 8, .all_clusters = 32, .models = 4};
  const LinearPlan all = cuda::make_linear_plan(points.input, cuda::hopper(), {}, workload);
  EXPECT_TRUE(all.whole(200'000));
  EXPECT_EQ(all.text.find("rows at a time"), std::string::npos) << all.text;
  EXPECT_GT(all.usual_seconds, 0);
  EXPECT_GE(all.upload_bytes, 200'000 * 5 * 4);
  const LinearPlan parts = cuda::make_linear_plan(points.input, device_with(256 + 8), {}, workload);
  EXPECT_LT(parts.slice_rows, 200'000);
  EXPECT_NE(parts.text.find("rows at a time"), std::string::npos) << parts.text;
  expect_error(ErrorCode::kUnavailable, {"cuda device memory"},
               [&] { cuda::make_linear_plan(points.input, device_with(256 + 1), {}, workload); });
}

// Sessions count what they allocate.
TEST(CudaLinearPlan, CountsSumsOfAllProducts) {
  const Points few(5000, 3);
  const Points many(5000, 33);
  const std::vector<int64_t> k = {10, 20};
  const device::SlicePlan whole{5000, 5000};
  const auto terms = [](const Points& points) { return static_cast<int64_t>(points.input.columns.size()); };
  EXPECT_EQ(terms(few), 2 * (3 * 4 / 2 + 3));
  const int64_t more = 30 * 8 * (terms(many) * many.input.limbs - terms(few) * few.input.limbs);
  EXPECT_EQ(cuda::linear_session_bytes(many.input, whole, k) - cuda::linear_session_bytes(few.input, whole, k),
            more + 30 * 2 * 4 * (33 - 3));
  EXPECT_EQ(cuda::product_entries(few.input, whole, 2), 2 * 2 * 8192);
  EXPECT_EQ(cuda::product_entries(few.input, {4096, 0}, 2), 2 * 2 * 4096);
}

// Where the numbers of a cluster have room in a multiprocessor's memory.
TEST(CudaLinearPlan, SolvesOnTheDeviceWhatFitsThere) {
  using cuda::SolveWords;
  cuda::CudaDevice ampere = cuda::hopper();
  ampere.major = 8;
  ampere.minor = 6;
  ampere.shared_bytes = 99 << 10;
  const auto plan = [](int64_t d, const cuda::CudaDevice& device) {
    const Points points(500, d);
    return cuda::make_linear_plan(points.input, device, {}, {});
  };
  for (const int64_t d : {2, 17, 40, 65}) {
    const LinearPlan found = plan(d, cuda::hopper());
    EXPECT_EQ(found.solve, SolveWords::kFew) << d;
    EXPECT_NE(found.text.find("sums of products and solves on"), std::string::npos) << found.text;
    EXPECT_LT(cuda::solve_bytes(found.solve, d), size_t{227} << 10);
  }
  EXPECT_EQ(plan(40, ampere).solve, SolveWords::kFew);
  EXPECT_EQ(plan(65, ampere).solve, SolveWords::kNone);
  const LinearPlan large = plan(120, cuda::hopper());
  EXPECT_EQ(large.solve, SolveWords::kNone);
  EXPECT_NE(large.text.find("models are solved"), std::string::npos) << large.text;
}

// The wider the values' range, the more words a sum has.
TEST(CudaLinearPlan, SolvesInAsManyWordsAsSumsNeed) {
  using cuda::SolveWords;
  const auto plan = [](double largest) {
    std::vector<double> values(3 * 500);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 1 + static_cast<double>(i % 97) / 8;
    values[4] = largest;
    ThreadPool pool(1);
    Input input = prepare_input({values.data(), 500, 3}, {}, pool);
    use_prototype(input, linear_model(), pool);
    return cuda::make_linear_plan(input, cuda::hopper(), {}, {}).solve;
  };
  EXPECT_EQ(plan(1), SolveWords::kFew);
  EXPECT_EQ(plan(0x1p60), SolveWords::kFew);
  EXPECT_EQ(plan(0x1p100), SolveWords::kMany);
  EXPECT_EQ(plan(0x1p300), SolveWords::kMany);
}

TEST(CudaLinearPlan, RefusesAlgorithmsOfCentroids) {
  const Points points(300, 3);
  for (const char* algorithm : {"matrix", "bounds", "kdtree"}) {
    expect_error(ErrorCode::kUsage, {"algorithm", algorithm, "auto and brute"},
                 [&] { cuda::make_linear_plan(points.input, cuda::hopper(), {.algorithm = algorithm}, {}); });
  }
  EXPECT_NO_THROW(cuda::make_linear_plan(points.input, cuda::hopper(), {.algorithm = "brute"}, {}));
}

}  // namespace
}  // namespace manymeans::test
