#include "engine/control.h"

#include "engine/stop_flag.h"

#include <algorithm>

namespace manymeans {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLimitLook = 0.05;  // seconds by which a time limit may be exceeded, if no pass takes longer

}  // namespace

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

bool Control::wants_progress() const {
  return hooks_.progress && seconds() - last_report_ >= hooks_.pause;
}

double Control::seconds_to_next_look() const {
  const double now = seconds();
  double left = kInfinity;
  if (hooks_.progress) left = last_report_ + hooks_.pause - now;
  if (time_limit_ > 0) left = std::min({left, kLimitLook, time_limit_ - now});
  return std::max(left, 0.0);
}

void Control::look_at_flag_and_clock(double now) {
  if (is_set(hooks_.cancel)) stop(StopReason::kInterrupted);
  if (time_limit_ > 0 && now >= time_limit_) stop(StopReason::kTimeLimit);
}

std::optional<StopReason> Control::look() {
  look_at_flag_and_clock(seconds());
  agree();
  return stopped();
}

bool Control::ended_by_caller(Progress progress) {
  progress.seconds = seconds();
  bool ended = is_set(hooks_.cancel);
  if (!ended && hooks_.progress) {
    const std::lock_guard lock(callback_);
    ended = !hooks_.progress(progress);
  }
  return comm_.alone() ? ended : comm_.max(static_cast<int64_t>(ended)) > 0;
}

std::optional<StopReason> Control::report(Progress progress) {
  progress.seconds = seconds();
  look_at_flag_and_clock(progress.seconds);
  if (hooks_.progress) {
    const std::lock_guard lock(callback_);
    if (progress.phase == "iterate") last_report_ = progress.seconds;
    // Once it has said stop it is not asked again, though other threads may still report.
    if (!stopped() && !hooks_.progress(progress)) stop(StopReason::kCallback);
  }
  agree();
  return stopped();
}

}  // namespace manymeans
