#include "engine/cycle.h"

#include <gtest/gtest.h>

namespace manymeans {
namespace {

// Steps until the finder reports a sequence that runs `tail` steps and then repeats with `period`.
int steps_until_seen(int tail, int period) {
  CycleFinder finder;
  for (int step = 0; step < 10000; ++step) {
    const int state = step < tail ? step : tail + (step - tail) % period;
    if (finder.seen(static_cast<LabelSum>(state) * 7919 + 1)) return step;
  }
  return -1;
}

TEST(CycleFinder, FindsEveryCycleWithinAFewPeriods) {
  for (int tail = 0; tail < 40; ++tail) {
    for (int period = 1; period < 40; ++period) {
      const int steps = steps_until_seen(tail, period);
      EXPECT_GE(steps, tail + period) << "nothing had repeated yet";
      EXPECT_LE(steps, 3 * (tail + period) + 1) << tail << " " << period;
    }
  }
}

TEST(CycleFinder, SeesNoCycleWithoutOne) {
  CycleFinder finder;
  for (int step = 0; step < 5000; ++step) EXPECT_FALSE(finder.seen(static_cast<LabelSum>(step)));
}

TEST(CycleFinder, SavesTheStatesOfTheContract) {
  // 1, 3, 7, 15, ...: which states are saved decides in which iteration a cycle is seen.
  for (int repeated = 1; repeated <= 20; ++repeated) {
    CycleFinder finder;
    for (int t = 1; t <= 20; ++t) EXPECT_FALSE(finder.seen(static_cast<LabelSum>(t)));
    EXPECT_EQ(finder.seen(static_cast<LabelSum>(repeated)), repeated == 15) << repeated;
  }
}

TEST(CycleFinder, ForgetsOnReset) {
  CycleFinder finder;
  EXPECT_FALSE(finder.seen(5));
  finder.reset();
  EXPECT_FALSE(finder.seen(5));
  EXPECT_TRUE(finder.seen(5));
}

}  // namespace
}  // namespace manymeans
