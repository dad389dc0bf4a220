#include "backend/bounds_policy.h"

#include <gtest/gtest.h>

namespace manymeans {
namespace {

PassResult pass(int64_t changed, int64_t skipped) {
  PassResult result;
  result.changed = changed;
  result.skipped = skipped;
  return result;
}

TEST(BoundsPolicy, BeginsWhenFewLabelsChangeAndStopsWhereItDoesNotPay) {
  constexpr int64_t kRows = 100'000;
  BoundsPolicy policy(BoundsUse::kWhenTheyPay);
  EXPECT_FALSE(policy.carries());
  policy.learn(pass(kRows, 0), kRows, false);
  policy.learn(pass(5000, 0), kRows, false);
  EXPECT_FALSE(policy.carries());
  policy.learn(pass(900, 0), kRows, false);
  EXPECT_TRUE(policy.carries());
  policy.learn(pass(900, 0), kRows, false);  // the pass that fills the bounds keeps nothing yet
  for (int i = 0; i < 10; ++i) policy.learn(pass(800, 80'000), kRows, true);
  EXPECT_TRUE(policy.carries());
  policy.learn(pass(800, 10'000), kRows, true);
  policy.learn(pass(800, 80'000), kRows, true);
  EXPECT_TRUE(policy.carries()) << "one poor pass is none";
  for (int i = 0; i < 3; ++i) policy.learn(pass(800, 10'000), kRows, true);
  EXPECT_FALSE(policy.carries());
  policy.learn(pass(700, 0), kRows, false);
  EXPECT_FALSE(policy.carries()) << "it did not pay at 800";
  policy.learn(pass(300, 0), kRows, false);
  EXPECT_TRUE(policy.carries());
  policy.refuse();
  policy.learn(pass(1, 0), kRows, false);
  EXPECT_FALSE(policy.carries()) << "there is no memory";
}

// Where carrying costs next to nothing it may begin early, and any pass that keeps something speaks for it.
TEST(BoundsPolicy, GoesByTheBackendsRule) {
  constexpr int64_t kRows = 100'000;
  BoundsPolicy policy(BoundsUse::kWhenTheyPay, {.start_below = 0.05, .worth_carrying = 1e-9});
  policy.learn(pass(6000, 0), kRows, false);
  EXPECT_FALSE(policy.carries());
  policy.learn(pass(4000, 0), kRows, false);
  EXPECT_TRUE(policy.carries());
  for (int i = 0; i < 5; ++i) policy.learn(pass(4000, 1), kRows, true);
  EXPECT_TRUE(policy.carries());
  for (int i = 0; i < 3; ++i) policy.learn(pass(4000, 0), kRows, true);
  EXPECT_FALSE(policy.carries());
  policy.learn(pass(2500, 0), kRows, false);
  EXPECT_FALSE(policy.carries());
  policy.learn(pass(1900, 0), kRows, false);
  EXPECT_TRUE(policy.carries());
}

TEST(BoundsPolicy, ObeysWhoAsksByName) {
  BoundsPolicy always(BoundsUse::kAlways), never(BoundsUse::kNever);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(always.carries());
    EXPECT_FALSE(never.carries());
    always.learn(pass(100, 0), 100, i > 0);
    never.learn(pass(0, 0), 100, false);
  }
}

TEST(TighteningChoice, GoesByWhatLastPassesShowed) {
  TighteningChoice choice(0.1);
  TighteningTrials trials;
  trials.tried = {1000, 1000, 1000, 1000, 10};
  trials.spared = {1000, 500, 50, 200, 0};
  choice.learn(trials);
  const auto tightens = [&](int lack_class) { return choice.tightens(lack_class, 1); };
  EXPECT_TRUE(tightens(0));
  EXPECT_TRUE(tightens(1));
  EXPECT_FALSE(tightens(2));
  EXPECT_TRUE(tightens(3)) << "worth it, though not so before";
  EXPECT_FALSE(tightens(4));
  EXPECT_TRUE(choice.tightens(2, 32)) << "some rows are always tried";
  trials.spared[2] = 900;
  choice.learn(trials);
  EXPECT_TRUE(tightens(2)) << "things change";
}

TEST(BoundsLog, TellsWhatWasDone) {
  BoundsLog log;
  EXPECT_EQ(log.text(), "");
  log.began(12, 0.005);
  EXPECT_EQ(log.text(), "; bounds carried from pass 12 on (0.5 % of the labels had changed)");
  log.began(9, 0.008);
  log.refused(5 << 20);
  EXPECT_EQ(log.text(),
            "; bounds carried from pass 9 on (0.8 % of the labels had changed), by 2 models sooner or later; no bounds "
            "for 1 model: 6 MiB for each is more memory than there is");
}

}  // namespace
}  // namespace manymeans
