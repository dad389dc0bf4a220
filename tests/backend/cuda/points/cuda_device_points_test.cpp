// Points in the memory of a device give what the same points in the host's memory give, with whatever takes points.
#include <manymeans/error.h>
#include <manymeans/manymeans.h>

#include "backend/backend.h"
#include "backend/cuda/cuda_present.h"
#include "backend/cuda/runtime/device_memory.h"
#include "conformance/cases.h"
#include "core/threads.h"
#include "data/content_hash.h"
#include "data/gather.h"
#include "data/input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

using cuda::DeviceBuffer;

// A copy on the device that begins one row after the start of its buffer.
class OnDevice {
 public:
  explicit OnDevice(const PointsView& points) : view_(points) {
    const size_t row = static_cast<size_t>(points.d) * size_of(points.type);
    bytes_ = DeviceBuffer<std::byte>(points.bytes() + row, "points of a test");
    cuda::copy_to_device(bytes_.data() + row, static_cast<const std::byte*>(points.data), points.bytes(), stream_,
                         "points of a test");
    view_.data = bytes_.data() + row;
    view_.place = {"cuda", 0, static_cast<cudaStream_t>(stream_)};  // nobody else waits for the copy
  }
  const PointsView& view() const { return view_; }

 private:
  cuda::Stream stream_;
  DeviceBuffer<std::byte> bytes_;
  PointsView view_;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases = hostile_cases();
  for (uint64_t seed = 0; seed < 60; ++seed) cases.push_back(random_case(77000 + seed));
  return cases;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

FitOptions options_of(const Case& made, const char* backend) {
  FitOptions options;
  options.k = {std::min<int64_t>(made.shape.n, 5)};
  options.models = 2;
  options.max_iter = 12;
  options.backend = backend;
  const char* const inits[] = {"k-means++", "random", "k-means||"};
  options.init = inits[made.seed % 3];
  return options;
}

TEST(CudaDevicePoints, FitsAreThoseOfTheHostsPoints) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  for (const Case& made : all_cases()) {
    const OnDevice device(made.points());
    FitHooks hooks;
    hooks.progress = [](const Progress&) { return true; };  // reads the points for its estimates
    std::string found, expected;
    const std::string found_error =
        error_of([&] { found = fit(device.view(), made.weights, options_of(made, "auto"), hooks).digest(); });
    const std::string expected_error =
        error_of([&] { expected = fit(made.points(), made.weights, options_of(made, "cpu"), hooks).digest(); });
    ASSERT_EQ(found, expected) << made.name << " " << found_error;
    ASSERT_EQ(found_error, expected_error) << made.name;
  }
}

