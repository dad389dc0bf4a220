// How long the device may take. No wait is endless: a kernel may hang, and a device may be lost.
//
// A wait is given up after kMin and kTimes what it may take. This is far more than any healthy device needs, with all
// distances computed and other programs on it. To stop, a caller waits for the work at hand, but not for a device that
// hangs: kGrace, and twice what the work may take.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace manymeans::device {

struct Patience {
  using Seconds = std::chrono::duration<double>;
  static constexpr Seconds kMin{120};
  static constexpr double kTimes = 50;
  static constexpr Seconds kGrace{5};

  Seconds usual{0};  ///< what a pass may take, with all distances computed; and everything else that is waited for
  Seconds least = kMin;
  const std::atomic<bool>* abort = nullptr;   ///< see BackendOptions
  const std::atomic<bool>* cancel = nullptr;  ///< likewise

  /// The time after which a wait for `passes` passes is given up.
  Seconds most(int passes) const { return least + kTimes * passes * usual; }
  /// Such a time for a caller that must stop, from when that is first seen.
  Seconds hurried(int passes) const { return kGrace + 2 * passes * usual; }
  bool aborted() const { return abort != nullptr && abort->load(); }
  bool in_a_hurry() const { return aborted() || (cancel != nullptr && cancel->load()); }
};

enum class Answer : uint8_t {
  kDone,
  kAborted,  ///< the caller gave up; the device may still be at work
  kTooLate,  ///< the device counts as one that does not answer
};

struct Waited {
  Answer answer;
  Patience::Seconds time;
};

/// Calls done() until it returns true. At first there is no pause, so that short work is seen as soon as it is done.
/// Later pauses are short compared with the time waited. done() may throw. Without `leave_if_aborted`, `abort` is no
/// reason to leave: an end that must come before memory goes.
Waited await_answer(const std::function<bool()>& done, const Patience& patience, int passes,
                    bool leave_if_aborted = true);

}  // namespace manymeans::device
