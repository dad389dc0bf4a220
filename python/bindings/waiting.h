// Calls into the library. Those that may be long: the work runs on a thread of its own while the calling thread,
// without the GIL, waits for it, lets Python handle signals and calls the user's callback. So Ctrl-C works in the
// middle of a pass, and callbacks run in the thread that called (notebooks show what that thread prints).
#pragma once

#include <manymeans/fit.h>

#include "leaving.h"

#include <nanobind/nanobind.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace manymeans::python {

/// Whether so many multiply-adds take some hundredths of a second at most: then starting a thread would be dear, and
/// Ctrl-C can wait for them.
constexpr bool is_brief(double multiply_adds) {
  return multiply_adds <= 3e8;
}

class Waiting {
 public:
  /// `callback` is None or gets every progress report; what is false of what it returns, but for None, means stop.
  explicit Waiting(nanobind::object callback = nanobind::none()) : callback_(std::move(callback)) {}

  /// Runs `work`, on the calling thread where it is `brief` or there is no other to be had (a signal is then seen after
  /// it, or at the next report to the callback). Throws what it threw, or what the callback or a signal's handler
  /// raised.
  void run(const std::function<void()>& work, bool brief = false);

  const std::atomic<bool>& abort() const { return abort_; }
  /// Whether the callback or a signal's handler has raised something; on the thread that called.
  bool has_raised() const { return python_error_ != nullptr; }
  /// For FitHooks: empty where there is no callback.
  std::function<bool(const Progress&)> progress();

 private:
  void start(const std::function<void()>& work, bool brief);
  void do_work(const std::function<void()>& work);
  void give_up();
  void wait();
  bool ask(const Progress& progress);
  void visit_python(const std::optional<Progress>& question);
  void answer(const Progress& progress);
  void check_signals();
  void keep_python_error();

  nanobind::object callback_;
  std::atomic<bool> abort_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::optional<Progress> question_;
  std::optional<bool> answer_;
  std::exception_ptr work_error_, python_error_;
  std::thread worker_;
  bool alone_ = false;  // the work is on the calling thread
  Call call_{[this] { give_up(); }};
};

}  // namespace manymeans::python
