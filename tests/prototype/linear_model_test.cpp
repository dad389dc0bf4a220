// The formats of linear models' sums come from the columns: no term may be beyond what they say.
#include "prototype/linear_model.h"

#include "core/data_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

struct Made {
  std::vector<double> f64;
  std::vector<float> f32;
  std::vector<double> weights;
  int64_t n, d;

  Made(int64_t rows, int64_t columns, int range, std::mt19937_64& random) : n(rows), d(columns) {
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < n * d; ++i) {
      const int power = static_cast<int>(random() % static_cast<uint64_t>(2 * range + 1)) - range;
      f64.push_back(random() % 9 == 0 ? 0 : std::ldexp(normal(random), power));
      f32.push_back(static_cast<float>(f64.back()));
    }
    for (int64_t i = 0; i < n; ++i) weights.push_back(std::fabs(normal(random)) + 0.01);
  }
};

// Whether every term is below the largest of its format, and a multiple of the lowest bit.
template <class T>
void check_terms(const Input& input, const T* points) {
  std::vector<double> terms(input.columns.size());
  for (int64_t row = 0; row < input.points.n; ++row) {
    LinearModel::row_terms(points + row * input.points.d, input.points.d, input.weight(row), terms.data());
    for (size_t t = 0; t < terms.size(); ++t) {
      const SumFormat& format = input.columns[t];
      const int most = format.limbs * format.bits - 2 - format.shift;
      ASSERT_LE(std::fabs(terms[t]), std::ldexp(1.0, most)) << "row " << row << " term " << t;
      const double units = std::ldexp(terms[t], -input.lowest[t]);
      ASSERT_TRUE(std::isinf(units) || units == std::trunc(units)) << "row " << row << " term " << t;
    }
  }
}

TEST(LinearModelFormats, HoldForEveryTerm) {
  std::mt19937_64 random(5);
  ThreadPool pool(2);
  for (const int range : {0, 3, 60, 120, 480}) {
    for (const int64_t d : {1, 2, 5, 9}) {
      const Made made(60, d, range, random);
      for (const bool weighted : {false, true}) {
        const std::span<const double> weights = weighted ? std::span<const double>(made.weights) : std::span<double>();
        Input wide = prepare_input(PointsView(made.f64.data(), made.n, d), weights, pool);
        use_prototype(wide, linear_model(), pool);
        check_terms(wide, made.f64.data());
        if (range > 120) continue;  // beyond float32
        Input narrow = prepare_input(PointsView(made.f32.data(), made.n, d), weights, pool);
        use_prototype(narrow, linear_model(), pool);
        check_terms(narrow, made.f32.data());
      }
    }
  }
}

TEST(LinearModelFormats, OneAndATargetOfZeros) {
  ThreadPool pool(1);
  const std::vector<float> zeros(12);
  Input input = prepare_input(PointsView(zeros.data(), 4, 3), {}, pool);
  use_prototype(input, linear_model(), pool);
  check_terms(input, zeros.data());
  EXPECT_EQ(input.limbs, 1);
}

}  // namespace
}  // namespace manymeans::test
