// Linear models: every instruction set of the cpu backend, every device and the stand-in for devices against the
// reference, on the cases of centroids, whose last column is the target here and whose prototypes are models, and on
// near-ties of residuals.
#include <manymeans/error.h>

#include "conformance/cases.h"
#include "conformance/trace.h"
#include "conformance/variants.h"
#include "core/threads.h"
#include "prototype/linear_model.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace manymeans::test {
namespace {

bool has_linear_models(const Target& target) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 7};
  ThreadPool pool(1);
  Input input = prepare_input({values.data(), 3, 2}, {}, pool);
  use_prototype(input, linear_model(), pool);
  try {
    target.make("auto", 1)->upload(input);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUsage) throw;
    fmt::print("[ NOT HERE ] {}\n", error.what());
    return false;
  }
}

// One target an instruction set: residuals have one screen. Devices have none.
std::vector<Target> linear_targets() {
  std::vector<Target> found = async_targets();
  for (Target& target : targets()) {
    const bool one = target.screen_format == "float32" || target.screen_format.empty();
    if (one && has_linear_models(target)) found.push_back(std::move(target));
  }
  return found;
}

bool has_screen(const Target& target) {
  return target.backend == "cpu";
}

// Statistics have twice the square of the columns in terms, and are solved in exact numbers.
bool takes_long(const Shape& shape) {
  int64_t clusters = 0;
  for (const int64_t k : shape.k) clusters += k;
  return clusters * shape.d * shape.d > 4000;
}

class LinearModels : public testing::Test {
 protected:
  void SetUp() override {
    if (targets_.empty()) GTEST_SKIP() << "there is no backend to compare with the reference";
    screens_ = std::ranges::any_of(targets_, has_screen);
  }

  void compare(const Case& made, std::initializer_list<int> threads) {
    const Trace expected = trace_of(*reference_, made, 0, linear_model());
    ++cases_;
    for (const Target& target : targets_) {
      for (const char* algorithm : {"auto", "brute"}) {
        if (!has_turn(target, algorithm)) continue;
        for (const int count : threads) {
          if (!has_screen(target) && count != *threads.begin()) continue;  // the host's threads compute nothing
          const Trace found = trace_of(*target.make(algorithm, count), made, 0, linear_model());
          EXPECT_EQ(first_difference(expected, found), "")
              << made.name << " on " << target.name() << ", " << count << " threads, " << algorithm;
          certified_ += found.certified;
          resolved_ += found.resolved;
        }
      }
    }
  }

  // Without a screen, algorithms differ in who updates, if at all; the stand-in is slow, too, and so is building
  // kernels for a shape.
  bool has_turn(const Target& target, std::string_view algorithm) const {
    if (has_screen(target)) return true;
    if (target.backend == "opencl") return (algorithm == "auto") == (cases_ % 2 == 0) && opencl_has_turn(target);
    const bool late = target.backend == "async";
    return (algorithm == "auto") == (cases_ % 2 == 0) && (!late || (target.slice_rows == 0) == (cases_ / 2 % 2 == 0));
  }

  // The device as it is has every so-manieth case, and its other ways a few of the rest.
  bool opencl_has_turn(const Target& target) const {
    size_t way = 0;
    for (const Target& other : targets_) {
      if (other.backend != "opencl") continue;
      if (other.name() == target.name()) break;
      ++way;
    }
    return way == 0 ? cases_ % opencl_step_ == 1 : cases_ % (5 * opencl_step_) == opencl_step_ * way;
  }

  std::vector<Target> targets_ = linear_targets();
  bool screens_ = false;  // some target has one
  std::unique_ptr<Backend> reference_ = make_backend("reference", {});
  int64_t certified_ = 0, resolved_ = 0;
  size_t cases_ = 0;
  size_t opencl_step_ = 9;
};

TEST_F(LinearModels, HostileFamilies) {
  for (const Case& made : hostile_cases()) {
    if (takes_long(made.shape)) continue;
    compare(made, {1, 3});
    if (HasFailure()) return;  // the first case says enough
  }
  if (screens_) {
    EXPECT_GT(certified_, 0);
  }
  EXPECT_GT(resolved_, 0);
}

TEST_F(LinearModels, RandomCases) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const Case made = random_case(seed);
    if (!takes_long(made.shape)) compare(made, {1 + static_cast<int>(seed % 2)});
    if (HasFailure()) return;
  }
}

// Every number of features that has a kernel of its own on devices, and of which pairs fill more than a warp.
TEST_F(LinearModels, EveryWidth) {
  opencl_step_ = 3;  // each width in float32
  for (const int64_t d : {2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 17, 18, 33}) {
    for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kInt8}) {
      const Weighting weighting = d % 3 == 0 ? Weighting::kRanges : Weighting::kNone;
      compare(make_case(Family::kClusters, type, weighting, {300, d, {5, 2}}, static_cast<uint64_t>(d)), {1});
    }
    if (HasFailure()) return;
  }
}

// So many rows of a cluster that words overflow without being emptied, sums by label, and columns up to two vectors of
// features and one.
TEST_F(LinearModels, ManyRowsOfFewClusters) {
  for (const int64_t d : {1, 2, 5, 9, 10, 18}) {
    for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kUInt8}) {
      const Weighting weighting = d == 5 ? Weighting::kIntegers : Weighting::kNone;
      const Case made = make_case(Family::kSpread, type, weighting, {9000, d, {2, 3}}, static_cast<uint64_t>(d));
      const Trace expected = trace_of(*reference_, made, 0, linear_model());
      for (const Target& target : targets_) {
        for (const int64_t budget : {0, 1}) {
          if (target.backend != "cpu") continue;
          BackendOptions options;
          options.threads = 2;
          options.tuning.cpu.instruction_set = target.instruction_set;
          options.tuning.cpu.memory_budget = budget;
          const Trace found = trace_of(*make_backend("cpu", options), made, 0, linear_model());
          EXPECT_EQ(first_difference(expected, found), "") << made.name << " on " << target.name() << " " << budget;
        }
      }
    }
  }
}