// The nodes are split where their rows were gathered. Points of the host are copied once, if they are large.
TEST(CudaDevicePoints, TreesAreThoseOfTheHostsPoints) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  std::vector<Case> cases = all_cases();
  for (const int64_t columns : {7, 32}) {
    cases.push_back(make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {700'000, columns, {7}}, 5));
    cases.push_back(make_case(Family::kNormal, DataType::kUInt8, Weighting::kRanges, {2'500'000, columns, {7}}, 5));
  }
  for (const Case& made : cases) {
    TreeOptions options;
    static_cast<FitOptions&>(options) = options_of(made, "cpu");
    options.k = {std::min<int64_t>(made.shape.n, 30)};
    options.max_iter = 3;
    options.branching = 4;
    options.quota = made.shape.n % 2 == 0 ? LeafQuota::kRows : LeafQuota::kInertia;
    std::string expected, found, copied;
    const std::string wrong = error_of([&] { expected = fit_tree(made.points(), made.weights, options, {}).digest(); });
    options.backend = "cuda";
    const OnDevice device(made.points());
    ASSERT_EQ(error_of([&] { found = fit_tree(device.view(), made.weights, options, {}).digest(); }), wrong);
    ASSERT_EQ(error_of([&] { copied = fit_tree(made.points(), made.weights, options, {}).digest(); }), wrong);
    ASSERT_EQ(found, expected) << made.name;
    ASSERT_EQ(copied, expected) << made.name;
  }
}

TEST(CudaDevicePoints, PredictionsDistancesScalingAndSummariesToo) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  for (const Case& made : all_cases()) {
    const OnDevice device(made.points());
    const OnDevice prototypes(made.prototypes[0].view());
    const auto same_bytes = [&](const Matrix& a, const Matrix& b) {
      return a.bytes().size() == b.bytes().size() &&
             std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0;
    };
    const PredictOptions how{.distances = true, .inertia = true, .weights = made.weights};
    const Prediction found = predict(device.view(), prototypes.view(), how);
    const Prediction expected = predict(made.points(), made.prototypes[0].view(), how);
    ASSERT_EQ(found.distances, expected.distances) << made.name;
    ASSERT_EQ(found.inertia, expected.inertia) << made.name;
    for (int64_t i = 0; i < made.shape.n; ++i) ASSERT_EQ(found.labels[i], expected.labels[i]) << made.name;
    ASSERT_TRUE(
        same_bytes(transform(device.view(), prototypes.view()), transform(made.points(), made.prototypes[0].view())))
        << made.name;

    const Scaling scaling = find_scaling(made.points(), Scale::kStandard);
    const Scaling of_device = find_scaling(device.view(), Scale::kStandard);
    ASSERT_EQ(of_device.offset, scaling.offset) << made.name;
    ASSERT_EQ(of_device.divisor, scaling.divisor) << made.name;
    ASSERT_TRUE(same_bytes(apply_scaling(device.view(), scaling), apply_scaling(made.points(), scaling))) << made.name;
    ASSERT_EQ(summarise_columns(device.view())[0].mean, summarise_columns(made.points())[0].mean) << made.name;
    ThreadPool pool(2);
    ASSERT_TRUE(content_hash(device.view(), pool) == content_hash(made.points(), pool)) << made.name;
    const std::vector<int64_t> rows = {made.shape.n - 1, 0, made.shape.n / 2};
    ASSERT_TRUE(same_bytes(gather_rows(device.view(), rows), gather_rows(made.points(), rows))) << made.name;
  }
}

TEST(CudaDevicePoints, FewRowsAreLabelledWithoutASession) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  for (const Case& made : all_cases()) {
    const OnDevice device(made.points());
    const auto prototypes = std::make_shared<const Matrix>(made.prototypes[0]);
    const auto labeller = make_backend("cuda", {})->labeller(prototypes);
    ASSERT_EQ(labeller->answers(device.view(), Wanted::kLabels), made.type != DataType::kFloat64) << made.name;
    ASSERT_FALSE(labeller->answers(made.points(), Wanted::kLabels)) << made.name;
    const Predictor predictor(prototypes->view());
    const Prediction expected = predictor.predict(made.points(), {.backend = "cpu", .distances = true});
    for (int time = 0; time < 2; ++time) {
      const Prediction found = predictor.predict(device.view(), {.distances = true});
      ASSERT_EQ(found.distances, expected.distances) << made.name;
      for (int64_t i = 0; i < made.shape.n; ++i) ASSERT_EQ(found.labels[i], expected.labels[i]) << made.name;
    }
  }
  Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {700, 9, {5}}, 1);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::memcpy(made.bytes.data() + 4 * (9 * 345 + 6), &bad, sizeof(bad));
    const OnDevice device(made.points());
    const Predictor predictor(made.prototypes[0].view());
    const auto said = [&](const PointsView& points) { return error_of([&] { predictor.predict(points, {}); }); };
    EXPECT_EQ(said(device.view()), said(made.points()));
    EXPECT_NE(said(device.view()), "");
  }
}

