// Fits whose points, labels and seeding do not fit the memory that they may use: the same bits.
#include <manymeans/error.h>
#include <manymeans/io.h>

#include "core/threads.h"
#include "data/gather.h"
#include "data/input.h"
#include "data/memory_plan.h"
#include "engine/small_data.h"
#include "io/files.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kRows = 150'000;

// Points in a mapped file.
class Memory : public testing::Test {
 protected:
  Dataset points(int64_t d, const std::string& type = "float32") {
    Dataset values;
    const std::vector<float> x = mixture(kRows, d, 3);
    std::vector<double> wide(x.begin(), x.end());
    std::vector<uint8_t> narrow(x.size());
    for (size_t i = 0; i < x.size(); ++i) narrow[i] = static_cast<uint8_t>(std::lround(128 + 10 * x[i]));
    if (type == "float32") values.view = PointsView(x.data(), kRows, d);
    if (type == "float64") values.view = PointsView(wide.data(), kRows, d);
    if (type == "uint8") values.view = PointsView(narrow.data(), kRows, d, DataType::kUInt8);
    write_points(folder_ / "points.npy", values);
    return read_points(folder_ / "points.npy");
  }

  // The least limit, by the error that names it.
  static int64_t least(const Dataset& data, const FitOptions& options, std::span<const double> weights) {
    FitOptions tried = options;
    tried.memory.bytes = 1;
    try {
      fit(data.view, weights, tried);
    } catch (const Error& error) {
      const std::string what = error.what();
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << what;
      return std::stoll(what.substr(what.find("(memory ") + 8)) * kMiB;
    }
    ADD_FAILURE() << "one byte was enough";
    return 0;
  }

  // The answer is that without a limit for limits from the least on; at the least, everything is in files.
  static void same_for_all_limits(const Dataset& data, const FitOptions& options,
                                  std::span<const double> weights = {}) {
    const FitResult whole = fit(data.view, weights, options);
    EXPECT_EQ(whole.provenance.memory, "");
    const int64_t smallest = least(data, options, weights);
    int moved = 0;
    for (const int64_t more : {0, 1, 2, 4, 8, 64}) {
      FitOptions limited = options;
      limited.memory.bytes = smallest + more * kMiB;
      const FitResult result = fit(data.view, weights, limited);
      EXPECT_EQ(result.digest(), whole.digest()) << result.provenance.memory;
      const std::string& memory = result.provenance.memory;
      if (more == 0) {
        EXPECT_NE(memory.find("distances of seeding in a side file"), std::string::npos) << memory;
      }
      if (more == 64) {
        EXPECT_NE(memory.find("everything fits"), std::string::npos) << memory;
      }
      moved += memory.find("rows at a time") != std::string::npos ? 1 : 0;
    }
    EXPECT_GE(moved, 2);
  }

  static FitOptions few(std::vector<int64_t> k, int64_t models = 1) {
    FitOptions result = options(std::move(k), models);
    result.max_iter = 3;
    return result;
  }

  Folder folder_;
};

TEST_F(Memory, Algorithms) {
  const Dataset data = points(10);
  for (const char* algorithm : {"auto", "brute", "matrix", "bounds", "kdtree"}) {
    SCOPED_TRACE(algorithm);
    FitOptions o = few({7});
    o.algorithm = algorithm;
    o.max_iter = 12;
    o.init = "random";
    same_for_all_limits(data, o);
  }
}

// The rows of length one lie in a side file where there is no room for them.
TEST_F(Memory, MetricCosine) {
  FitOptions o = few({7});
  o.metric = Metric::kCosine;
  same_for_all_limits(points(10), o);
}

TEST_F(Memory, Initialisations) {
  const Dataset data = points(10);
  for (const char* init : {"k-means++", "k-means||", "random", "first"}) {
    SCOPED_TRACE(init);
    FitOptions o = few({6});
    o.init = init;
    same_for_all_limits(data, o);
  }
}

TEST_F(Memory, Types) {
  for (const char* type : {"float64", "uint8"}) {
    SCOPED_TRACE(type);
    same_for_all_limits(points(type == std::string("uint8") ? 40 : 6, type), few({5}));
  }
}

TEST_F(Memory, StrategiesAndManyModels) {
  const Dataset data = points(8);
  for (const Strategy strategy : {Strategy::kConcatenated, Strategy::kData, Strategy::kTask}) {
    SCOPED_TRACE(name_of(strategy));
    FitOptions o = few({3, 5}, 4);
    o.strategy = strategy;
    same_for_all_limits(data, o);
  }
}

TEST_F(Memory, ManyClustersAreSortedByLabel) {
  FitOptions o = few({700});
  o.init = "random";
  same_for_all_limits(points(24), o);
}

TEST_F(Memory, Weights) {
  std::vector<double> weights(kRows);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i % 5);
  same_for_all_limits(points(10), few({4}), weights);
}

