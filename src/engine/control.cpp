#include "engine/control.h"

namespace manymeans {

double Control::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void Control::stop(StopReason reason) {
  StopReason none = StopReason::kNotBegun;
  reason_.compare_exchange_strong(none, reason);  // the first reason stays
}

// Ranks that are alone may have threads that report at the same time.
void Control::agree() {
  if (comm_.alone()) return;
  reason_ = static_cast<StopReason>(comm_.max(static_cast<int64_t>(reason_.load())));
}

std::optional<StopReason> Control::stopped() const {
  const StopReason reason = reason_.load();
  if (reason == StopReason::kNotBegun) return std::nullopt;
  return reason;
}

std::optional<StopReason> Control::report(Progress progress) {
  if (hooks_.cancel != nullptr && hooks_.cancel->load()) stop(StopReason::kInterrupted);
  progress.seconds = seconds();
  if (time_limit_ > 0 && progress.seconds >= time_limit_) stop(StopReason::kTimeLimit);
  if (hooks_.progress) {
    const std::lock_guard lock(callback_);
    // Once it has said stop it is not asked again, though other threads may still report.
    if (!stopped() && !hooks_.progress(progress)) stop(StopReason::kCallback);
  }
  agree();
  return stopped();
}

}  // namespace manymeans
