// How long a device is waited for.
#include "backend/device/patience.h"

#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "backend/device/given_up.h"
#include "backend/device/queue.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <thread>

namespace manymeans::device {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = Patience::Seconds;

double seconds_since(Clock::time_point begin) {
  return Seconds(Clock::now() - begin).count();
}

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

int64_t voluntary_switches() {
  rusage used{};
  ::getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw;
}

bool never() {
  return false;
}

// A thread that never sleeps gives its processor up by force alone, however busy the machine is.
TEST(DevicePatience, ShortWorkIsWaitedForAwake) {
  for (const double length : {0.0, 1e-5, 1e-3, 0.01}) {
    const auto begin = Clock::now();
    const int64_t before = voluntary_switches();
    EXPECT_EQ(await_answer([&] { return seconds_since(begin) >= length; }, {}, 1).answer, Answer::kDone);
    EXPECT_EQ(voluntary_switches(), before) << length;
  }
}

TEST(DevicePatience, LongWorkIsSleptThrough) {
  const auto begin = Clock::now();
  const double before = processor_seconds();
  EXPECT_EQ(await_answer([&] { return seconds_since(begin) >= 0.5; }, {}, 1).answer, Answer::kDone);
  EXPECT_LT(processor_seconds() - before, 0.1);
}

TEST(DevicePatience, ADeviceThatDoesNotAnswerIsGivenUp) {
  Patience patience;
  patience.least = Seconds(0.2);
  patience.usual = Seconds(0.001);
  for (const int passes : {1, 4}) {
    const auto begin = Clock::now();
    EXPECT_EQ(await_answer(never, patience, passes).answer, Answer::kTooLate);
    EXPECT_GE(seconds_since(begin), 0.2 + 0.05 * passes);
    EXPECT_LT(seconds_since(begin), 0.2 + 0.05 * passes + 1);
  }
  EXPECT_EQ(await_answer(never, patience, 1, false).answer, Answer::kTooLate);
  EXPECT_TRUE(devices_answer()) << "whoever waits says which stream it was";
}

TEST(DevicePatience, WhoeverWantsToStopHasLess) {
  std::atomic<bool> abort{false}, cancel{true};
  Patience patience;
  patience.usual = Seconds(0.01);
  patience.abort = &abort;
  patience.cancel = &cancel;
  EXPECT_GT(patience.most(1).count(), 100);
  auto begin = Clock::now();
  EXPECT_EQ(await_answer(never, patience, 1).answer, Answer::kTooLate);
  EXPECT_GE(seconds_since(begin), 5) << "the work at hand may end";
  EXPECT_LT(seconds_since(begin), 8);
  abort = true;
  begin = Clock::now();
  EXPECT_EQ(await_answer(never, patience, 1).answer, Answer::kAborted);
  EXPECT_LT(seconds_since(begin), 0.5);
  begin = Clock::now();
  const auto soon = [&] { return seconds_since(begin) > 0.3; };
  EXPECT_EQ(await_answer(soon, patience, 1, false).answer, Answer::kDone)
      << "memory goes when the work is over, not before";
}

TEST(DevicePatience, AThreadThatWaitsInTheDriverIsNoticed) {
  std::atomic<bool> cancel{false};
  const Patience patience{.usual = Seconds(0.001), .least = Seconds(0.05), .cancel = &cancel};
  {
    const HandingOver handing_over(patience, 10);
    EXPECT_TRUE(devices_answer());
    std::this_thread::sleep_for(Seconds(0.06));
    EXPECT_TRUE(manymeans::devices_answer()) << "ten passes may take half a second more";
    std::this_thread::sleep_for(Seconds(0.6));
    EXPECT_FALSE(manymeans::devices_answer());
    cancel = true;
    EXPECT_TRUE(manymeans::devices_answer()) << "there are five seconds for what is at work";
  }
  EXPECT_TRUE(manymeans::devices_answer());
}

TEST(DevicePatience, SaysWhatHappened) {
  std::atomic<bool> cancel{false};
  Patience patience;
  patience.usual = Seconds(0.5);
  patience.cancel = &cancel;
  const auto told = [&](Answer answer) {
    try {
      check_answer({answer, Seconds(126)}, patience, 2, "a pass", "cuda");
    } catch (const Error& error) {
      return std::to_string(static_cast<int>(error.code())) + " " + error.what();
    }
    return std::string();
  };
  EXPECT_EQ(told(Answer::kDone), "");
  EXPECT_EQ(told(Answer::kTooLate),
            "4 [cuda] a pass: the device does not answer, after 126 s of waiting for what takes 1 s at most; try a new "
            "process, and reset the device or use --backend cpu if it stays so");
  EXPECT_EQ(told(Answer::kAborted).substr(0, 2), "5 ");
  cancel = true;
  EXPECT_EQ(told(Answer::kTooLate).find("5 [cuda] a pass: asked to stop, but the device"), 0U);
}

}  // namespace
}  // namespace manymeans::device