TEST_F(Memory, EmptyClusters) {
  for (const EmptyPolicy policy : {EmptyPolicy::kFarthest, EmptyPolicy::kDrop}) {
    const Dataset data = points(10);
    FitOptions o = few({6});
    o.empty = policy;
    o.max_iter = 4;
    // Two starting prototypes are equal, so that the second of them is empty.
    ThreadPool pool(1);
    const Matrix start = gather_rows(data.view, std::vector<int64_t>{0, 1, 2, 3, 4, 4});
    FitHooks hooks;
    hooks.initial = start.view();
    const FitResult whole = fit(data.view, {}, o, hooks);
    for (const int64_t limit : {20, 24, 100}) {
      o.memory.bytes = limit * kMiB;
      EXPECT_EQ(fit(data.view, {}, o, hooks).digest(), whole.digest()) << limit;
    }
  }
}

TEST_F(Memory, Reference) {
  const Dataset data = points(10);
  for (const char* init : {"k-means++", "k-means||"}) {
    FitOptions o = few({3});
    o.backend = "reference";
    o.init = init;
    o.max_iter = 2;
    same_for_all_limits(data, o);
  }
}

TEST_F(Memory, PointsThatTheCallerHoldsAreLeftAlone) {
  const std::vector<float> x = mixture(kRows, 10, 3);
  const std::vector<float> before = x;
  const PointsView view(x.data(), kRows, 10);
  FitOptions o = few({4}, 30);
  const std::string digest = fit(view, {}, o).digest();
  Dataset data;
  data.view = view;
  o.memory.bytes = least(data, o, {});
  const FitResult result = fit(view, {}, o);
  EXPECT_EQ(result.digest(), digest);
  EXPECT_NE(result.provenance.memory.find("labels in a side file"), std::string::npos) << result.provenance.memory;
  EXPECT_TRUE(result.models[0].labels.in_file());
  EXPECT_EQ(x, before);
}

TEST_F(Memory, LabelsInFilesAreWrittenAsOthersAre) {
  const Dataset data = points(10);
  FitOptions o = few({4, 300});
  o.init = "random";
  write_labels(folder_ / "whole.npy", fit(data.view, {}, o));
  o.memory.bytes = least(data, o, {});
  const FitResult limited = fit(data.view, {}, o);
  ASSERT_TRUE(limited.models[1].labels.in_file());
  write_labels(folder_ / "limited.npy", limited);
  EXPECT_EQ(content_of(folder_ / "whole.npy"), content_of(folder_ / "limited.npy"));
}

TEST_F(Memory, ReadersUseSideFiles) {
  std::string text = "a,b\n";
  for (int i = 0; i < 60'000; ++i)
    text += std::to_string(i * 7 % 1000) + "." + std::to_string(i % 97) + "," + std::to_string(i + 2) + "\n";
  ReadOptions limited;
  limited.memory = 1 << 20;
  for (const auto& [name, content] : {std::pair{"t.csv", text}, std::pair{"t.csv.gz", gzipped(text)}}) {
    const std::string path = folder_.file(name, content);
    const Dataset whole = read_points(path);
    const Dataset spooled = read_points(path, limited);
    EXPECT_FALSE(lies_in_file(whole.view.data, whole.view.bytes()));
    EXPECT_TRUE(lies_in_file(spooled.view.data, spooled.view.bytes())) << name;
    EXPECT_EQ(values_of(whole.view), values_of(spooled.view));
  }
  const Dataset data = points(10, "float64");
  ReadOptions converted;
  converted.dtype = DataType::kFloat32;
  const Dataset whole = read_points(folder_ / "points.npy", converted);
  converted.memory = 1 << 20;
  const Dataset spooled = read_points(folder_ / "points.npy", converted);
  EXPECT_TRUE(lies_in_file(spooled.view.data, spooled.view.bytes()));
  EXPECT_EQ(values_of(whole.view), values_of(spooled.view));
  const auto expect_same = [](const PointsView& view, const ScaleRules& rules) {
    const Scaling scaling = find_scaling(view, rules, 2, 1 << 20);
    EXPECT_EQ(scaling, find_scaling(view, rules));
    const Dataset scaled = scale_points(view, scaling, 2, 1 << 20);
    EXPECT_TRUE(lies_in_file(scaled.view.data, scaled.view.bytes()));
    EXPECT_EQ(values_of(scaled.view), values_of(apply_scaling(view, scaling).view()));
  };
  expect_same(data.view, Scale::kStandard);
  const Dataset counts = read_points(folder_ / "t.csv", limited);
  for (const Scale scale : {Scale::kStandard, Scale::kRobust, Scale::kUnit}) expect_same(counts.view, {scale, {0, 1}});
}

}  // namespace
}  // namespace manymeans::test
