#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/sparse.h>
#include <manymeans/summary.h>

#include "comm/thread_ranks.h"
#include "core/hostile_environment.h"
#include "data/shards.h"
#include "io/files.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

// Two pairs of points; the first column tells them apart, the second is constant.
const std::vector<float> kPairs = {0, 7, 2, 7, 10, 7, 14, 7};

ModelResult model_of(const PointsView& points, std::span<const double> weights, int64_t k, uint64_t seed = 1) {
  FitResult result = fit(points, weights, {.k = {k}, .seed = seed});
  return std::move(result.models[0]);
}

std::vector<float> noise(int64_t rows, int64_t columns) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> values;
  for (int64_t i = 0; i < rows * columns; ++i) {
    values.push_back(static_cast<float>(i % columns) * 10 + normal(random) * static_cast<float>(1 + i % 3));
  }
  return values;
}

TEST(ClusterSummary, IsWhatTheNamesSay) {
  const PointsView points(kPairs.data(), 4, 2);
  const ModelSummary summary = summarise(points, {}, model_of(points, {}, 2));
  EXPECT_FALSE(summary.weighted || summary.scaled);
  ASSERT_EQ(summary.columns.size(), 2u);
  EXPECT_EQ(summary.columns[0].mean, 6.5);
  EXPECT_EQ(summary.columns[0].deviation, std::sqrt((6.5 * 6.5 + 4.5 * 4.5 + 3.5 * 3.5 + 7.5 * 7.5) / 4));
  EXPECT_EQ(summary.columns[1].mean, 7);
  EXPECT_EQ(summary.columns[1].deviation, 0);
  ASSERT_EQ(summary.clusters.size(), 2u);
  const int64_t low = summary.centroids.at(0, 0) < 6 ? 0 : 1;
  EXPECT_EQ(summary.centroids.at(low, 0), 1);
  EXPECT_EQ(summary.centroids.at(1 - low, 0), 12);
  EXPECT_EQ(summary.differences.at(low, 0), (1 - 6.5) / summary.columns[0].deviation);
  EXPECT_EQ(summary.differences.at(low, 1), 0) << "a constant column tells nothing apart";
  const ClusterTraits& cluster = summary.clusters[static_cast<size_t>(low)];
  EXPECT_EQ(cluster.rows, 2);
  EXPECT_EQ(cluster.weight, 2);
  EXPECT_EQ(cluster.share, 0.5);
  EXPECT_EQ(cluster.spread, 1);
  EXPECT_EQ(summary.clusters[static_cast<size_t>(1 - low)].spread, 2);
  EXPECT_EQ(cluster.apart, std::vector<int64_t>{0});
}

TEST(ClusterSummary, TypicalRowsAreTheNearest) {
  const std::vector<float> values = {100, 1, 101, 8, 102, 4, 4, 2};  // equal rows in their order
  const PointsView points(values.data(), 8, 1);
  FitResult result = fit(points, {}, {.k = {2}, .init = "first"});
  const ModelSummary summary = summarise(points, {}, result.models[0]);
  const size_t high = summary.centroids.at(0, 0) > 50 ? 0 : 1;
  EXPECT_EQ(summary.clusters[high].typical, (std::vector<int64_t>{2, 0, 4}));
  EXPECT_EQ(summary.clusters[1 - high].typical, (std::vector<int64_t>{5, 6, 7}));
}

TEST(ClusterSummary, TopTermsAreOfSparsePoints) {
  const std::vector<float> values = {3, 1, 2, 2, 4, 9, 9}, dense = {3, 1, 0, 2, 2, 0, 0, 4, 9, 0, 0, 9};
  const std::vector<int32_t> indices = {0, 1, 0, 1, 1, 2, 2};
  const std::vector<int64_t> starts = {0, 2, 4, 6, 7};
  const SparseView view{values.data(), indices.data(), starts.data(), 7, 4, 3, DataType::kFloat32, false};
  const PointsView points(dense.data(), 4, 3);
  const ModelResult model = model_of(points, {}, 2);
  const ModelSummary summary = summarise(view.points(), {}, model);
  const size_t first = summary.centroids.at(0, 2) == 0 ? 0 : 1;
  EXPECT_EQ(summary.clusters[first].terms, std::vector<int64_t>{0});
  EXPECT_EQ(summary.clusters[1 - first].terms, (std::vector<int64_t>{2, 1}));
  EXPECT_TRUE(summarise(points, {}, model).clusters[0].terms.empty());
}

