// Says what begins, and ends the process where it does not end: a kernel that waits for ever can be ended in no other
// way.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace manymeans::test {

class Watchdog {
 public:
  static constexpr int kExitCode = 3;

  /// `report`: prints what is known of what hangs; called on the watchdog's thread.
  Watchdog(int seconds, std::function<void()> report);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Prints `what`, at once; it has `seconds` from now on.
  void begin(const std::string& what);

 private:
  void watch();

  const std::chrono::seconds most_;
  const std::function<void()> report_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  std::chrono::steady_clock::time_point until_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace manymeans::test
