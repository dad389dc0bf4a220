#include "engine/inertia_estimate.h"

#include "core/distance.h"
#include "prototype/prototype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace manymeans {
namespace {

struct Scene {
  std::vector<float> x;
  std::vector<double> weights;
  ThreadPool pool{2};
  Matrix prototypes{3, 5, DataType::kFloat32};

  Scene(int64_t n, double offset, bool weighted) : x(static_cast<size_t>(n * 5)) {
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    for (float& v : x) v = static_cast<float>(offset + normal(random));
    for (float& v : prototypes.values<float>()) v = static_cast<float>(offset + normal(random));
    for (int64_t i = 0; weighted && i < n; ++i) weights.push_back(std::fabs(normal(random)) + 0.01);
  }

  // Rows go to the clusters in turn: the formula needs no nearest labels.
  void check(double tolerance) {
    const auto n = static_cast<int64_t>(x.size() / 5);
    const Input input = prepare_input(PointsView(x.data(), n, 5), weights, pool);
    Statistics statistics(3, 5, input.limbs);
    double expected = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t k = i % 3;
      for (int64_t j = 0; j < 5; ++j) {
        const SumFormat& format = input.columns[static_cast<size_t>(j)];
        int64_t limbs[kMaxLimbs] = {};
        add_term(input.weight(i) * static_cast<double>(x[static_cast<size_t>(i * 5 + j)]), format, 1, limbs);
        for (int g = 0; g < input.limbs; ++g) statistics.row(k)[g * 5 + j] += limbs[g];
      }
      statistics.weights[static_cast<size_t>(k)] += input.integer_weight(i);
      expected += input.weight(i) * canonical_distance(x.data() + i * 5, prototypes.values<float>().data() + k * 5, 5);
    }
    expected = std::ldexp(expected, input.weight_exponent);
    EXPECT_NEAR(InertiaEstimate(input, pool).of(statistics, prototypes) / expected, 1, tolerance);
  }
};

TEST(InertiaEstimate, IsTheSumOfSquaredDistances) {
  for (const int64_t n : {7, 5000}) {
    for (const bool weighted : {false, true}) Scene(n, 0, weighted).check(1e-12);
  }
}

TEST(InertiaEstimate, DoesNotCancelFarFromTheOrigin) {
  Scene(5000, 1e6, false).check(1e-8);
  Scene(5000, 1e6, true).check(1e-8);
}

TEST(InertiaEstimate, IsUnknownWhereRoundingsCouldBeAllOfIt) {
  const std::vector<float> x = {0, 1e18F, 1e18F, 1e18F};
  ThreadPool pool(1);
  const Input input = prepare_input(PointsView(x.data(), 4, 1), {}, pool);
  Matrix prototypes(2, 1, DataType::kFloat32);
  prototypes.values<float>()[1] = 1e18F;
  Statistics statistics(2, 1, input.limbs);
  for (size_t i = 0; i < 4; ++i) {
    const auto k = static_cast<int64_t>(i > 0);
    add_term(static_cast<double>(x[i]), input.columns[0], 1, statistics.row(k));
    ++statistics.weights[static_cast<size_t>(k)];
  }
  ASSERT_EQ(input.limbs, 1);
  EXPECT_TRUE(std::isnan(InertiaEstimate(input, pool).of(statistics, prototypes)));
}

}  // namespace
}  // namespace manymeans
