// What the cuda backend decides before it touches a device: screens, memory, bounds. Needs no device.
#include "backend/cuda/pass/cuda_plan.h"

#include <manymeans/error.h>

#include "backend/cuda/bounding_boxes/boxed_points.h"
#include "backend/cuda/exact/accumulate.h"
#include "backend/cuda/exact/exact_stage.h"
#include "backend/cuda/float32/float_kernels.h"
#include "backend/cuda/hopper_device.h"
#include "backend/cuda/margins/row_margins.h"
#include "backend/cuda/tensor/matrix_bounds.h"
#include "backend/cuda/tensor/matrix_pack.h"
#include "backend/cuda/tensor/score_falls.h"
#include "backend/frame.h"
#include "core/threads.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace manymeans::cuda {
namespace {

struct Points {
  std::vector<float> values;
  Input input;

  Points(int64_t n, int64_t d, double far_value = 0) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < n * d; ++i) values.push_back(normal(random));
    if (far_value != 0) values[0] = static_cast<float>(far_value);
    ThreadPool pool(1);
    input = prepare_input({values.data(), n, d}, {}, pool);
  }
  double half_ratio() const {
    const Frame frame = find_frame(input);
    return find_half_frame(input, frame.centre, frame.largest, product_roundings(true)).radius.ratio;
  }
};

CudaPlan plan(const Points& points, const CudaDevice& device, const BackendOptions& options) {
  return make_cuda_plan(points.input, device, options, points.half_ratio(), {});
}

TEST(CudaPlan, ChoosesTheScreenByColumnsAndDevice) {
  CudaDevice older = hopper();
  older.matrix_unit = MatrixUnit::kNone;
  EXPECT_EQ(plan(Points(300, 7), hopper(), {}).screen, ScreenKind::kFloat);
  EXPECT_EQ(plan(Points(300, 17), hopper(), {}).screen, ScreenKind::kMatrix);
  EXPECT_EQ(plan(Points(300, 17), hopper(), {}).padded_columns, 32);
  EXPECT_EQ(plan(Points(300, 17), older, {}).screen, ScreenKind::kFloat);
  EXPECT_EQ(plan(Points(300, 17), hopper(), {.algorithm = "brute"}).screen, ScreenKind::kNone);
}

