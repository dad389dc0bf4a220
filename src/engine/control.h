// Who may end a fit from outside: the caller's flag, the caller's callback, the clock.
#pragma once

#include <manymeans/fit.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>

namespace manymeans {

/// Shared by all workers of a fit; once it says stop it keeps saying so.
class Control {
 public:
  Control(const FitHooks& hooks, double time_limit) : hooks_(hooks), time_limit_(time_limit) {}

  /// Seconds since the fit began.
  double seconds() const;
  /// Reports progress; the reason to stop, if there is one.
  std::optional<StopReason> report(Progress progress);
  std::optional<StopReason> stopped() const;

 private:
  void stop(StopReason reason);

  const FitHooks& hooks_;
  double time_limit_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::atomic<StopReason> reason_{StopReason::kNotBegun};
  std::mutex callback_;
};

}  // namespace manymeans
