// Parameters by their settings: names, numbers, and that they change nothing but speed.
#include "backend/opencl/runtime/tuned_parameters.h"

#include <manymeans/fit.h>

#include "backend/opencl/opencl_here.h"
#include "conformance/cases.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace manymeans::test {
namespace {

using opencl::TunedParameters;
using opencl::with_settings;

TEST(TunedParameters, HaveSettings) {
  const TunedParameters plain;
  const TunedParameters set =
      with_settings(plain, "width=8,columns=2,group=1,items_a_unit=3,contiguous=1,fused=0,low_contention=0");
  EXPECT_EQ(set.width, 8);
  EXPECT_EQ(set.columns, 2);
  EXPECT_EQ(set.long_columns, plain.long_columns);
  EXPECT_EQ(set.group, 1);
  EXPECT_EQ(set.items_a_unit, 3);
  EXPECT_TRUE(set.contiguous);
  EXPECT_FALSE(set.fused);
  EXPECT_TRUE(plain.low_contention);
  EXPECT_FALSE(set.low_contention);
  EXPECT_EQ(with_settings(plain, "").options(), plain.options());
  for (const char* wrong : {"width", "width=", "=8", "width=5", "width=8x", "height=8", "group=0", "columns=-1", ",",
                            "width=8,,columns=2", "columns=32", "columns=1", "items_a_unit=99999999999", "contiguous=1",
                            "group=64,contiguous=1", "low_contention=high"}) {
    EXPECT_THROW(with_settings(plain, wrong), Error) << wrong;
  }
}

class SettingsOnADevice : public OnOpenClDevice {
 protected:
  void TearDown() override { unsetenv("MANYMEANS_OPENCL_TUNED"); }
};

TEST_F(SettingsOnADevice, ChangeNoBits) {
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kIntegers, {3000, 5, {1}}, 4);
  FitOptions options;
  options.k = {17};
  options.backend = "reference";
  const std::string expected = fit(made.points(), made.weights, options).digest();
  options.backend = "opencl";
  for (const char* settings :
       {"width=4,columns=16,fused=0", "low_contention=0", "width=8,columns=2,group=7,contiguous=0,items_a_unit=1"}) {
    setenv("MANYMEANS_OPENCL_TUNED", settings, 1);
    EXPECT_EQ(fit(made.points(), made.weights, options).digest(), expected) << settings;
  }
  setenv("MANYMEANS_OPENCL_TUNED", "colour=red", 1);
  EXPECT_THROW(fit(made.points(), made.weights, options), Error);
}

}  // namespace
}  // namespace manymeans::test
