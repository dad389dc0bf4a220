// Margins that rows carry from pass to pass on a CUDA device: what a margin is, what is decided about them, and, where
// there is a device, fits that keep labels without a look. tests/conformance/bounds_test.cpp walks prototypes about.
#include <manymeans/fit.h>

#include "backend/cuda/cuda_present.h"
#include "backend/cuda/hopper_device.h"
#include "backend/cuda/margins/row_margins.h"
#include "backend/cuda/pass/cuda_plan.h"
#include "conformance/cases.h"
#include "core/threads.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

using cuda::CudaDevice;
using cuda::CudaPlan;
using cuda::make_cuda_plan;

// In binary64: from distances and a norm the largest `lower` and the smallest `others` that a screen could find.
TEST(CudaMargins, AreNeverAboveTheTruth) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  int64_t useful = 0;
  for (int i = 0; i < 2'000'000; ++i) {
    const double norm = std::ldexp(1 + uniform(random), static_cast<int>(random() % 60) - 30);
    const double own = norm * std::ldexp(uniform(random), -static_cast<int>(random() % 24));
    const double gap = own * std::ldexp(uniform(random), 2 - static_cast<int>(random() % 24));
    const double half = norm * norm / 2;
    const float lower = std::nextafter(static_cast<float>(half - own * own / 2), -INFINITY);
    const float others = std::nextafter(static_cast<float>(half - (own + gap) * (own + gap) / 2), INFINITY);
    if (!(lower > others)) continue;
    const float n = std::nextafter(static_cast<float>(norm), INFINITY);
    const float margin = cuda::margin_of(lower, others, n, cuda::margin_slack(0));
    ASSERT_LE(static_cast<double>(margin), gap) << norm << " " << own << " " << gap;
    ASSERT_LE(static_cast<double>(margin), gap - 0x1p-21 * own) << "nothing is left for the canonical slack";
    useful += static_cast<double>(margin) > gap / 2 ? 1 : 0;
  }
  EXPECT_GT(useful, 400'000);
}

TEST(CudaMargins, OfWhatIsNotANumberAreNotPositive) {
  EXPECT_FALSE(cuda::margin_of(NAN, 0, 1, 0) > 0);
  EXPECT_FALSE(cuda::margin_of(1, NAN, 1, 0) > 0);
  EXPECT_FALSE(cuda::margin_of(1, 0, NAN, 0) > 0);
  EXPECT_FALSE(cuda::margin_of(1, 1, 2, 0) > 0);
  EXPECT_GT(cuda::margin_of(1, cuda::kNeverWins, 2, 0), 0x1p60F) << "there is no other prototype";
}

// The more columns, the more of the rows are worth copying together.
TEST(CudaMargins, FewRowsAreScreenedOnTheirOwn) {
  constexpr int64_t kRows = 1'000'000;
  int64_t before = 0;
  for (const int64_t k : {1, 16, 64, 256, 1024, 65536}) {
    const int64_t left = cuda::max_rows_left(kRows, k, BoundsUse::kWhenTheyPay);
    EXPECT_GT(left, before);
    EXPECT_LT(left, kRows);
    EXPECT_GE(cuda::max_rows_left(kRows, k, BoundsUse::kAlways), 3 * kRows / 4) << "asked for by name";
    before = left;
  }
}

