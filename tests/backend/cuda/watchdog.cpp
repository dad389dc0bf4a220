#include "watchdog.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace manymeans::test {

Watchdog::Watchdog(int seconds, std::function<void()> report)
    : most_(seconds),
      report_(std::move(report)),
      until_(std::chrono::steady_clock::now() + most_),
      thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::begin(const std::string& what) {
  {
    const std::lock_guard lock(mutex_);
    what_ = what;
    until_ = std::chrono::steady_clock::now() + most_;
  }
  std::printf("begins: %s\n", what.c_str());
  std::fflush(stdout);
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    const auto until = until_;
    if (changed_.wait_until(lock, until, [&] { return ended_ || until_ != until; })) continue;
    if (std::chrono::steady_clock::now() < until_) continue;
    std::printf("HANGS: %s: not done after %lld seconds\n", what_.c_str(), static_cast<long long>(most_.count()));
    std::fflush(stdout);
    alarm(20);  // the report asks the driver, which may not answer either
    report_();
    std::fflush(stdout);
    _exit(kExitCode);
  }
}

}  // namespace manymeans::test