TEST(CudaPlan, ScreensShortRowsInTheTensorCoresWhereTheirTilesAreFull) {
  const auto screen = [](int64_t columns, int64_t k, int64_t models, const CudaDevice& device = hopper()) {
    const Points points(30'000, columns);
    const Workload workload{.max_clusters = k, .all_clusters = k * models, .models = models};
    return make_cuda_plan(points.input, device, {}, points.half_ratio(), workload).screen;
  };
  EXPECT_EQ(screen(16, 100, 1), ScreenKind::kMatrix);
  EXPECT_EQ(screen(8, 400, 1), ScreenKind::kMatrix);
  EXPECT_EQ(screen(7, 400, 1), ScreenKind::kFloat);
  EXPECT_EQ(screen(8, 20, 1), ScreenKind::kFloat) << "most of a tile would be padding";
  EXPECT_EQ(screen(16, 16, 1), ScreenKind::kMatrix);
  EXPECT_EQ(screen(16, 16, 20), ScreenKind::kFloat);
  EXPECT_EQ(screen(16, 64, 20), ScreenKind::kMatrix);
  EXPECT_EQ(screen(17, 2, 20), ScreenKind::kMatrix);
  CudaDevice small = hopper();
  small.memory_free = (int64_t{256} << 20) + (int64_t{3} << 20);
  EXPECT_EQ(screen(16, 100, 1, small), ScreenKind::kFloat) << "packed rows would come in slices";
}

TEST(CudaPlan, PutsManyRowsOfFewColumnsIntoBoxes) {
  EXPECT_EQ(plan(Points(40'000, 2), hopper(), {}).screen, ScreenKind::kBoundingBoxes);
  EXPECT_EQ(plan(Points(30'000, 2), hopper(), {}).screen, ScreenKind::kFloat);
  EXPECT_EQ(plan(Points(40'000, 3), hopper(), {}).screen, ScreenKind::kFloat) << "boxes would be wide";
  EXPECT_EQ(plan(Points(40'000, 2), hopper(), {.algorithm = "matrix"}).screen, ScreenKind::kFloat);
  EXPECT_EQ(plan(Points(10, 4), hopper(), {.algorithm = "kdtree"}).screen, ScreenKind::kBoundingBoxes);
  CudaDevice small = hopper();
  small.memory_free = (int64_t{256} << 20) + (int64_t{32} << 20);
  EXPECT_EQ(plan(Points(40'000, 2), small, {}).screen, ScreenKind::kFloat) << "there is no room to sort";
}

TEST(CudaPlan, GivesScoreThresholdsToLargeModelsOfPointsThatFit) {
  const Points points(40'000, 17);
  const auto thresholds = [&](int64_t k, const CudaDevice& device, const BackendOptions& options = {}) {
    return make_cuda_plan(points.input, device, options, points.half_ratio(), {k, k}).score_thresholds;
  };
  EXPECT_TRUE(thresholds(100'000, hopper()));
  EXPECT_FALSE(thresholds(1000, hopper())) << "little work";
  EXPECT_FALSE(thresholds(700, hopper()));
  EXPECT_TRUE(thresholds(10, hopper(), {.tuning = {.cuda = {.score_thresholds = true}}}));
  EXPECT_FALSE(thresholds(100'000, hopper(), {.tuning = {.cuda = {.score_thresholds = false}}}));
  EXPECT_FALSE(thresholds(10, hopper(), {.tuning = {.cuda = {.score_thresholds = true, .slice_rows = 4096}}}));
  EXPECT_FALSE(thresholds(100'000, hopper(), {.algorithm = "brute"}));
}

// Rows that fall by more than was guessed must find room among the open ones.
TEST(CudaPlan, FailingRowsAreFew) {
  EXPECT_EQ(failing_rows(1'000'000, 1024, 1U << 19), 16);
  EXPECT_EQ(failing_rows(1'000'000, 1 << 20, 1U << 19), 8);
  EXPECT_EQ(failing_rows(1'000'000, 10, 1U << 19), 64);
  EXPECT_EQ(failing_rows(int64_t{1} << 28, 1024, 1U << 19), 4);
  EXPECT_EQ(failing_rows(int64_t{1} << 40, 1024, 1U << 19), 1);
}

// One value far out leaves the others few bits of fp16.
TEST(CudaPlan, AnOutlierMakesFp16Useless) {
  EXPECT_LT(Points(300, 40).half_ratio(), 0x1p-11);
  const Points points(300, 40, 1e12);
  EXPECT_GT(points.half_ratio(), 0x1p-9);
  EXPECT_EQ(plan(points, hopper(), {}).screen, ScreenKind::kFloat);
}

TEST(CudaPlan, RefusesWhatItDoesNotHave) {
  const Points points(300, 20);
  CudaDevice older = hopper();
  older.matrix_unit = MatrixUnit::kNone;
  const auto code = [&](const CudaDevice& device, const BackendOptions& options) {
    try {
      plan(points, device, options);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  EXPECT_EQ(code(hopper(), {.algorithm = "kdtree"}), ErrorCode::kUsage);
  EXPECT_EQ(code(hopper(), {.tuning = {.cuda = {.screen_format = "bfloat16"}}}), ErrorCode::kUsage);
  EXPECT_EQ(code(older, {.tuning = {.cuda = {.screen_format = "float16"}}}), ErrorCode::kUnavailable);
}

TEST(CudaPlan, SaysWhatIsNeededWhereTheDeviceIsTooSmall) {
  const Points points(4000, 20);
  try {
    plan(points, hopper(), {.device_memory = int64_t{1} << 20});
    FAIL() << "a megabyte is too little for any session";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_NE(std::string(error.what()).find("and 1 MiB are free"), std::string::npos) << error.what();
  }
}

// What there is room for is used, and never more.
TEST(CudaPlan, StreamsWhatDoesNotFit) {
  Points points(70'000, 256);
  for (const int64_t weights : {0, 1}) {
    points.input.weights.assign(static_cast<size_t>(weights * 70'000), 1.0);
    const CudaPlan all = plan(points, hopper(), {});
    EXPECT_TRUE(all.whole(70'000));
    EXPECT_EQ(all.text.find("every pass"), std::string::npos);
    int64_t resident_before = 0;
    int sliced = 0;
    for (int64_t room = int64_t{1} << 20; room < all.upload_bytes + all.session_bytes; room += int64_t{5} << 20) {
      CudaPlan some;
      try {
        some = plan(points, hopper(), {.device_memory = room});
      } catch (const Error&) {
        EXPECT_EQ(sliced, 0) << "what is enough stays enough";
        continue;
      }
      if (some.whole(70'000)) break;
      ++sliced;
      EXPECT_LE(some.upload_bytes + some.session_bytes, room);
      EXPECT_EQ(some.slice_rows % kSliceRows, 0);
      EXPECT_TRUE(some.resident_rows == 70'000 || some.resident_rows % some.slice_rows == 0);
      EXPECT_GE(some.resident_rows + 2 * some.slice_rows, resident_before);
      resident_before = some.resident_rows;
      EXPECT_NE(some.text.find("every pass"), std::string::npos) << some.text;
    }
    EXPECT_GT(sliced, 5);
  }
}

// More models need more for labels, and sessions side by side for everything.
TEST(CudaPlan, TheListOfAllModelsHasNumbersOf32Bits) {
  const Points points(300, 17);
  Input input = points.input;
  input.points.n = int64_t{1} << 26;  // nobody looks at their values
  CudaDevice device = hopper();
  device.memory_free = int64_t{1} << 42;
  const auto rows = [&](int64_t models) {
    return make_cuda_plan(input, device, {}, points.half_ratio(), {64, 64 * models, 10, models, 1}).slice_rows;
  };
  EXPECT_EQ(rows(16), input.points.n);
  EXPECT_LT(rows(64) * 64, int64_t{1} << 31);
}

// What all models' rows are counted in, and listed by, has 32 bits under every screen.
TEST(CudaPlan, RowsOfAllModelsCanBeNumbered) {
  const Points points(300, 17);
  const Points few(300, 2);
  CudaDevice device = hopper();
  device.memory_free = int64_t{1} << 60;
  for (const char* algorithm : {"brute", "matrix", "bounds", "kdtree", "auto"}) {
    for (const char* format : {"", "float32", "float16"}) {
      for (const int64_t n : {int64_t{1} << 22, int64_t{1} << 28, int64_t{1} << 31, int64_t{1} << 36}) {
        for (const int64_t models : {1, 2, 3, 64, 1000, 65535}) {
          const bool boxes = std::string(algorithm) == "kdtree";
          if (boxes && n > kMaxBoxPoints) continue;
          Input input = (boxes ? few : points).input;
          input.points.n = n;  // nobody looks at their values
          const Workload workload{64, 64 * models, 10, models, 1};
          const CudaPlan made =
              make_cuda_plan(input, device, {.algorithm = algorithm, .tuning = {.cuda = {.screen_format = format}}},
                             points.half_ratio(), workload);
          const int64_t rows = std::min(made.slice_rows, n);
          const int64_t entries = made.screen == ScreenKind::kBoundingBoxes ? (rows + kBoxRows - 1) / kBoxRows : rows;
          EXPECT_LE(entries * (made.apart ? 1 : models), int64_t{1} << 31)
              << algorithm << format << " " << n << " x " << models;
          EXPECT_LT(rows, (int64_t{1} << 31) + 1);
        }
      }
    }
  }
}

TEST(CudaPlan, RefusesMoreModelsThanAPassCanNumber) {
  const Points points(300, 17);
  const auto planned = [&](int64_t models, int64_t clusters) {
    make_cuda_plan(points.input, hopper(), {}, points.half_ratio(), {1, clusters, 10, models, 1});
  };
  EXPECT_NO_THROW(planned(60'000, 60'000));
  EXPECT_THROW(planned(65'536, 65'536), Error);
  EXPECT_THROW(planned(10, int64_t{1} << 31), Error);
}

// Beyond the columns for which a screen's bound holds another one looks, or none: never one whose bound is wrong.
TEST(CudaPlan, NoScreenBeyondItsBound) {
  Points points(300, 20);
  const auto screen = [&](int64_t d, const char* format = "", const char* algorithm = "auto") {
    points.input.points.d = d;  // nobody looks at their values
    CudaDevice device = hopper();
    device.memory_free = int64_t{1} << 50;
    return make_cuda_plan(points.input, device, {.algorithm = algorithm, .tuning = {.cuda = {.screen_format = format}}},
                          0x1p-12, {})
        .screen;
  };
  constexpr int64_t kMatrix = 3'947'568;  // 246723 steps of 17 roundings of 2^-22
  const RadiusRule rule(1, product_roundings(false), kMatrix);
  EXPECT_LT(matrix_roundings(kMatrix, rule.of_product), 1);
  EXPECT_GE(matrix_roundings(kMatrix + 1, rule.of_product), 1);
  EXPECT_GT(matrix_bound({1, 0, 1}, kMatrix, rule).slope, 0);
  EXPECT_EQ(screen(kMatrix), ScreenKind::kMatrix);
  EXPECT_EQ(screen(kMatrix + 1), ScreenKind::kFloat);
  EXPECT_EQ(screen(kMatrix + 1, "float16"), ScreenKind::kFloat);
  EXPECT_EQ(screen(kMatrix + 1, "", "bounds"), ScreenKind::kFloat);
  int64_t most = kMatrix;
  while (FloatBound::holds(most + 1)) ++most;
  EXPECT_NEAR(static_cast<double>(most), 0x1p24 / 3, 10) << "gamma = 1/2";
  EXPECT_EQ(screen(most), ScreenKind::kFloat);
  EXPECT_EQ(screen(most + 1), ScreenKind::kNone);
  EXPECT_EQ(screen(most + 1, "float32"), ScreenKind::kNone);
  EXPECT_EQ(screen(int64_t{1} << 30, "", "matrix"), ScreenKind::kNone);
}

// A constant column far larger than the spread of the others would overflow where values are scaled before they are
// subtracted; in binary64 nothing does.
TEST(CudaPlan, AConstantColumnFarOutIsSubtractedInBinary64) {
  std::vector<float> values;
  for (int i = 0; i < 600; ++i) values.push_back(i % 2 == 0 ? 1e10F : 1e-12F * static_cast<float>(i % 20));
  ThreadPool pool(1);
  const Input far = prepare_input({values.data(), 300, 2}, {}, pool);
  const Frame frame = find_frame(far);
  EXPECT_LE(std::abs(frame.exponent), 100);
  EXPECT_FALSE(subtracts_in_float(far, frame.exponent));
  EXPECT_FALSE(std::isfinite(static_cast<float>(std::ldexp(1e10, frame.exponent)))) << "this is the case meant";
  const Points near(300, 2);
  EXPECT_TRUE(subtracts_in_float(near.input, find_frame(near.input).exponent));
}

// An algorithm that is asked for by name: had wherever it can be, else refused, or done without a part, for the true
// reason.
TEST(CudaPlan, SaysWhyAnAlgorithmCannotBeHad) {
  const auto refusal = [](int64_t n, int64_t d, const char* algorithm) {
    Points points(300, d);
    points.input.points.n = n;  // nobody looks at their values
    try {
      make_cuda_plan(points.input, hopper(), {.algorithm = algorithm}, 0x1p-12, {});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(
      refusal(300, 174, "kdtree"),
      "[algorithm] the cuda backend has kdtree for at most 4 columns, and there are 174; use auto, matrix, bounds "
      "or brute, or --backend cpu");
  EXPECT_NE(refusal(kMaxBoxPoints + 1, 2, "kdtree").find("at most 2147483648 rows, and there are 2147483649"),
            std::string::npos);
  EXPECT_EQ(refusal(300, 174, "hamerly"),
            "[algorithm] there is no algorithm 'hamerly'; known: auto, matrix, bounds, kdtree, brute");
  for (const int64_t d : {1, 2, 4, 5, 174}) {
    for (const char* algorithm : {"auto", "matrix", "bounds", "brute"}) EXPECT_EQ(refusal(300, d, algorithm), "") << d;
  }
}

TEST(CudaPlan, SaysWhatAnAlgorithmLacks) {
  const Points points(70'000, 174);
  const auto made = [&](const CudaDevice& device, const BackendOptions& options, const Workload& workload,
                        double ratio) { return make_cuda_plan(points.input, device, options, ratio, workload); };
  const BackendOptions bounds{.algorithm = "bounds"};
  const double ratio = points.half_ratio();
  const CudaPlan whole = made(hopper(), bounds, {}, ratio);
  EXPECT_EQ(whole.bounds, BoundsUse::kAlways);
  EXPECT_EQ(whole.warning, "");
  EXPECT_FALSE(whole.apart);
  const Workload two{64, 128, 10, 2, 1};
  const CudaPlan models = made(hopper(), bounds, two, ratio);
  EXPECT_EQ(models.bounds, BoundsUse::kAlways) << "several models have a session each";
  EXPECT_TRUE(models.apart);
  EXPECT_EQ(models.warning, "");
  EXPECT_FALSE(made(hopper(), {}, two, ratio).apart);
  const std::vector<int64_t> one = {64};
  EXPECT_TRUE(carries_margins(session_shape(points.input, one, models)));
  const CudaPlan little = made(hopper(), {.algorithm = "bounds", .device_memory = 20 << 20}, two, ratio);
  EXPECT_FALSE(little.apart);
  EXPECT_NE(little.warning.find("do not fit the device's memory"), std::string::npos) << little.warning;
  const CudaPlan slices = made(hopper(), {.algorithm = "bounds", .tuning = {.cuda = {.slice_rows = 4096}}}, {}, ratio);
  EXPECT_NE(slices.warning.find("do not fit the device's memory"), std::string::npos) << slices.warning;
  EXPECT_NE(slices.text.find(slices.warning.substr(slices.warning.find("no margins"))), std::string::npos);
  CudaDevice older = hopper();
  older.matrix_unit = MatrixUnit::kNone;
  EXPECT_NE(made(older, bounds, {}, ratio).warning.find("has no fp16 screen"), std::string::npos);
  EXPECT_NE(made(hopper(), bounds, {}, 1).warning.find("too coarse"), std::string::npos);
  const Points low(40'000, 2);
  const CudaPlan tree = make_cuda_plan(
      low.input, hopper(), {.algorithm = "kdtree", .tuning = {.cuda = {.slice_rows = 4096}}}, low.half_ratio(), {});
  EXPECT_EQ(tree.screen, ScreenKind::kFloat);
  EXPECT_NE(tree.warning.find("no bounding boxes"), std::string::npos) << tree.warning;
}

TEST(CudaPlan, CountsModelsAndSessions) {
  const Points points(70'000, 256);
  const int64_t room = int64_t{50} << 20;
  const auto resident = [&](int64_t models, int64_t sessions) {
    const Workload workload{64, 64 * models * sessions, 10, models, sessions};
    return make_cuda_plan(points.input, hopper(), {.device_memory = room}, points.half_ratio(), workload).resident_rows;
  };
  EXPECT_GT(resident(1, 1), resident(8, 1));
  EXPECT_GT(resident(1, 1), resident(1, 30));
}

TEST(CudaPlan, PointsOnTheDeviceAreNeverStreamed) {
  Points points(70'000, 256);
  const CudaPlan all = plan(points, hopper(), {});
  points.input.points.place = {"cuda"};
  const CudaPlan small = make_cuda_plan(points.input, hopper(), {.device_memory = 20 << 20}, 0x1p-12, {});
  EXPECT_EQ(small.resident_rows, 70'000);
  EXPECT_FALSE(small.whole(70'000));
  EXPECT_NE(small.text.find("rounded again in every pass"), std::string::npos) << small.text;
}

TEST(CudaPlan, CountsASessionsMemory) {
  const Points points(1000, 20);
  const CudaPlan matrix = plan(points, hopper(), {});
  const std::vector<int64_t> one = {100};
  const std::vector<int64_t> two = {100, 300};
  const int64_t bytes = session_bytes(points.input, one, matrix);
  EXPECT_GT(bytes, 2 * 1000 + 100 * 20 * (points.input.limbs * 8 + 4));
  // The second model needs labels of two bytes for both.
  EXPECT_GT(session_bytes(points.input, two, matrix), bytes + 3 * 2 * 1000);
}

// Room for two entries a row and model, in slices, where the statistics are too large for shared memory.
TEST(CudaPlan, ChoosesSumsByLabel) {
  EXPECT_EQ(label_order_capacity(8'000'000, 128, 2, 1024, 1), 2 * 8'003'584);
  EXPECT_EQ(label_order_capacity(8'000'000, 128, 2, 1024, 10), 2 * 10 * 1'679'360);
  EXPECT_EQ(label_order_capacity(int64_t{1} << 33, 2, 1, 100'000, 1), int64_t{1} << 25);
  EXPECT_EQ(label_order_capacity(100'000, 100, 1, 200, 50'000), 2 * 50'000 * kLabelOrderRows);
  EXPECT_EQ(label_order_capacity(8'000'000, 128, 4, 1024, 1), 0) << "too many limbs";
  EXPECT_EQ(label_order_capacity(8'000'000, 128, 1, 64, 1), 0) << "64 x 130 integers fit shared memory";
  EXPECT_EQ(label_order_capacity(10'000, 128, 1, 1024, 1), 0) << "too little to do";
  EXPECT_EQ(label_order_capacity(10, kMaxLabelOrderColumns + 1, 1, 2, 1), 0) << "too many columns";
}

TEST(CudaPlan, CountsTheRoomForSumsByLabel) {
  const Points points(66'000, 128);
  const CudaPlan matrix = plan(points, hopper(), {});
  const std::vector<int64_t> k = {320};
  const int64_t entries = label_order_capacity(66'000, 128, points.input.limbs, 320, 1);
  ASSERT_GT(entries, 0);
  Input wide = points.input;
  wide.limbs = kMaxLabelOrderLimbs + 1;  // larger sums, and no order
  const int64_t sums = 320 * 128 * (wide.limbs - points.input.limbs) * 8;
  EXPECT_EQ(session_bytes(wide, k, matrix) - session_bytes(points.input, k, matrix),
            sums - 4 * (entries + 2 * 320 + 1));
}

// The bound of docs/developer/screens.md, in full, against float32 sums in the worst order that it allows.
TEST(CudaPlan, FloatBoundsCoverTheirRoundings) {
  for (const int64_t d : {1, 2, 16, 17, 100, 1000, 100000}) {
    const FloatBound bound = FloatBound::make(d, 0, 1);
    const double u = 0x1p-24;
    const double place = d <= kLowColumns ? 6 * 0x1p-23 : 0;
    EXPECT_GT(bound.slope, static_cast<double>(d + 5) * u + place);
    EXPECT_GT(bound.half, static_cast<double>(d + 4) * u + place);
    EXPECT_GE(static_cast<double>(bound.half_up), bound.half);
    const FloatBound quarter = FloatBound::make(d, 0, 0.25);
    EXPECT_LT(quarter.slope, 0.26 * bound.slope);
    EXPECT_LT(quarter.half, 0.26 * bound.half);
  }
}

}  // namespace
}  // namespace manymeans::cuda
