// Several devices of this machine that share the rows. Without them nothing is tested here; composite_backend_test.cpp
// has devices that tests make.
#include <manymeans/fit.h>

#include "backend/composite/composite_backend.h"
#include "backend/composite/composite_upload.h"
#include "backend/devices.h"
#include "backend/upload_script.h"
#include "conformance/cases.h"
#include "data/shards.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

// Where there is only one, it is there twice.
std::vector<NamedBackend> all_cuda() {
  std::vector<NamedBackend> backends;
  const int count = device_count("cuda");
  for (int device = 0; device < std::max(2, count); ++device) {
    std::string name = fmt::format("cuda:{}", device % count);
    backends.push_back({name, make_backend(name, {})});
  }
  return backends;
}

// Whatever shares they have.
TEST(SeveralDevices, SayWhatOneOverAllRowsSays) {
  if (device_count("cuda") == 0) GTEST_SKIP() << "there is no CUDA device";
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Case made = random_case(72000 + seed);
    if (made.shape.n > 1100) continue;
    SCOPED_TRACE(fmt::format("{} seed {}", made.name, seed));
    const std::vector<NamedBackend> backends = all_cuda();
    ThreadPool pool(1);
    const Input input = prepare_input(made.points(), made.weights, pool);
    const std::vector<int64_t> ends = shard_ends(made.shape.n, static_cast<int>(backends.size()), seed);
    const auto upload = make_composite_upload(input, backends, ends, {});
    UploadScript script(input, *upload, made);
    ASSERT_EQ(script.run(), expected_script(made)) << upload->plan();
  }
}

// Overlapping clusters, as many rows, columns and clusters as are shared by themselves, and as many bytes as devices
// check.
struct LargePoints {
  static constexpr int64_t kRows = 160000, kColumns = 60;
  std::vector<float> values;
  std::vector<double> weights;

  LargePoints() : values(kRows * kColumns), weights(kRows) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (float& value : values) value = normal(random);
    for (size_t row = 0; row < weights.size(); ++row) {
      values[row * kColumns] += static_cast<float>(row % 40);
      weights[row] = static_cast<double>(row % 5);
    }
  }
  PointsView view() const { return {values.data(), kRows, kColumns}; }
};

TEST(SeveralDevices, WholeFitsAreThoseOfOne) {
  if (device_count("cuda") < 2) GTEST_SKIP() << "there are no two CUDA devices";
  const LargePoints points;
  FitOptions options;
  options.k = {900, 500};
  options.max_iter = 15;
  for (const char* init : {"k-means++", "k-means||", "random"}) {
    for (const bool weighted : {false, true}) {
      for (const EmptyPolicy empty : {EmptyPolicy::kFarthest, EmptyPolicy::kDrop}) {
        options.init = init;
        options.empty = empty;
        const std::span<const double> weights = weighted ? std::span(points.weights) : std::span<const double>();
        options.backend = "cuda:0";
        const FitResult one = fit(points.view(), weights, options);
        for (const char* several : {"cuda:all", "cpu,cuda:0"}) {
          options.backend = several;
          const FitResult shared = fit(points.view(), weights, options);
          EXPECT_EQ(one.digest(), shared.digest()) << init << " " << several << " " << shared.provenance.plan;
          EXPECT_NE(shared.provenance.plan.find("cuda:"), std::string::npos) << shared.provenance.plan;
        }
      }
    }
  }
}

// Sessions at the same time are no teams, whose devices would wait for each other's.
TEST(SeveralDevices, ManyModelsBySeveralStrategies) {
  if (device_count("cuda") < 2) GTEST_SKIP() << "there are no two CUDA devices";
  const LargePoints points;
  FitOptions options;
  options.k = {300};
  options.models = 20;
  options.max_iter = 6;
  options.init = "random";
  options.backend = "cuda:0";
  const std::string wanted = fit(points.view(), {}, options).digest();
  options.backend = "cuda:all";
  for (const Strategy strategy : {Strategy::kConcatenated, Strategy::kData, Strategy::kTask}) {
    options.strategy = strategy;
    EXPECT_EQ(fit(points.view(), {}, options).digest(), wanted);
  }
}

// Each device has all rows and half of the models.
TEST(SeveralDevices, ModelsOfShortPassesAreDealtOut) {
  if (device_count("cuda") < 2) GTEST_SKIP() << "there are no two CUDA devices";
  const LargePoints points;
  FitOptions options;
  options.k = {5, 12};
  options.models = 20;
  for (const char* init : {"k-means++", "k-means||", "random"}) {
    options.init = init;
    options.backend = "cuda:0";
    const std::string wanted = fit(points.view(), points.weights, options).digest();
    options.backend = "cuda:all";
    const FitResult found = fit(points.view(), points.weights, options);
    EXPECT_EQ(found.digest(), wanted) << init;
    EXPECT_NE(found.provenance.plan.find(" of 40 models: "), std::string::npos) << found.provenance.plan;
  }
}

// A checkpoint of two goes on with one, and with the cpu.
TEST(SeveralDevices, CheckpointsGoOnWithOthers) {
  if (device_count("cuda") < 2) GTEST_SKIP() << "there are no two CUDA devices";
  const LargePoints points;
  FitOptions options;
  options.k = {900};
  options.max_iter = 12;
  options.tol = 0;
  options.init = "random";
  options.backend = "cuda:0";
  const std::string wanted = fit(points.view(), {}, options).digest();
  for (const char* other : {"cuda:0", "cpu", "cuda:all"}) {
    const std::filesystem::path path = std::filesystem::temp_directory_path() / "manymeans-several-devices.ckpt";
    std::filesystem::remove(path);
    FitHooks hooks;
    hooks.checkpoint.path = path.string();
    hooks.progress = [](const Progress& progress) { return progress.iteration < 5; };
    options.backend = "cuda:all";
    fit(points.view(), {}, options, hooks);
    ASSERT_TRUE(std::filesystem::exists(path));
    hooks.progress = {};
    hooks.checkpoint.resume = true;
    options.backend = other;
    EXPECT_EQ(fit(points.view(), {}, options, hooks).digest(), wanted) << other;
  }
}

}  // namespace
}  // namespace manymeans::test
