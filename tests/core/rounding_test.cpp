#include "core/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace manymeans {
namespace {

TEST(Rounding, FloatsAreNeverBelow) {
  EXPECT_EQ(rounded_up(1), 1.0F);
  EXPECT_EQ(rounded_up(1 + 0x1p-40), 1 + 0x1p-23F);
  EXPECT_EQ(rounded_up(1 - 0x1p-40), 1.0F);
  EXPECT_EQ(rounded_up(-1 - 0x1p-40), -1.0F);
  EXPECT_EQ(rounded_up(0x1p-1000), 0x1p-149F);
}

TEST(Rounding, ZerosAndInfinitiesStayAndNothingElseOverflowsDownwards) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::signbit(rounded_up(-0.0)));
  EXPECT_TRUE(std::signbit(rounded_up(-0x1p-1000)));
  EXPECT_EQ(rounded_up(infinity), infinity);
  EXPECT_EQ(rounded_up(-infinity), -infinity);
  EXPECT_EQ(rounded_up(1e300), infinity);
  EXPECT_EQ(rounded_up(-1e300), -std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isnan(rounded_up(std::nan(""))));
}

TEST(Rounding, CountsBecomeWholeGroups) {
  EXPECT_EQ(padded(0, 16), 0);
  EXPECT_EQ(padded(1, 16), 16);
  EXPECT_EQ(padded(32, 16), 32);
  EXPECT_EQ(padded(33, 16), 48);
}

}  // namespace
}  // namespace manymeans
