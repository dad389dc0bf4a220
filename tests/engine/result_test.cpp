#include <manymeans/result.h>

#include <gtest/gtest.h>

namespace manymeans {
namespace {

TEST(ShownDuration, HasThreeDigits) {
  EXPECT_EQ(shown_duration(0), "0.00us");
  EXPECT_EQ(shown_duration(-1e-9), "0.00us");
  EXPECT_EQ(shown_duration(1.234e-6), "1.23us");
  EXPECT_EQ(shown_duration(12.34e-6), "12.3us");
  EXPECT_EQ(shown_duration(999.4e-6), "999us");
  EXPECT_EQ(shown_duration(999.6e-6), "1.00ms");
  EXPECT_EQ(shown_duration(0.02), "20.0ms");
  EXPECT_EQ(shown_duration(0.9994), "999ms");
  EXPECT_EQ(shown_duration(0.9996), "1.00s");
  EXPECT_EQ(shown_duration(9.994), "9.99s");
  EXPECT_EQ(shown_duration(9.996), "10s");
  EXPECT_EQ(shown_duration(59.6), "1m00s");
  EXPECT_EQ(shown_duration(3725), "1h02m");
}

}  // namespace
}  // namespace manymeans
