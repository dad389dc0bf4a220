#include "core/fp_environment.h"

#include "core/hostile_environment.h"

#include <gtest/gtest.h>

#include <cfenv>

namespace manymeans::test {
namespace {

TEST(FpEnvironmentGuard, SetsTheContractAndRestoresTheCaller) {
  const HostileEnvironment caller;
  ASSERT_FALSE(environment_is_the_contracts()) << "the test must start from a wrong environment";
  {
    const FpEnvironmentGuard guard;
    EXPECT_TRUE(environment_is_the_contracts());
    {
      const FpEnvironmentGuard inner;
      EXPECT_TRUE(environment_is_the_contracts());
    }
    EXPECT_TRUE(environment_is_the_contracts());
  }
  EXPECT_TRUE(caller.still_holds());
}

TEST(FpEnvironmentGuard, MasksTheCallersTrapsAndBringsThemBack) {
  if (!TrappingEnvironment::kAvailable) GTEST_SKIP() << "this machine has no traps to set";
  for (const bool pending : {false, true}) {
    bool same = false;
    {
      const TrappingEnvironment caller(pending);
      {
        const FpEnvironmentGuard guard;
        raise_all_exceptions();
        const FpEnvironmentGuard inner;
        raise_all_exceptions();
      }
      same = TrappingEnvironment::still_holds(pending);
    }
    EXPECT_TRUE(same) << (pending ? "flags pending" : "no flags");
  }
}

TEST(FpEnvironmentGuard, LeavesTheRightEnvironmentAlone) {
  ASSERT_TRUE(environment_is_the_contracts());
  { const FpEnvironmentGuard guard; }
  EXPECT_TRUE(environment_is_the_contracts());
}

}  // namespace
}  // namespace manymeans::test
