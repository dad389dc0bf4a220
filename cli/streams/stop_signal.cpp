#include "streams/stop_signal.h"

#include <manymeans/error.h>

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string_view>

namespace manymeans::cli {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};
constexpr int64_t kSameRequest = 500;  // milliseconds
constexpr unsigned kPatience = 2;      // seconds

// A signal handler can reach nothing but variables like these: the only mutable state of the program.
std::atomic<bool> silent{false};
std::atomic<bool> deferred{false};
std::atomic<bool> stop_requested{false};
std::atomic<bool> overdue{false};
std::atomic<int64_t> requested_at{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free,
              "else a signal handler may not touch it");

// Milliseconds on a clock that never goes back.
int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

// Only async-signal-safe calls in here.
void tell(std::string_view text) {
  if (silent) return;
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

void on_signal(int signal) {
  if (!deferred) {
    tell("\nmanymeans: error: [interrupted] stopped by a signal; nothing was written\n");
    ::_exit(static_cast<int>(ErrorCode::kInterrupted));
  }
  if (!stop_requested) {
    requested_at = now();
    stop_requested = true;
    ::alarm(kPatience);
    tell(
        "\nmanymeans: stopping after the current step, then writing what was asked for; "
        "a second signal ends at once\n");
    return;
  }
  // One request may arrive twice: timeout(1) signals the process and then its group.
  if (now() - requested_at < kSameRequest) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // takes effect when the handler returns
}

void on_alarm(int) {
  overdue = true;
}

}  // namespace

void catch_stop_signals(bool aloud) {
  silent = !aloud;
  for (const int signal : kSignals) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

const std::atomic<bool>& overdue_stop() {
  return overdue;
}

const std::atomic<bool>& defer_stop_signals() {
  struct sigaction action {};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  deferred = true;
  return stop_requested;
}

bool stop_is_requested() {
  return stop_requested;
}

}  // namespace manymeans::cli
