// Points that do not fit the memory that the device may use: the same answers, slice by slice. Sessions over slices of
// small cases are the conformance tests' business (targets "cuda/../slices").
#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "backend/backend.h"
#include "backend/cuda/cuda_present.h"
#include "backend/cuda/runtime/device_memory.h"
#include "core/digest.h"
#include "core/random.h"
#include "core/threads.h"
#include "data/input.h"
#include "prototype/prototype.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

std::vector<float> noise(int64_t n, int64_t d) {
  std::vector<float> values;
  for (int64_t i = 0; i < n * d; ++i) {
    const uint64_t bits = random_u64(3, static_cast<uint64_t>(i), 0, Purpose::kOversample);
    values.push_back(static_cast<float>(bits >> 40) * 0x1p-22F + static_cast<float>(i / d % 5));
  }
  return values;
}

struct SlicedShape {
  int64_t n, d, k, models, mib;  // mib: what the device may use
};

class CudaSlices : public testing::TestWithParam<SlicedShape> {
 protected:
  void SetUp() override {
    if (!device_present()) GTEST_SKIP() << "no CUDA device";
    options_.k = {shape_.k, shape_.k + 3};
    options_.models = shape_.models;
    options_.max_iter = 4;
  }

  // Whether fits under the limit give the cpu backend's answer, and stream.
  void compare(std::initializer_list<Strategy> strategies) {
    options_.backend = "cpu";
    options_.memory.bytes = 0;
    const std::string expected = fit(view_, weights_, options_).digest();
    options_.backend = "cuda";
    options_.memory.bytes = shape_.mib * kMiB;
    for (const Strategy strategy : strategies) {
      options_.strategy = strategy;
      options_.threads = 2;
      const FitResult result = fit(view_, weights_, options_);
      EXPECT_EQ(result.digest(), expected) << options_.init << " " << name_of(strategy);
      EXPECT_NE(result.provenance.plan.find("copied to the device in every pass"), std::string::npos)
          << result.provenance.plan;
    }
  }

  SlicedShape shape_ = GetParam();
  std::vector<float> values_ = noise(shape_.n, shape_.d);
  PointsView view_{values_.data(), shape_.n, shape_.d};
  std::vector<double> weights_;
  FitOptions options_;
};

TEST_P(CudaSlices, GiveTheCpusAnswer) {
  options_.init = "random";
  compare({Strategy::kConcatenated, Strategy::kData, Strategy::kTask});
}

// By the host.
TEST_P(CudaSlices, AreSeeded) {
  for (const char* init : {"k-means++", "k-means||"}) {
    options_.init = init;
    compare({Strategy::kConcatenated});
  }
}

TEST_P(CudaSlices, OfWeightedPointsToo) {
  for (int64_t i = 0; i < shape_.n; ++i) weights_.push_back(static_cast<double>(i % 7) / 4);
  shape_.mib += shape_.n * 8 / kMiB;  // they stay on the device
  options_.init = "random";
  options_.stop = "inertia:1e-9";
  compare({Strategy::kConcatenated});
}

// What a session answers beside passes.
TEST_P(CudaSlices, HaveTheSameDistancesAndRows) {
  ThreadPool pool(usable_threads());
  const Input input = prepare_input(view_, {}, pool);
  const Matrix prototypes = make_prototypes({values_.data(), shape_.k, shape_.d}, DataType::kFloat32);
  PassModel pass{0, &prototypes, {}};
  const auto session_of = [&](const char* name, std::unique_ptr<Backend>& backend, std::unique_ptr<Upload>& upload) {
    backend = make_backend(name, {.device_memory = shape_.mib * kMiB});
    upload = backend->upload(input, {shape_.k, shape_.k, 1});
    std::unique_ptr<Session> session = upload->session({&shape_.k, 1}, 0);
    session->advance({&pass, 1}, 1);
    return session;
  };
  std::unique_ptr<Backend> cpu, cuda;
  std::unique_ptr<Upload> cpu_upload, cuda_upload;
  const auto expected = session_of("cpu", cpu, cpu_upload);
  const auto found = session_of("cuda", cuda, cuda_upload);
  EXPECT_NE(cuda_upload->plan().find("every pass"), std::string::npos) << cuda_upload->plan();
  EXPECT_EQ(found->rows().distances(0, prototypes), expected->rows().distances(0, prototypes));
  const ModelPrototypes model{0, &prototypes};
  const InertiaSum a = found->rows().inertias({&model, 1})[0];
  const InertiaSum b = expected->rows().inertias({&model, 1})[0];
  EXPECT_EQ(rounded_sum(a.limbs.data(), a.format), rounded_sum(b.limbs.data(), b.format));
  const auto far = expected->rows().farthest_rows(0, prototypes, 100);
  const auto far_found = found->rows().farthest_rows(0, prototypes, 100);
  ASSERT_EQ(far.size(), far_found.size());
  for (size_t i = 0; i < far.size(); ++i) EXPECT_EQ(far[i].row, far_found[i].row) << i;
  for (const DistantRow& row : far) {
    for (Session* session : {expected.get(), found.get()}) session->move_row(0, row.row, (row.label + 1) % 3);
  }
  EXPECT_EQ(expected->statistics(0).counts, found->statistics(0).counts);
  EXPECT_TRUE(label_sum(expected->labels(0)) == label_sum(found->labels(0)));
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudaSlices,
                         testing::Values(SlicedShape{1'000'000, 2, 10, 1, 8},      // float32, points in registers
                                         SlicedShape{300'000, 40, 60, 1, 40},      // fp16, all distances at once
                                         SlicedShape{100'000, 200, 300, 2, 60}));  // candidates, sums by label

// Points that lie on the device stay there; what is rounded for the screen is not kept.
TEST(CudaSlicesOfDevicePoints, AreRoundedInEveryPass) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const std::vector<float> values = noise(200'000, 160);
  FitOptions options;
  options.k = {50};
  options.init = "k-means++";
  options.max_iter = 4;
  const std::string expected = fit({values.data(), 200'000, 160}, {}, options).digest();
  cuda::DeviceBuffer<float> copy(values.size(), "points of a test");
  const cuda::Stream stream;
  cuda::copy_to_device(copy.data(), values.data(), values.size(), stream, "points of a test");
  PointsView points(copy.data(), 200'000, 160);
  points.place = {"cuda", 0, static_cast<cudaStream_t>(stream)};
  options.backend = "cuda";
  options.memory.bytes = 40 * kMiB;
  const FitResult result = fit(points, {}, options);
  EXPECT_EQ(result.digest(), expected);
  EXPECT_NE(result.provenance.plan.find("rounded again in every pass"), std::string::npos) << result.provenance.plan;
}

}  // namespace
}  // namespace manymeans::test
