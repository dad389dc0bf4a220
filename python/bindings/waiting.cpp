#include "waiting.h"

#include <nanobind/stl/string_view.h>

#include <chrono>
#include <thread>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

// How long Ctrl-C may go unseen, beside the piece of a pass that is being worked on.
constexpr std::chrono::milliseconds kPatience{50};

nb::object as_python(const Progress& progress) {
  nb::dict report;
  report["phase"] = progress.phase;
  report["iteration"] = progress.iteration;
  report["max_iteration"] = progress.max_iteration;
  report["active_models"] = progress.active_models;
  report["models"] = progress.models;
  report["inertia"] = progress.inertia_estimate;
  report["points_per_second"] = progress.points_per_second;
  report["seconds"] = progress.seconds;
  return std::move(report);
}

}  // namespace

void Waiting::run(const std::function<void()>& work) {
  std::thread worker([&] {
    try {
      work();
    } catch (...) {
      work_error_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  });
  {
    const nb::gil_scoped_release without_gil;
    wait();
    worker.join();
  }
  if (python_error_) std::rethrow_exception(python_error_);
  if (work_error_) std::rethrow_exception(work_error_);
}

void Waiting::wait() {
  std::unique_lock lock(mutex_);
  while (!done_) {
    changed_.wait_for(lock, kPatience, [&] { return done_ || question_ != nullptr; });
    if (done_) return;
    const Progress* question = question_;
    lock.unlock();
    {
      const nb::gil_scoped_acquire with_gil;
      check_signals();
      if (question != nullptr) answer(*question);
    }
    lock.lock();
  }
}

void Waiting::check_signals() {
  if (!python_error_ && PyErr_CheckSignals() != 0) keep_python_error();
}

// Called with a Python error set. It will be thrown when the work has given up.
void Waiting::keep_python_error() {
  python_error_ = std::make_exception_ptr(nb::python_error());
  abort_ = true;
}

void Waiting::answer(const Progress& progress) {
  bool go_on = false;
  if (!python_error_) {
    try {
      go_on = !nb::handle(callback_(as_python(progress))).is(nb::handle(Py_False));
    } catch (nb::python_error& error) {
      error.restore();
      keep_python_error();
    }
  }
  const std::lock_guard lock(mutex_);
  question_ = nullptr;
  answer_ = go_on;
  changed_.notify_all();
}

std::function<bool(const Progress&)> Waiting::progress() {
  if (callback_.is_none()) return {};
  return [this](const Progress& progress) { return ask(progress); };
}

// On the thread of the work.
bool Waiting::ask(const Progress& progress) {
  std::unique_lock lock(mutex_);
  question_ = &progress;
  answer_.reset();
  changed_.notify_all();
  changed_.wait(lock, [&] { return answer_.has_value(); });
  return *answer_;
}

}  // namespace manymeans::python
