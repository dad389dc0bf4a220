// Who may end a fit from outside: the caller's flag, the caller's callback, the clock.
#pragma once

#include <manymeans/comm.h>
#include <manymeans/fit.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>

namespace manymeans {

/// Says if work ends when the clock says so.
enum class TimeLimit : uint8_t {
  kKept,
  kIgnored,  ///< what the least answer needs: the caller alone may end it
};

/// Shared by all workers of a fit; once it says stop it keeps saying so. Ranks agree whenever one of them reports:
/// where one has a reason to stop, all stop.
class Control {
 public:
  Control(const FitHooks& hooks, double time_limit, Comm& comm = self_comm())
      : hooks_(hooks), time_limit_(time_limit), comm_(comm) {}

  /// Seconds since the fit began.
  double seconds() const;
  /// Returns whether it is time to report progress again.
  bool wants_progress() const;
  /// Returns the seconds until a look is due; infinity if no callback or limit requires one.
  double seconds_to_next_look() const;
  /// Reports progress; the reason to stop, if there is one. All ranks call this or look(), as often.
  std::optional<StopReason> report(Progress progress);
  /// Reports for work that ignores the clock, also when that has ended the rest. Returns whether the caller ends it.
  bool ended_by_caller(Progress progress);
  /// Looks for a reason to stop as report() does, without a report.
  std::optional<StopReason> look();
  std::optional<StopReason> stopped() const;

 private:
  void stop(StopReason reason);
  void look_at_flag_and_clock(double now);
  void agree();

  const FitHooks& hooks_;
  double time_limit_;
  Comm& comm_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::atomic<StopReason> reason_{StopReason::kNotBegun};
  std::mutex callback_;
  std::atomic<double> last_report_{-std::numeric_limits<double>::infinity()};  // when that was
};

}  // namespace manymeans
