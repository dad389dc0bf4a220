// One flag for all who may stop work between fits: the caller's flags and the clock.
#pragma once

#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "core/threads.h"
#include "engine/time_left.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace manymeans {

/// Returns whether there is a flag, and it is set.
inline bool is_set(const std::atomic<bool>* flag) {
  return flag != nullptr && flag->load();
}

/// Is set once hooks.cancel or hooks.abort is, or the time is over. A thread of its own looks at them.
class StopFlag {
 public:
  StopFlag(const FitHooks& hooks, const TimeLeft& time);
  ~StopFlag();
  StopFlag(const StopFlag&) = delete;
  StopFlag& operator=(const StopFlag&) = delete;

  /// For a ThreadPool, and for whatever else throws Error(kInterrupted) once it is set.
  const std::atomic<bool>& flag() const { return flag_; }
  /// Runs work that throws so. Returns false where it did; throws where hooks.abort is the reason.
  template <class Work>
  bool run(Work&& work) const {
    try {
      std::forward<Work>(work)();
      return true;
    } catch (const Error& error) {
      if (!flag_ || error.code() != ErrorCode::kInterrupted) throw;
      check_abort(hooks_.abort);
      return false;
    }
  }

 private:
  bool look();

  const FitHooks& hooks_;
  const TimeLeft& time_;
  std::atomic<bool> flag_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::thread watch_;
};

}  // namespace manymeans
