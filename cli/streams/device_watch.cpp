#include "streams/device_watch.h"

#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "streams/standard_streams.h"
#include "streams/stop_signal.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>

namespace manymeans::cli {
namespace {

// Looks often enough to go unnoticed. The fit has the time to write a checkpoint and to report the error.
constexpr std::chrono::milliseconds kPause{250};
constexpr int kPauses = 80;

void watch(const std::stop_token& stop, bool saves) {
  std::mutex mutex;
  std::condition_variable_any ended;
  std::unique_lock lock(mutex);
  for (int lost = 0; lost < kPauses; lost = devices_answer() ? 0 : lost + 1) {
    ended.wait_for(lock, stop, kPause, [] { return false; });
    if (stop.stop_requested()) return;
  }
  const ErrorCode code = stop_is_requested() ? ErrorCode::kInterrupted : ErrorCode::kUnavailable;
  complain(code, std::string("[device] the device does not answer, and other threads still wait for it; ended without "
                             "them") +
                     (saves ? ". A checkpoint that was asked for is kept" : ""));
  ::_exit(static_cast<int>(code));
}

}  // namespace

DeviceWatch::DeviceWatch(const std::string& backend, bool saves) {
  if (!backend.starts_with("cuda") && !backend.starts_with("opencl")) return;
  try {
    thread_ = std::jthread(watch, saves);
  } catch (const std::system_error&) {
    // Without a thread for the watch, the fit continues alone, and itself sees a device that does not answer.
  }
}

int end_program(int exit_code) {
  if (devices_answer()) return exit_code;
  std::fflush(nullptr);
  ::_exit(exit_code);
}

}  // namespace manymeans::cli
