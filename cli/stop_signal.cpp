#include "stop_signal.h"

#include <manymeans/error.h>

#include <unistd.h>

#include <array>
#include <csignal>
#include <string_view>

namespace manymeans::cli {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};

// A signal handler can reach nothing but variables like these: the only mutable state of the program.
std::atomic<bool> deferred{false};
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "else a signal handler may not touch it");

// Only async-signal-safe calls in here.
void tell(std::string_view text) {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

void on_signal(int) {
  if (!deferred) {
    tell("\nmanymeans: error: [interrupted] stopped by a signal; nothing was written\n");
    ::_exit(static_cast<int>(ErrorCode::kInterrupted));
  }
  stop_requested = true;
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
  tell("\nmanymeans: stopping after the current step, then writing what was asked for; a second signal ends at once\n");
}

}  // namespace

void catch_stop_signals() {
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

const std::atomic<bool>& defer_stop_signals() {
  deferred = true;
  return stop_requested;
}

}  // namespace manymeans::cli
