#include "engine/stop_flag.h"

#include <chrono>
#include <system_error>

namespace manymeans {
namespace {
constexpr std::chrono::milliseconds kPause{20};
}

StopFlag::StopFlag(const FitHooks& hooks, const TimeLeft& time) : hooks_(hooks), time_(time) {
  if (look()) return;
  try {
    watch_ = std::thread([this] {
      std::unique_lock lock(mutex_);
      while (!ended_.wait_for(lock, kPause, [this] { return ends_; }) && !look()) {
      }
    });
  } catch (const std::system_error&) {
    // No thread is available: the work continues to its end.
  }
}

StopFlag::~StopFlag() {
  if (!watch_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ended_.notify_one();
  watch_.join();
}

bool StopFlag::look() {
  flag_ = is_set(hooks_.cancel) || is_set(hooks_.abort) || time_.over();
  return flag_;
}

}  // namespace manymeans
