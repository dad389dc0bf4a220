// The kernels of predict and transform of every instruction set against the canonical distance.
#include "backend/cpu/kernels/panel_kernels.h"

#include "backend/cpu/kernels/instruction_set.h"
#include "core/distance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace manymeans {
namespace {

class PanelKernel : public testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override {
    if (!GetParam().kernels().supported()) GTEST_SKIP() << GetParam().kernels().description << " is not here";
  }
  const PanelKernels& kernels() const { return GetParam().kernels().panels; }
};

// Rows and prototypes in which equal distances are common, or in which every bit matters.
struct Shape {
  int64_t rows, k, d;
  std::vector<double> x, c, panels;

  Shape(int64_t row_count, int64_t prototypes, int64_t columns, bool ties)
      : rows(row_count), k(prototypes), d(columns) {
    std::mt19937_64 random(static_cast<uint64_t>(rows + 100 * k + 10000 * d));
    const auto draw = [&] {
      return ties ? static_cast<double>(random() % 3) : static_cast<double>(random()) * 0x1p-61 - 3.9;
    };
    for (int64_t i = 0; i < rows * d; ++i) x.push_back(draw());
    for (int64_t i = 0; i < k * d; ++i) c.push_back(draw());
    panels.assign(static_cast<size_t>((k + kPanelPrototypes - 1) / kPanelPrototypes * kPanelPrototypes * d), HUGE_VAL);
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t j = 0; j < d; ++j) {
        const int64_t at = (p / kPanelPrototypes * d + j) * kPanelPrototypes + p % kPanelPrototypes;
        panels[static_cast<size_t>(at)] = c[static_cast<size_t>(p * d + j)];
      }
    }
  }
  PrototypePanels view() const { return {panels.data(), k, d}; }
  double square(int64_t row, int64_t p) const { return canonical_distance(x.data() + row * d, c.data() + p * d, d); }
};

template <class Check>
void for_each_shape(Check&& check) {
  for (const int64_t d : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 40, 129}) {
    for (const int64_t k : {1, 3, 8, 9, 17, 32, 33, 50, 70}) {
      for (const int64_t rows : {1, 3, 8, 21, 64}) {
        for (const bool ties : {false, true}) check(Shape(rows, k, d, ties));
      }
    }
  }
}

TEST_P(PanelKernel, TheNearestIsCanonicalAndTheLowestOfEquals) {
  for_each_shape([&](const Shape& shape) {
    std::vector<uint32_t> labels(static_cast<size_t>(shape.rows));
    std::vector<double> d2(static_cast<size_t>(shape.rows));
    kernels().nearest(shape.x.data(), shape.rows, shape.view(), labels.data(), d2.data());
    for (int64_t i = 0; i < shape.rows; ++i) {
      uint32_t expected = 0;
      for (int64_t p = 1; p < shape.k; ++p) {
        if (shape.square(i, p) < shape.square(i, expected)) expected = static_cast<uint32_t>(p);
      }
      ASSERT_EQ(labels[static_cast<size_t>(i)], expected) << "d " << shape.d << " k " << shape.k;
      ASSERT_EQ(d2[static_cast<size_t>(i)], shape.square(i, expected)) << "d " << shape.d << " k " << shape.k;
    }
  });
}

template <class T>
void expect_roots(void (*distances)(const double*, int64_t, const PrototypePanels&, T*)) {
  for_each_shape([&](const Shape& shape) {
    const auto size = static_cast<size_t>(shape.rows * shape.k);
    std::vector<T> found(size + 1, T{-1});
    distances(shape.x.data(), shape.rows, shape.view(), found.data());
    for (size_t i = 0; i < size; ++i) {
      const auto row = static_cast<int64_t>(i) / shape.k, p = static_cast<int64_t>(i) % shape.k;
      ASSERT_EQ(found[i], static_cast<T>(std::sqrt(shape.square(row, p)))) << "d " << shape.d << " k " << shape.k;
    }
    ASSERT_EQ(found[size], T{-1});
  });
}

TEST_P(PanelKernel, RootsOfDistancesAreRoundedOnceMore) {
  expect_roots<float>(kernels().distances_f32);
  expect_roots<double>(kernels().distances_f64);
}

template <class T>
void expect_acceptable(bool (*acceptable)(const T*, int64_t), T most) {
  using Limits = std::numeric_limits<T>;
  for (int64_t count = 1; count < 70; ++count) {
    std::vector<T> x(static_cast<size_t>(count) + 1, T{-1.5});
    x.back() = Limits::quiet_NaN();  // which does not belong to them
    ASSERT_TRUE(acceptable(x.data(), count));
    for (int64_t i = 0; i < count; ++i) {
      T& value = x[static_cast<size_t>(i)];
      for (const T good : {most, -most, Limits::denorm_min(), T{0}}) {
        value = good;
        ASSERT_TRUE(acceptable(x.data(), count)) << good << " at " << i << " of " << count;
      }
      const T above = std::nextafter(most, Limits::infinity());
      for (const T bad : {above, -above, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                          -Limits::quiet_NaN(), Limits::signaling_NaN()}) {
        value = bad;
        ASSERT_FALSE(acceptable(x.data(), count)) << bad << " at " << i << " of " << count;
      }
      value = T{2};
    }
  }
}

TEST_P(PanelKernel, OnlyFiniteValuesAreAcceptable) {
  expect_acceptable<float>(kernels().acceptable_f32, std::numeric_limits<float>::max());
  expect_acceptable<double>(kernels().acceptable_f64, 0x1p500);
}

TEST_P(PanelKernel, WideningIsExact) {
  for (int64_t count = 0; count < 40; ++count) {
    std::vector<float> x;
    for (int64_t i = 0; i < count; ++i) x.push_back(static_cast<float>(i) * 0.1F - 1);
    std::vector<double> wide(static_cast<size_t>(count) + 1, -7);
    kernels().widen(x.data(), count, wide.data());
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(wide[i], static_cast<double>(x[i]));
    ASSERT_EQ(wide.back(), -7);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PanelKernel, testing::ValuesIn(instruction_sets().begin(), instruction_sets().end()),
                         [](const auto& set) { return std::string(set.param.name); });

}  // namespace
}  // namespace manymeans
