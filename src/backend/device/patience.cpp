#include "backend/device/patience.h"

#include "backend/device/given_up.h"

#include <algorithm>
#include <optional>
#include <thread>

namespace manymeans::device {
namespace {

using Clock = std::chrono::steady_clock;

// A wait that ends sooner never sleeps. A pause is up to 1/256 of what was waited, so sleeping makes nothing noticeably
// longer; the system adds some 50 microseconds to each.
constexpr Patience::Seconds kSpin{0.02};
constexpr double kPauseShare = 1.0 / 256;
constexpr Patience::Seconds kLongestPause{0.01};
constexpr int kQuestionsPerLook = 16;  // at clock and flags

}  // namespace

Waited await_answer(const std::function<bool()>& done, const Patience& patience, int passes, bool leave_if_aborted) {
  const auto begin = Clock::now();
  std::optional<Clock::time_point> hurried_since;
  for (;;) {
    const Patience::Seconds waited = Clock::now() - begin;
    const int questions = waited < kSpin ? kQuestionsPerLook : 1;
    for (int i = 0; i < questions; ++i) {
      if (done()) return {Answer::kDone, waited};
    }
    if (leave_if_aborted && patience.aborted()) return {Answer::kAborted, waited};
    if (!hurried_since && (patience.in_a_hurry() || !devices_answer())) hurried_since = Clock::now();
    if (hurried_since && Clock::now() - *hurried_since > patience.hurried(passes)) {
      return {Answer::kTooLate, waited};
    }
    if (waited > patience.most(passes)) return {Answer::kTooLate, waited};
    if (waited >= kSpin) std::this_thread::sleep_for(std::min(waited * kPauseShare, kLongestPause));
  }
}

}  // namespace manymeans::device