TEST(CudaMargins, PiecesAreEnough) {
  for (const int64_t left : {0, 1, 127, 129, 1'000'000, 100'000'000, 2'000'000'000}) {
    for (const int32_t columns : {16, 128, 1024, 65536}) {
      const int64_t piece = cuda::margin_piece_rows(left, columns);
      EXPECT_EQ(piece % cuda::kRowBlock, 0);
      EXPECT_GE(piece * cuda::kMaxPieces, left);
      EXPECT_TRUE(piece * columns * 2 <= (int64_t{513} << 20) || piece * cuda::kMaxPieces < left + 32 * 128 * 2);
    }
  }
}

struct Points {
  std::vector<float> values;
  Input input;

  Points(int64_t n, int64_t d) : values(static_cast<size_t>(n * d)) {
    std::mt19937 random(5);
    for (float& value : values) value = static_cast<float>(random() % 1000);
    ThreadPool pool(1);
    input = prepare_input({values.data(), n, d}, {}, pool);
  }
};

const Workload kOneModel{.max_clusters = 1024, .all_clusters = 1024, .passes = 100, .models = 1, .sessions = 1};

TEST(CudaMargins, ArePlannedWhereTheyMayPay) {
  const Points points(4000, 40);
  const auto bounds = [&](const char* algorithm, const Workload& workload, const BackendOptions& options = {}) {
    BackendOptions asked = options;
    asked.algorithm = algorithm;
    return make_cuda_plan(points.input, cuda::hopper(), asked, 0x1p-12, workload).bounds;
  };
  EXPECT_EQ(bounds("bounds", kOneModel), BoundsUse::kAlways);
  EXPECT_EQ(bounds("matrix", kOneModel), BoundsUse::kNever);
  EXPECT_EQ(bounds("auto", kOneModel), BoundsUse::kNever) << "too little work";
  Workload large = kOneModel;
  large.max_clusters = large.all_clusters = 80'000;
  EXPECT_EQ(bounds("auto", large), BoundsUse::kWhenTheyPay);
  Workload two = kOneModel;
  two.models = 2;
  EXPECT_EQ(bounds("bounds", two), BoundsUse::kAlways) << "each model in passes of its own";
  EXPECT_EQ(bounds("auto", two), BoundsUse::kNever) << "which nobody has asked for";
  BackendOptions slices;
  slices.tuning.cuda.slice_rows = 1000;
  EXPECT_EQ(bounds("bounds", kOneModel, slices), BoundsUse::kNever);
  EXPECT_TRUE(cuda::margins_may_pay(1'000'000, 64, kOneModel));
  Workload short_fit = kOneModel;
  short_fit.passes = 3;
  EXPECT_FALSE(cuda::margins_may_pay(1'000'000, 64, short_fit));
}

// They are the first thing that goes.
TEST(CudaMargins, AreLeftOutWhereTheyDoNotFit) {
  const Points points(70'000, 128);
  BackendOptions options{.algorithm = "bounds"};
  const CudaPlan with = make_cuda_plan(points.input, cuda::hopper(), options, 0x1p-12, kOneModel);
  options.algorithm = "matrix";
  const CudaPlan without = make_cuda_plan(points.input, cuda::hopper(), options, 0x1p-12, kOneModel);
  EXPECT_GT(with.session_bytes, without.session_bytes + 4 * 70'000);
  options.algorithm = "bounds";
  options.device_memory = without.upload_bytes + with.session_bytes - 1 + 13 * 70'000;
  const CudaPlan tight = make_cuda_plan(points.input, cuda::hopper(), options, 0x1p-12, kOneModel);
  EXPECT_EQ(tight.bounds, BoundsUse::kNever);
  EXPECT_TRUE(tight.whole(70'000));
  EXPECT_NE(tight.text.find("no margins"), std::string::npos) << tight.text;
  options.device_memory += 1;
  EXPECT_EQ(make_cuda_plan(points.input, cuda::hopper(), options, 0x1p-12, kOneModel).bounds, BoundsUse::kAlways);
}

// Groups of normal noise about centres `spread` apart.
std::vector<float> groups(int64_t n, int64_t d, int64_t count, float spread) {
  std::vector<float> values(static_cast<size_t>(n * d));
  ThreadPool pool(usable_threads());
  std::vector<float> centres(static_cast<size_t>(count * d));
  std::mt19937 of_centres(17);
  std::normal_distribution<float> normal;
  for (float& value : centres) value = spread * normal(of_centres);
  pool.for_each_range(n, 1024, [&](int, int64_t first, int64_t last) {
    std::mt19937_64 random(static_cast<uint64_t>(first));
    std::normal_distribution<float> noise;
    for (int64_t i = first; i < last; ++i) {
      const auto group = static_cast<int64_t>(random() % static_cast<uint64_t>(count));
      for (int64_t j = 0; j < d; ++j) {
        values[static_cast<size_t>(i * d + j)] = centres[static_cast<size_t>(group * d + j)] + noise(random);
      }
    }
  });
  return values;
}

struct MarginFit {
  int64_t n, d, k;
  float spread;  // of the groups' centres, along each column
  EmptyPolicy empty;
};

class CudaMarginFits : public testing::TestWithParam<MarginFit> {};

// To the end, by every way: the same digest, and many rows kept.
TEST_P(CudaMarginFits, AreTheCpusAnswer) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const MarginFit shape = GetParam();
  const std::vector<float> values = groups(shape.n, shape.d, shape.k, shape.spread);
  FitOptions options;
  options.k = {shape.k};
  options.init = "random";
  options.max_iter = 60;
  options.empty = shape.empty;
  options.tol = 0;
  options.backend = "cpu";
  const PointsView points(values.data(), shape.n, shape.d);
  const std::string expected = fit(points, {}, options).digest();
  options.backend = "cuda";
  for (const char* algorithm : {"matrix", "bounds", "auto", "bounds"}) {
    options.algorithm = algorithm;
    const FitResult found = fit(points, {}, options);
    ASSERT_EQ(found.digest(), expected) << algorithm;
    const Provenance& how = found.provenance;
    fmt::print("{}: {:.1f} % kept in {} passes; {}\n", algorithm,
               100.0 * static_cast<double>(how.total.skipped) / static_cast<double>(how.total.labelled), how.passes,
               how.plan);
    if (std::string(algorithm) == "bounds") {
      EXPECT_GT(how.total.skipped, shape.n);
    }
    if (std::string(algorithm) == "matrix") {
      EXPECT_EQ(how.total.skipped, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, CudaMarginFits,
    testing::Values(MarginFit{250000, 128, 1000, 1, EmptyPolicy::kFarthest},   // and floors
                    MarginFit{200000, 32, 64, 1, EmptyPolicy::kFarthest},      // short rows, 64 columns a tile
                    MarginFit{150000, 100, 256, 1, EmptyPolicy::kKeep},        // 128 columns a tile
                    MarginFit{100000, 128, 1000, 1, EmptyPolicy::kDrop},       // several pieces of a fit
                    MarginFit{60000, 200, 128, 0.5F, EmptyPolicy::kFarthest},  // long rows, resident
                    MarginFit{40000, 800, 40, 0.25F, EmptyPolicy::kKeep}),     // long rows, streamed
    [](const testing::TestParamInfo<MarginFit>& shape) {
      return std::to_string(shape.param.n) + "x" + std::to_string(shape.param.d) + "_k" + std::to_string(shape.param.k);
    });

}  // namespace
}  // namespace manymeans::test
