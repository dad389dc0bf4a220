// Long calls into the library: the work runs on a thread of its own while the calling thread, without the GIL, waits
// for it, lets Python handle signals and calls the user's callback. So Ctrl-C works in the middle of a pass, and
// callbacks run in the thread that called (notebooks show what that thread prints).
#pragma once

#include <manymeans/fit.h>

#include <nanobind/nanobind.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>

namespace manymeans::python {

class Waiting {
 public:
  /// `callback` is None or gets every progress report; what it returns goes back to the library, False meaning stop.
  explicit Waiting(nanobind::object callback = nanobind::none()) : callback_(std::move(callback)) {}

  /// Runs `work`. Throws what it threw, or what the callback or a signal's handler raised.
  void run(const std::function<void()>& work);

  const std::atomic<bool>& abort() const { return abort_; }
  /// For FitHooks: empty where there is no callback.
  std::function<bool(const Progress&)> progress();

 private:
  void wait();
  bool ask(const Progress& progress);
  void answer(const Progress& progress);
  void check_signals();
  void keep_python_error();

  nanobind::object callback_;
  std::atomic<bool> abort_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  const Progress* question_ = nullptr;
  std::optional<bool> answer_;
  std::exception_ptr work_error_, python_error_;
};

}  // namespace manymeans::python
