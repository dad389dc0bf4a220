// Ctrl-C (SIGINT) and SIGTERM.
#pragma once

#include <atomic>

namespace manymeans::cli {

/// From now on a signal ends the program with exit code 5. Signals that the parent chose to ignore stay ignored.
/// `aloud`: whether it says so; of many processes that get the same signal, one is enough.
void catch_stop_signals(bool aloud);

/// From now on the first signal only sets the returned flag, so that the work at hand can end in order. A second
/// signal, half a second later or more, ends the program at once, as without any handling.
const std::atomic<bool>& defer_stop_signals();

/// Returns true if a signal has set that flag.
bool stop_is_requested();

/// Set two seconds after that first signal: for work whose steps take so long that it has to end within one.
const std::atomic<bool>& overdue_stop();

}  // namespace manymeans::cli