TEST(ClusterSummary, SpreadsMakeTheInertia) {
  const std::vector<float> values = noise(5000, 9);
  const PointsView points(values.data(), 5000, 9);
  std::vector<double> weights;
  for (int64_t i = 0; i < 5000; ++i) weights.push_back(0.25 * static_cast<double>(i % 4));
  for (const std::span<const double> w : {std::span<const double>(), std::span<const double>(weights)}) {
    const ModelResult model = model_of(points, w, 6);
    double inertia = 0, share = 0;
    for (const ClusterTraits& cluster : summarise(points, w, model).clusters) {
      inertia += cluster.weight * cluster.spread * cluster.spread;
      share += cluster.share;
      EXPECT_LE(cluster.apart.size(), static_cast<size_t>(kMaxApart));
    }
    EXPECT_NEAR(inertia, model.inertia, model.inertia * 1e-12);
    EXPECT_NEAR(share, 1, 1e-12);
  }
}

// A weight of three is the row three times.
TEST(ClusterSummary, WeightsAreRepetitions) {
  const std::vector<float> values = noise(300, 4);
  std::vector<float> repeated;
  std::vector<double> weights;
  for (size_t i = 0; i < 300; ++i) {
    weights.push_back(0.5 * static_cast<double>(i % 4));
    for (size_t time = 0; time < i % 4; ++time) {
      repeated.insert(repeated.end(), values.begin() + static_cast<std::ptrdiff_t>(4 * i),
                      values.begin() + static_cast<std::ptrdiff_t>(4 * i + 4));
    }
  }
  const PointsView points(values.data(), 300, 4);
  const PointsView all(repeated.data(), std::ssize(repeated) / 4, 4);
  const ModelResult model = model_of(points, weights, 3);
  const FitResult again = fit(all, {}, {.k = {3}, .max_iter = 0}, {.initial = model.prototypes.view()});
  const ModelSummary one = summarise(points, weights, model), other = summarise(all, {}, again.models[0]);
  EXPECT_TRUE(one.weighted);
  for (size_t j = 0; j < 4; ++j) {
    EXPECT_NEAR(one.columns[j].mean, other.columns[j].mean, 1e-12);
    EXPECT_NEAR(one.columns[j].deviation, other.columns[j].deviation, 1e-12);
  }
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(one.clusters[k].share, other.clusters[k].share, 1e-15);
    EXPECT_NEAR(one.clusters[k].spread, other.clusters[k].spread, 1e-12);
    EXPECT_NEAR(2 * one.clusters[k].weight, other.clusters[k].weight, 1e-9);
    EXPECT_EQ(one.clusters[k].apart, other.clusters[k].apart);
  }
}

TEST(ClusterSummary, IsInUnitsOfTheFile) {
  std::vector<double> values;
  for (const float value : noise(400, 3)) values.push_back(value);
  const PointsView points(values.data(), 400, 3);
  for (const Scale scale : {Scale::kStandard, Scale::kMinMax}) {
    const Scaling scaling = find_scaling(points, scale);
    const Matrix scaled = apply_scaling(points, scaling);
    const ModelResult model = model_of(scaled.view(), {}, 3);
    const ModelSummary summary = summarise(scaled.view(), {}, model, {.scaling = scaling});
    EXPECT_TRUE(summary.scaled);
    const std::vector<ColumnSummary> columns = summarise_columns(points);
    for (int64_t j = 0; j < 3; ++j) {
      const ColumnSummary& column = columns[static_cast<size_t>(j)];
      EXPECT_NEAR(summary.columns[static_cast<size_t>(j)].mean, column.mean, 1e-12);
      EXPECT_NEAR(summary.columns[static_cast<size_t>(j)].deviation, column.deviation, 1e-12);
      for (int64_t k = 0; k < 3; ++k) {
        const double difference = (summary.centroids.at(k, j) - column.mean) / column.deviation;
        EXPECT_NEAR(summary.differences.at(k, j), difference, 1e-12);
      }
    }
  }
}

TEST(ClusterSummary, OfLogarithmsHasGeometricMeans) {
  std::vector<double> values;
  for (const float value : noise(300, 2)) values.push_back(std::exp(value / 8));
  const PointsView points(values.data(), 300, 2);
  const Scaling scaling = find_scaling(points, {Scale::kStandard, {0}});
  const Matrix scaled = apply_scaling(points, scaling);
  const ModelResult model = model_of(scaled.view(), {}, 3);
  const ModelSummary summary = summarise(scaled.view(), {}, model, {.scaling = scaling});
  EXPECT_EQ(summary.logs, scaling.logs);
  double logs = 0, sum = 0;
  for (size_t i = 0; i < values.size(); i += 2) {
    logs += std::log(values[i]);
    sum += values[i + 1];
  }
  EXPECT_NEAR(summary.columns[0].mean, std::exp(logs / 300), 1e-9);
  EXPECT_NEAR(summary.columns[1].mean, sum / 300, 1e-9);
  const ModelSummary own = summarise(scaled.view(), {}, model);
  for (int64_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(summary.centroids.at(k, 0), scaling.undone(model.prototypes.at(k, 0), 0), 1e-12);
    EXPECT_EQ(summary.differences.at(k, 0), own.differences.at(k, 0)) << "in deviations of the logarithm";
  }
}