constexpr int64_t kTiedRows = 6000;

// Models that are parallel, some units of their last places apart, and targets as far from all of them as they get, so
// that residuals differ by less than a screen's places do. The medians are 0, where the frame puts its centre.
Case tied_models(int64_t features, int64_t k, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-52 - 1; };
  const int64_t d = features + 1;
  Case made;
  made.name = fmt::format("tied models: {} features, {} models, seed {}", features, k, seed);
  made.shape = {kTiedRows, d, {k}};
  std::vector<float> values;
  for (int64_t i = 0; i < kTiedRows; ++i) {
    // The first row makes all others small beside the reach of their columns.
    for (int64_t j = 0; j < features; ++j) values.push_back(static_cast<float>(i == 0 ? 64 : uniform()));
    values.push_back(static_cast<float>(i % 3 - 1) * static_cast<float>(1 - 0x1p-6 * (uniform() + 1)));
  }
  Matrix models(k, d, DataType::kFloat32);
  std::vector<double> slopes;
  for (int64_t j = 0; j < features; ++j) slopes.push_back(uniform() * 0x1p-12);
  for (int64_t m = 0; m < k; ++m) {
    float* model = models.values<float>().data() + m * d;
    for (int64_t j = 0; j < features; ++j) {
      model[j] = static_cast<float>(slopes[static_cast<size_t>(j)] + 0x1p-22 * uniform());
    }
    model[features] = static_cast<float>(static_cast<double>(random() % 512) * 0x1p-24);
  }
  made.bytes.resize(values.size() * sizeof(float));
  std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  made.prototypes.push_back(std::move(models));
  return made;
}

int64_t differences(const Labelling& a, const Labelling& b) {
  int64_t count = 0;
  for (size_t i = 0; i < a.labels.size(); ++i) count += a.labels[i] != b.labels[i];
  return count;
}

TEST_F(LinearModels, NearTiesGetTheirCanonicalLabelsAndAQuarterOfTheBoundDoesNot) {
  std::vector<int64_t> wrong(targets_.size());
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (const int64_t features : {1, 3, 8, 16}) {
      const Case made = tied_models(features, seed % 2 == 0 ? 32 : 50, seed);
      const Labelling expected = label(*reference_, made, linear_model());
      for (size_t t = 0; t < targets_.size(); ++t) {
        const Labelling found = label(*targets_[t].make("auto", 2), made, linear_model());
        EXPECT_EQ(differences(found, expected), 0) << made.name << " on " << targets_[t].name();
        if (!has_screen(targets_[t])) continue;
        wrong[t] += differences(label(*targets_[t].make("auto", 2, 0.25), made, linear_model()), expected);
      }
    }
  }
  for (size_t t = 0; t < targets_.size(); ++t) {
    if (!has_screen(targets_[t])) continue;
    EXPECT_GT(wrong[t], 0) << "a bound too small on " << targets_[t].name();
  }
}

// Squares from 2^1000 on are equal, so the first model has such a row.
TEST_F(LinearModels, ResidualsBeyondTheLargestAreEqual) {
  constexpr int64_t kRows = 40;
  Case made;
  made.type = DataType::kFloat64;
  made.shape = {kRows, 2, {3}};
  std::vector<double> values;
  for (int64_t i = 0; i < kRows; ++i) values.insert(values.end(), {i % 2 == 0 ? 0x1p10 : 0x1p4, 0});
  Matrix models(3, 2, DataType::kFloat64);
  for (int k = 0; k < 3; ++k) models.values<double>()[static_cast<size_t>(2 * k)] = std::ldexp(1.0, 495 - 2 * k);
  made.bytes.resize(values.size() * sizeof(double));
  std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  made.prototypes.push_back(std::move(models));
  std::vector<uint32_t> expected;
  for (int64_t i = 0; i < kRows; ++i) expected.push_back(i % 2 == 0 ? 0 : 2);
  EXPECT_EQ(label(*reference_, made, linear_model()).labels, expected);
  for (const Target& target : targets_) {
    EXPECT_EQ(label(*target.make("auto", 1), made, linear_model()).labels, expected) << target.name();
  }
}

// Most rows of planted models are certified: a screen that proves nothing would only cost time.
TEST_F(LinearModels, PlantedModelsAreCertified) {
  constexpr int64_t kRows = 4000, kFeatures = 4, kModels = 40;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Matrix models(kModels, kFeatures + 1, DataType::kFloat32);
  for (float& value : models.values<float>()) value = normal(random);
  Case made;
  made.shape = {kRows, kFeatures + 1, {kModels}};
  std::vector<float> values;
  for (int64_t i = 0; i < kRows; ++i) {
    double y = models.at(i % kModels, kFeatures);
    for (int64_t j = 0; j < kFeatures; ++j) {
      values.push_back(1000 + normal(random));
      y += models.at(i % kModels, j) * static_cast<double>(values.back());
    }
    values.push_back(static_cast<float>(y));
  }
  made.bytes.resize(values.size() * sizeof(float));
  std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  made.prototypes.push_back(std::move(models));
  for (const Target& target : targets_) {
    if (!has_screen(target)) continue;
    const Labelling found = label(*target.make("auto", 1), made, linear_model());
    EXPECT_GT(found.result.certified, kRows * 9 / 10) << target.name();
  }
}

}  // namespace
}  // namespace manymeans::test
