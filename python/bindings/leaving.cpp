#include "leaving.h"

#include <nanobind/nanobind.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

// A pass gives up within about a second; what has no way to give up (reading a file) may end with the process.
constexpr std::chrono::seconds kPatienceWithWork{10};
// A callback is the user's, and may never return. A thread that ends with the process is no harm then.
constexpr std::chrono::seconds kPatienceWithCallbacks{1};

struct Calls {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Call*> calls;
  bool ending = false;
  std::thread::id last;  // the thread that ends Python: it may still call

  bool is_closed() const { return ending && std::this_thread::get_id() != last; }
};

// Never destroyed: threads may stand in it when the process ends. The child of a fork has none of the parent's calls.
Calls*& current() {
  static Calls* calls = [] {
    pthread_atfork(nullptr, nullptr, [] { current() = new Calls; });
    return new Calls;
  }();
  return calls;
}

}  // namespace

void park() {
  for (;;) pause();
}

Call::Call(std::function<void()> give_up) : give_up_(std::move(give_up)) {
  Calls& all = *current();
  {
    const std::lock_guard lock(all.mutex);
    if (!all.is_closed()) {
      all.calls.push_back(this);
      return;
    }
  }
  PyEval_SaveThread();
  park();
}

Call::~Call() {
  Calls& all = *current();
  const std::lock_guard lock(all.mutex);
  std::erase(all.calls, this);
  all.changed.notify_all();
}

bool Call::may_enter_python() const {
  Calls& all = *current();
  const std::lock_guard lock(all.mutex);
  return !all.is_closed();
}

void Call::work_done() {
  Calls& all = *current();
  const std::lock_guard lock(all.mutex);
  worked_ = true;
  all.changed.notify_all();
}

void Call::come_back() {
  Calls& all = *current();
  {
    const std::lock_guard lock(all.mutex);
    if (!all.is_closed()) return;  // before_exit waits until the destructor
    parked_ = true;
    all.changed.notify_all();
  }
  park();
}

void before_exit() {
  Calls& all = *current();
  const nb::gil_scoped_release without_gil;  // calls may be in Python, or on their way back to it
  std::unique_lock lock(all.mutex);
  all.ending = true;
  all.last = std::this_thread::get_id();
  for (Call* call : all.calls) call->give_up_();
  const auto begin = std::chrono::steady_clock::now();
  all.changed.wait_until(lock, begin + kPatienceWithCallbacks, [&] {
    return std::ranges::all_of(all.calls, [](const Call* call) { return call->parked_; });
  });
  all.changed.wait_until(lock, begin + kPatienceWithWork, [&] {
    return std::ranges::all_of(all.calls, [](const Call* call) { return call->worked_; });
  });
}

}  // namespace manymeans::python