void expect_same(const ModelSummary& a, const ModelSummary& b) {
  for (size_t j = 0; j < a.columns.size(); ++j) {
    EXPECT_EQ(a.columns[j].mean, b.columns[j].mean);
    EXPECT_EQ(a.columns[j].deviation, b.columns[j].deviation);
  }
  for (size_t k = 0; k < a.clusters.size(); ++k) {
    EXPECT_EQ(std::bit_cast<uint64_t>(a.clusters[k].spread), std::bit_cast<uint64_t>(b.clusters[k].spread));
    EXPECT_EQ(a.clusters[k].share, b.clusters[k].share);
    EXPECT_EQ(a.clusters[k].apart, b.clusters[k].apart);
    EXPECT_EQ(a.clusters[k].typical, b.clusters[k].typical);
  }
}

TEST(ClusterSummary, IsTheSameForAnyThreadsAndRanks) {
  const std::vector<float> values = noise(3000, 5);
  const PointsView points(values.data(), 3000, 5);
  std::vector<double> weights;
  for (int64_t i = 0; i < 3000; ++i) weights.push_back(1.0 / static_cast<double>(1 + i % 7));
  for (const std::span<const double> w : {std::span<const double>(), std::span<const double>(weights)}) {
    const ModelResult model = model_of(points, w, 4);
    const ModelSummary one = summarise(points, w, model, {.threads = 1});
    {
      const HostileEnvironment hostile;
      expect_same(one, summarise(points, w, model, {.threads = 3}));
    }
    for (const int ranks : {2, 3}) {
      const std::vector<int64_t> ends = shard_ends(3000, ranks, 3);
      const std::vector<std::string> errors = run_ranks(ranks, [&](Comm& comm) {
        const Part part = part_of(points, w, ends, comm.rank());
        const int64_t first = comm.rank() == 0 ? 0 : ends[static_cast<size_t>(comm.rank() - 1)];
        ModelResult mine = model;
        mine.labels = Labels(part.points.n, model.k);
        for (int64_t i = 0; i < part.points.n; ++i) {
          const uint32_t label = model.labels[first + i];
          mine.labels.write(i, 1, &label);
        }
        expect_same(one, summarise(part.points, part.weights, mine, {.threads = 1}, comm));
      });
      for (const std::string& error : errors) EXPECT_EQ(error, "");
    }
  }
}

TEST(ClusterSummary, OfAnEmptyCluster) {
  const PointsView points(kPairs.data(), 4, 2);
  const std::vector<float> initial = {1, 7, 12, 7, 1000, 7};
  const FitResult result =
      fit(points, {}, {.k = {3}, .empty = EmptyPolicy::kKeep}, {.initial = PointsView(initial.data(), 3, 2)});
  const ModelSummary summary = summarise(points, {}, result.models[0]);
  EXPECT_EQ(summary.clusters[2].rows, 0);
  EXPECT_EQ(summary.clusters[2].share, 0);
  EXPECT_TRUE(std::isnan(summary.clusters[2].spread));
  EXPECT_TRUE(summary.clusters[2].apart.empty());
  EXPECT_EQ(summary.centroids.at(2, 0), 1000);
}

TEST(ClusterSummary, RefusesAModelOfOtherPoints) {
  const PointsView points(kPairs.data(), 4, 2);
  const ModelResult model = model_of(points, {}, 2);
  expect_error(ErrorCode::kUsage, {"model", "2 columns", "1"},
               [&] { summarise(PointsView(kPairs.data(), 4, 1), {}, model); });
  expect_error(ErrorCode::kUsage, {"model", "4 rows", "3 points"},
               [&] { summarise(PointsView(kPairs.data(), 3, 2), {}, model); });
  expect_error(ErrorCode::kUsage, {"scaling", "2 columns"},
               [&] { summarise(points, {}, model, {.scaling = {Scale::kMinMax, {0}, {1}}}); });
  const std::vector<double> doubles(8);
  expect_error(ErrorCode::kUsage, {"model", "float32", "float64"},
               [&] { summarise(PointsView(doubles.data(), 4, 2), {}, model); });
  ModelResult odd = model;
  const uint32_t label = 2;
  odd.labels.write(3, 1, &label);
  expect_error(ErrorCode::kUsage, {"row 4", "label 2"}, [&] { summarise(points, {}, odd); });
  odd = model;
  odd.stop_reason = StopReason::kNotBegun;
  expect_error(ErrorCode::kUsage, {"not begun"}, [&] { summarise(points, {}, odd); });
}

}  // namespace
}  // namespace manymeans::test
