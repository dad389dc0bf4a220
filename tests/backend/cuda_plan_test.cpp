// What the cuda backend decides before it touches a device: screens, memory, bounds. Needs no device.
#include "backend/cuda/cuda_plan.h"

#include <manymeans/error.h>

#include "backend/cuda/accumulate.h"
#include "backend/cuda/float_screen.h"
#include "backend/cuda/matrix_pack.h"
#include "backend/cuda/score_falls.h"
#include "backend/frame.h"
#include "backend/hopper_device.h"
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
    return find_half_frame(input, frame.centre, frame.largest).ratio;
  }
};

CudaPlan plan(const Points& points, const CudaDevice& device, const BackendOptions& options) {
  return make_cuda_plan(points.input, device, options, points.half_ratio(), {});
}

TEST(CudaPlan, ChoosesTheScreenByColumnsAndDevice) {
  CudaDevice older = hopper();
  older.matrix_unit = MatrixUnit::kNone;
  EXPECT_EQ(plan(Points(300, 16), hopper(), {}).screen, ScreenKind::kFloat);
  EXPECT_EQ(plan(Points(300, 17), hopper(), {}).screen, ScreenKind::kMatrix);
  EXPECT_EQ(plan(Points(300, 17), hopper(), {}).padded_columns, 32);
  EXPECT_EQ(plan(Points(300, 17), older, {}).screen, ScreenKind::kFloat);
  EXPECT_EQ(plan(Points(300, 17), hopper(), {.algorithm = "brute"}).screen, ScreenKind::kNone);
}

TEST(CudaPlan, PutsManyRowsOfFewColumnsIntoBoxes) {
  EXPECT_EQ(plan(Points(40'000, 2), hopper(), {}).screen, ScreenKind::kBoxes);
  EXPECT_EQ(plan(Points(30'000, 2), hopper(), {}).screen, ScreenKind::kFloat);
  EXPECT_EQ(plan(Points(40'000, 3), hopper(), {}).screen, ScreenKind::kFloat) << "boxes would be wide";
  EXPECT_EQ(plan(Points(40'000, 2), hopper(), {.algorithm = "matrix"}).screen, ScreenKind::kFloat);
  EXPECT_EQ(plan(Points(10, 4), hopper(), {.algorithm = "kdtree"}).screen, ScreenKind::kBoxes);
  CudaDevice small = hopper();
  small.memory_free = (int64_t{256} << 20) + (int64_t{32} << 20);
  EXPECT_EQ(plan(Points(40'000, 2), small, {}).screen, ScreenKind::kFloat) << "there is no room to sort";
}

TEST(CudaPlan, GivesFloorsToLargeModelsOfPointsThatFit) {
  const Points points(40'000, 17);
  const auto floors = [&](int64_t k, const CudaDevice& device, const BackendOptions& options = {}) {
    return make_cuda_plan(points.input, device, options, points.half_ratio(), {k, k}).floors;
  };
  EXPECT_TRUE(floors(100'000, hopper()));
  EXPECT_FALSE(floors(1000, hopper())) << "little work";
  EXPECT_FALSE(floors(700, hopper()));
  EXPECT_TRUE(floors(10, hopper(), {.floors = true}));
  EXPECT_FALSE(floors(100'000, hopper(), {.floors = false}));
  EXPECT_FALSE(floors(10, hopper(), {.floors = true, .test_slice_rows = 4096}));
  EXPECT_FALSE(floors(100'000, hopper(), {.algorithm = "brute"}));
}

TEST(CudaPlan, FloorsPayWhereFewLabelsChangeOrColumnsAreMany) {
  EXPECT_FALSE(floors_pay(90, 1000, 1024, 128));
  EXPECT_TRUE(floors_pay(75, 1000, 1024, 128));
  EXPECT_FALSE(floors_pay(1000, 1000, 8192, 128)) << "a first pass";
  EXPECT_TRUE(floors_pay(1000, 1000, 65536, 128));
  EXPECT_FALSE(floors_pay(10, 1000, 65536, 768)) << "products of long rows hide the ranking";
  EXPECT_TRUE(floors_pay(0, int64_t{1} << 40, 1, 1));
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
  EXPECT_EQ(code(hopper(), {.screen_format = "bfloat16"}), ErrorCode::kUsage);
  EXPECT_EQ(code(older, {.screen_format = "float16"}), ErrorCode::kUnavailable);
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
  points.input.points.cuda_device = 0;
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
  EXPECT_EQ(label_order_capacity(10, kMostLabelOrderColumns + 1, 1, 2, 1), 0) << "too many columns";
}

TEST(CudaPlan, CountsTheRoomForSumsByLabel) {
  const Points points(66'000, 128);
  const CudaPlan matrix = plan(points, hopper(), {});
  const std::vector<int64_t> k = {320};
  const int64_t entries = label_order_capacity(66'000, 128, points.input.limbs, 320, 1);
  ASSERT_GT(entries, 0);
  Input wide = points.input;
  wide.limbs = kMostLabelOrderLimbs + 1;  // larger sums, and no order
  const int64_t sums = 320 * 128 * (wide.limbs - points.input.limbs) * 8;
  EXPECT_EQ(session_bytes(wide, k, matrix) - session_bytes(points.input, k, matrix),
            sums - 4 * (entries + 2 * 320 + 1));
}

// The bound of docs/screens.md, in full, against float32 sums in the worst order that it allows.
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
