#include "backend/cpu/choose/screen_costs.h"

#include <manymeans/info.h>

#include "backend/backend.h"

#include <gtest/gtest.h>

namespace manymeans {
namespace {

TEST(ScreenCosts, AreKnownForEveryInstructionSet) {
  for (const Choice& set : cpu_instruction_sets()) {
    const ScreenCosts& costs = screen_costs(set.name);
    EXPECT_GT(costs.score, 0) << set.name;
    EXPECT_GT(costs.value, 0) << set.name;
    EXPECT_GT(costs.byte, 0) << set.name;
    if (set.available && cpu_screen_formats(set.name).size() > 1) {
      EXPECT_GT(costs.step, 0) << set.name << ": a screen that costs nothing would always be chosen";
    }
  }
}

}  // namespace
}  // namespace manymeans
