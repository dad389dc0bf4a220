#include "data/gather.h"

#include "conformance/cases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace manymeans {
namespace {

TEST(Gather, ThreadsCopyTheSameBytes) {
  ThreadPool pool(3);
  std::mt19937_64 random(1);
  for (int type = 0; type < 6; ++type) {
    const int64_t n = 3000, d = 1 + static_cast<int64_t>(random() % 200);
    const test::Case all = test::make_case(test::Family{}, static_cast<DataType>(type), test::Weighting::kNone,
                                           {n, d, {1}}, static_cast<uint64_t>(type));
    for (const size_t count : {size_t{0}, size_t{1}, size_t{5000}}) {
      std::vector<int64_t> rows(count);
      for (int64_t& row : rows) row = static_cast<int64_t>(random() % n);
      const Matrix alone = gather_rows(all.points(), rows);
      const Matrix together = gather_rows(all.points(), rows, pool);
      EXPECT_EQ(together.rows(), std::ssize(rows));
      EXPECT_EQ(together.type(), prototype_type(static_cast<DataType>(type)));
      EXPECT_TRUE(std::ranges::equal(alone.bytes(), together.bytes())) << type << " " << count;
    }
  }
}

TEST(Gather, LeavesNoNegativeZeros) {
  const float x[] = {-0.0F, 1, 2, -0.0F};
  const std::vector<int64_t> rows = {1, 0};
  const Matrix found = gather_rows(PointsView(x, 2, 2), rows);
  const auto values = found.values<float>();
  EXPECT_EQ(values[0], 2);
  EXPECT_FALSE(std::signbit(values[1]) || std::signbit(values[2]));
}

}  // namespace
}  // namespace manymeans
