#include "waiting.h"

#include <manymeans/mapped_files.h>

#include <cxxabi.h>
#include <nanobind/stl/string_view.h>

#include <chrono>
#include <system_error>

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

// Returns 1 if the fit may go on, 0 if not, and -1 with a Python error set. If Python ends meanwhile, it ends this
// thread inside the call, without the GIL. So no destructor may run here, and the exception caught is no object of C++.
__attribute__((no_sanitize("undefined"))) int call(PyObject* callback, nb::object report) {
  PyObject* given = report.release().ptr();
  int truth = -1;
  try {
    PyObject* said = PyObject_CallFunctionObjArgs(callback, given, nullptr);
    if (said != nullptr) truth = said == Py_None ? 1 : PyObject_IsTrue(said);
    Py_XDECREF(said);
  } catch (abi::__forced_unwind&) {
    park();  // going on would end the process by an abort
  }
  Py_DECREF(given);
  return truth;
}

}  // namespace

// Outside of calls a lost page ends the process, as with numpy.memmap: zeros in its place would be a wrong answer of
// whoever reads them.
void Waiting::run(const std::function<void()>& work, bool brief) {
  const GuardedFiles guard;
  {
    const nb::gil_scoped_release without_gil;
    start(work, brief);
    wait();
    if (worker_.joinable()) worker_.join();
    call_.work_done();
    call_.come_back();
  }
  if (python_error_) std::rethrow_exception(python_error_);
  if (work_error_) std::rethrow_exception(work_error_);
  guard.check();
}

void Waiting::start(const std::function<void()>& work, bool brief) {
  alone_ = brief;
  if (!alone_) {
    try {
      worker_ = std::thread([this, &work] { do_work(work); });
    } catch (const std::system_error&) {  // the system gives no more threads
      alone_ = true;
    }
  }
  if (alone_) do_work(work);
}

void Waiting::do_work(const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    work_error_ = std::current_exception();
  }
  call_.work_done();
  const std::lock_guard lock(mutex_);
  done_ = true;
  changed_.notify_all();
}

// On any thread.
void Waiting::give_up() {
  const std::lock_guard lock(mutex_);
  abort_ = true;
  changed_.notify_all();
}

void Waiting::wait() {
  std::unique_lock lock(mutex_);
  while (!done_) {
    changed_.wait_for(lock, kPatience, [&] { return done_ || question_; });
    if (done_) return;
    const std::optional<Progress> question = question_;
    lock.unlock();
    visit_python(question);
    lock.lock();
  }
}

void Waiting::visit_python(const std::optional<Progress>& question) {
  if (!call_.may_enter_python()) return;
  const nb::gil_scoped_acquire with_gil;
  check_signals();
  if (question) answer(*question);
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
    const int truth = call(callback_.ptr(), as_python(progress));
    if (truth < 0) keep_python_error();
    go_on = truth > 0;
  }
  const std::lock_guard lock(mutex_);
  question_.reset();
  answer_ = go_on;
  changed_.notify_all();
}

std::function<bool(const Progress&)> Waiting::progress() {
  if (callback_.is_none()) return {};
  return [this](const Progress& progress) { return ask(progress); };
}

// On the thread of the work.
bool Waiting::ask(const Progress& progress) {
  if (alone_) {
    visit_python(progress);
    return answer_.value_or(false);
  }
  std::unique_lock lock(mutex_);
  question_ = progress;
  answer_.reset();
  changed_.notify_all();
  changed_.wait(lock, [&] { return answer_.has_value() || abort_; });
  question_.reset();
  return answer_.value_or(false);
}

}  // namespace manymeans::python