// Many points of the host's memory are copied before anybody has looked at them.
TEST(CudaCopiedPoints, GiveTheCpusAnswers) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16, DataType::kUInt8}) {
    for (const Weighting weighting : {Weighting::kNone, Weighting::kRanges}) {
      const auto columns = static_cast<int64_t>(160 / size_of(type));
      Case made = make_case(Family::kNormal, type, weighting, {300'000, columns, {7}}, 5);
      FitHooks hooks;
      int told = 0;
      hooks.progress = [&](const Progress&) { return ++told > 0; };
      for (const int64_t mib : {0, 100, 48}) {  // of the device: enough; for a copy and little else; not for a copy
        FitOptions options = options_of(made, "cuda");
        options.memory.bytes = mib << 20;
        const FitResult found = fit(made.points(), made.weights, options, hooks);
        const FitResult expected = fit(made.points(), made.weights, options_of(made, "cpu"));
        EXPECT_EQ(found.digest(), expected.digest()) << made.name << " " << mib << " " << found.provenance.plan;
      }
      EXPECT_GT(told, 0);
      if (type != DataType::kFloat32) continue;
      const float bad = std::numeric_limits<float>::infinity();
      std::memcpy(made.bytes.data() + 4 * (made.bytes.size() / 5), &bad, sizeof(bad));
      const std::string wanted = error_of([&] { fit(made.points(), made.weights, options_of(made, "cpu")); });
      EXPECT_EQ(error_of([&] { fit(made.points(), made.weights, options_of(made, "cuda")); }), wanted);
      EXPECT_NE(wanted.find("inf"), std::string::npos);
    }
  }
}

TEST(CudaDevicePoints, BadValuesAreNamedAsOnTheHost) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  FitOptions options;
  options.k = {2};
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16, DataType::kBFloat16}) {
      Case made = make_case(Family::kNormal, type, Weighting::kNone, {3000, 7, {2}}, 5);
      const size_t size = size_of(type);
      for (const size_t at : {size_t{20999}, size_t{8003}}) {  // the first one is named, found last or not
        if (type == DataType::kFloat32) {
          const auto value = static_cast<float>(bad);
          std::memcpy(made.bytes.data() + at * size, &value, size);
        } else if (type == DataType::kFloat64) {
          std::memcpy(made.bytes.data() + at * size, &bad, size);
        } else {  // an infinity of either 16-bit type; NaN with one more bit
          const auto bits =
              static_cast<uint16_t>((type == DataType::kFloat16 ? 0x7C00 : 0x7F80) + (bad != bad ? 1 : 0));
          std::memcpy(made.bytes.data() + at * size, &bits, size);
        }
        const OnDevice device(made.points());
        const std::string expected = error_of([&] { fit(made.points(), {}, options); });
        ASSERT_NE(expected.find("every value must be finite"), std::string::npos) << expected;
        ASSERT_EQ(error_of([&] { fit(device.view(), {}, options); }), expected);
      }
    }
  }
}

TEST(CudaDevicePoints, ACheckpointOfOneGoesOnWithTheOther) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {5000, 20, {8}}, 3);
  const OnDevice device(made.points());
  const std::string path = (std::filesystem::temp_directory_path() / "manymeans_device_points.ckpt").string();
  std::filesystem::remove(path);
  FitOptions options;
  options.k = {8};
  options.max_iter = 40;
  FitHooks hooks;
  hooks.checkpoint = {path, 1, true};
  int passes = 0;
  hooks.progress = [&](const Progress&) { return ++passes < 4; };
  EXPECT_TRUE(fit(device.view(), {}, options, hooks).interrupted);
  hooks.progress = {};
  const std::string expected = fit(made.points(), {}, options).digest();
  EXPECT_EQ(fit(made.points(), {}, options, hooks).digest(), expected);
  EXPECT_EQ(fit(device.view(), {}, options, hooks).digest(), expected);
  std::filesystem::remove(path);
}

TEST(CudaDevicePoints, AreWrittenToFiles) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {3000, 4, {2}}, 5);
  const OnDevice device(made.points());
  Dataset dataset;
  dataset.view = device.view();
  const std::string path = (std::filesystem::temp_directory_path() / "manymeans_device_points.npy").string();
  write_points(path, dataset);
  const Dataset read = read_points(path);
  ASSERT_EQ(read.view.bytes(), made.bytes.size());
  EXPECT_EQ(std::memcmp(read.view.data, made.bytes.data(), made.bytes.size()), 0);
  std::filesystem::remove(path);
}

TEST(CudaDevicePoints, WrongPlacesAreRefused) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {30, 4, {2}}, 5);
  const OnDevice device(made.points());
  EXPECT_EQ(place_of(device.view().data).device, 0);
  FitOptions options;
  options.k = {2};
  PointsView wrong = device.view();
  wrong.data = static_cast<const std::byte*>(wrong.data) + 1;
  EXPECT_NE(error_of([&] { fit(wrong, {}, options); }).find("multiple of the size"), std::string::npos);
  wrong = device.view();
  wrong.place.device = 99;
  EXPECT_NE(error_of([&] { fit(wrong, {}, options); }).find("no device 99"), std::string::npos);
  wrong = made.points();
  wrong.place = {"cuda"};
  EXPECT_NE(error_of([&] { fit(wrong, {}, options); }).find("host's memory"), std::string::npos);
}

}  // namespace
}  // namespace manymeans::test
