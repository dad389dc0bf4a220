// Sampled silhouettes of many clusterings beside each alone, and beside the definition with a sum for each cluster.
#include "engine/sampled_silhouettes.h"

#include "core/distance.h"
#include "engine/exact_sum.h"
#include "io/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

using Clusters = std::vector<uint32_t>;

struct Case {
  int64_t n, d;
  std::vector<double> values;
  std::vector<Clusters> clusterings;
  std::vector<int64_t> sample;
};

ClusteredRows rows_of(const Clusters& clusters, size_t k) {
  ClusteredRows rows;
  rows.counts.resize(k);
  for (const uint32_t cluster : clusters) ++rows.counts[cluster];
  rows.read = [&clusters](int64_t first, int64_t count, uint32_t* out) {
    std::copy_n(clusters.begin() + first, count, out);
  };
  return rows;
}

std::vector<ClusteredRows> rows_of(const Case& its, size_t empty = 0) {
  std::vector<ClusteredRows> rows;
  for (const Clusters& clusters : its.clusterings) {
    rows.push_back(rows_of(clusters, *std::ranges::max_element(clusters) + size_t{1} + empty));
  }
  return rows;
}

// The mean, each sum of distances exact and rounded once.
double by_definition(const Case& its, const Clusters& clusters) {
  const size_t k = *std::ranges::max_element(clusters) + size_t{1};
  SignedSum sum;
  std::vector<int64_t> counts(k);
  for (const uint32_t cluster : clusters) ++counts[cluster];
  if (std::ranges::count(counts, 0) + 1 >= static_cast<int64_t>(k)) return std::numeric_limits<double>::quiet_NaN();
  for (const int64_t row : its.sample) {
    std::vector<ExactSum> sums(k);
    for (int64_t i = 0; i < its.n; ++i) {
      const double* const values = its.values.data();
      const double d2 = canonical_distance(values + i * its.d, values + row * its.d, its.d);
      sums[clusters[static_cast<size_t>(i)]].add(std::sqrt(d2));
    }
    const uint32_t own = clusters[static_cast<size_t>(row)];
    if (counts[own] == 1) continue;
    double nearest = HUGE_VAL;
    for (size_t c = 0; c < k; ++c) {
      if (c != own && counts[c] > 0) nearest = std::min(nearest, sums[c].rounded() / static_cast<double>(counts[c]));
    }
    const double within = sums[own].rounded() / static_cast<double>(counts[own] - 1);
    const double larger = std::max(within, nearest);
    sum.add(larger > 0 ? (nearest - within) / larger : 0);
  }
  return sum.rounded() / static_cast<double>(its.sample.size());
}

// One clustering has one cluster, others have clusters without rows or with a single one.
Case made(int64_t n, int64_t d, size_t clusterings, int64_t sampled, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Case its{n, d, {}, {}, {}};
  for (int64_t i = 0; i < n * d; ++i) its.values.push_back(normal(random));
  for (size_t c = 0; c < clusterings; ++c) {
    Clusters clusters;
    const uint32_t k = c == 1 ? 1 : 2 + random() % 30, gap = random() % 3;
    for (int64_t i = 0; i < n; ++i) clusters.push_back(static_cast<uint32_t>(random() % k) * (1 + gap) + gap);
    if (c % 2 == 0) clusters[static_cast<size_t>(random()) % clusters.size()] = k * (1 + gap) + 1;  // alone
    its.clusterings.push_back(std::move(clusters));
  }
  for (int64_t s = 0; s < sampled; ++s) its.sample.push_back(s * n / sampled);
  return its;
}

