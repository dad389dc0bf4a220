// Many rows, many times: what goes wrong once in a hundred thousand rows, because something was not waited for, shows
// here. Every kernel of the matrix screen has a shape; small cases are the conformance tests' business.
#include <manymeans/fit.h>

#include "backend/cuda/cuda_present.h"
#include "core/random.h"
#include "core/threads.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

// Sums of four uniform numbers: no structure, and no row is far out.
std::vector<float> noise(int64_t n, int64_t d) {
  std::vector<float> values(static_cast<size_t>(n * d));
  ThreadPool pool(usable_threads());
  pool.for_each_range(n * d, 1 << 16, [&](int, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const uint64_t bits = random_u64(1, static_cast<uint64_t>(i), 0, Purpose::kOversample);
      float sum = 0;
      for (int part = 0; part < 4; ++part) sum += static_cast<float>(bits >> (16 * part) & 0xffff);
      values[static_cast<size_t>(i)] = sum * 0x1p-16F - 2;
    }
  });
  return values;
}

struct RepeatedShape {
  int64_t n, d, k, models;
};

class CudaRepeats : public testing::TestWithParam<RepeatedShape> {};

TEST_P(CudaRepeats, AllAreTheCpusAnswer) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const RepeatedShape shape = GetParam();
  const std::vector<float> values = noise(shape.n, shape.d);
  FitOptions options;
  options.k = {shape.k};
  options.models = shape.models;
  options.init = "random";
  options.max_iter = 3;
  options.backend = "cpu";
  const PointsView points(values.data(), shape.n, shape.d);
  const std::string expected = fit(points, {}, options).digest();
  options.backend = "cuda";
  for (int repeat = 0; repeat < 5; ++repeat) ASSERT_EQ(fit(points, {}, options).digest(), expected) << repeat;
}

INSTANTIATE_TEST_SUITE_P(Kernels, CudaRepeats,
                         testing::Values(RepeatedShape{400000, 2, 10, 20},     // boxes
                                         RepeatedShape{200000, 3, 300, 2},     // and labels of two bytes
                                         RepeatedShape{10000, 64, 100, 1},     // all passes in one kernel
                                         RepeatedShape{51200, 160, 32, 1},     //
                                         RepeatedShape{30000, 32, 33, 4},      //
                                         RepeatedShape{5000, 300, 200, 2},     //
                                         RepeatedShape{400000, 8, 100, 4},     // float32, points in registers
                                         RepeatedShape{200000, 32, 64, 4},     // short rows, 64 columns a tile
                                         RepeatedShape{200000, 64, 64, 3},     //
                                         RepeatedShape{200000, 96, 50, 3},     //
                                         RepeatedShape{200000, 128, 64, 2},    //
                                         RepeatedShape{200000, 48, 128, 3},    // 128 columns a tile
                                         RepeatedShape{200000, 100, 256, 4},   //
                                         RepeatedShape{400000, 128, 128, 1},   //
                                         RepeatedShape{200000, 128, 1000, 2},  // and possible prototypes gathered
                                         RepeatedShape{100000, 200, 128, 2},   // long rows, resident
                                         RepeatedShape{100000, 500, 300, 1},   //
                                         RepeatedShape{50000, 800, 1000, 1}),  // long rows, streamed
                         [](const testing::TestParamInfo<RepeatedShape>& shape) {
                           return std::to_string(shape.param.n) + "x" + std::to_string(shape.param.d) + "_k" +
                                  std::to_string(shape.param.k) + "_models" + std::to_string(shape.param.models);
                         });

}  // namespace
}  // namespace manymeans::test