void expect_all_ways_equal(const Case& its, size_t empty = 0) {
  ThreadPool one(1), three(3);
  const Input input = prepare_input({its.values.data(), its.n, its.d}, {}, one);
  const std::vector<ClusteredRows> rows = rows_of(its, empty);
  const std::vector<double> many = sampled_silhouettes(input, rows, its.sample, three);
  ASSERT_EQ(many.size(), rows.size());
  for (size_t c = 0; c < rows.size(); ++c) {
    const double alone = sampled_silhouettes(input, {&rows[c], 1}, its.sample, one)[0];
    const double defined = by_definition(its, its.clusterings[c]);
    if (std::isnan(defined)) {
      EXPECT_TRUE(std::isnan(many[c]) && std::isnan(alone));
      continue;
    }
    EXPECT_EQ(std::bit_cast<uint64_t>(many[c]), std::bit_cast<uint64_t>(defined)) << c << " of " << its.n;
    EXPECT_EQ(std::bit_cast<uint64_t>(alone), std::bit_cast<uint64_t>(defined)) << c << " of " << its.n;
  }
}

TEST(SampledSilhouettes, ManyClusteringsAtOnceAreEachAlone) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random(seed);
    const auto n = static_cast<int64_t>(2 + random() % 700), d = static_cast<int64_t>(1 + random() % 20);
    expect_all_ways_equal(
        made(n, d, 1 + random() % 9, std::min<int64_t>(n, 1 + static_cast<int64_t>(random() % 40)), seed));
  }
}

// More rows than the integers take before they are emptied, and than distances are held of.
TEST(SampledSilhouettes, ManyRows) {
  expect_all_ways_equal(made(9500, 1, 2, 3, 1));
  expect_all_ways_equal(made(2500, 2, 3, 290, 2));
}

// As many distances as large as they can be as would leave 64 bits.
TEST(SampledSilhouettes, ManyLargeDistances) {
  Case its = made(20'000, 1, 0, 5, 4);
  Clusters clusters;
  for (int64_t i = 0; i < its.n; ++i) {
    its.values[static_cast<size_t>(i)] = i < 100 ? 0 : std::nextafter(2.0, 1 + static_cast<double>(i % 2));
    clusters.push_back(i < 100 ? 0 : 1);
  }
  its.values[0] = std::nextafter(0.0, 1.0);
  its.clusterings = {clusters};
  expect_all_ways_equal(its);
}

// Numbers of clusters, most of them without rows, that leave memory for eight sampled rows at a time.
TEST(SampledSilhouettes, ManyClusters) {
  expect_all_ways_equal(made(300, 2, 3, 21, 3), 20'000);
}

// Distances that no two integers hold beside the largest one: neighbours a rounding away, rows near 2^490 and 2^-490.
TEST(SampledSilhouettes, DistancesOfEveryMagnitude) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Case its = made(200, 3, 4, 50, 20 + seed);
    std::mt19937_64 random(seed);
    const int reach = seed < 3 ? 490 : 60;
    for (double& value : its.values) value = std::ldexp(value, static_cast<int>(random() % (2 * reach)) - reach);
    for (size_t i = 30; i < 60; ++i) its.values[i] = std::nextafter(its.values[i - 30], 1e300);
    expect_all_ways_equal(its);
  }
  Case equal = made(50, 2, 3, 10, 9);
  std::ranges::fill(equal.values, 3.5);
  expect_all_ways_equal(equal);
}

// Labels are read once for each range of rows: no further range is begun.
TEST(SampledSilhouettes, AStopIsSeenInTheRangeAtHand) {
  const Case its = made(9500, 1, 1, 1000, 1);
  std::atomic<bool> stop = false;
  ThreadPool pool(1, &stop);
  const Input input = prepare_input({its.values.data(), its.n, its.d}, {}, pool);
  std::vector<ClusteredRows> rows = rows_of(its);
  int64_t read_last = 0;
  rows[0].read = [&](int64_t, int64_t count, uint32_t* out) {
    EXPECT_FALSE(stop);
    std::fill_n(out, count, 0);
    read_last = count;
    stop = count > 1;  // one at a time at first: those of the sample
  };
  expect_error(ErrorCode::kInterrupted, {}, [&] { sampled_silhouettes(input, rows, its.sample, pool); });
  EXPECT_LT(read_last, its.n / 10);
}

}  // namespace
}  // namespace manymeans::test
