// The end of Python while other threads are in long calls. From then on whoever takes the GIL is ended by Python in the
// middle of what it does, and C++ above it ends the process. So before that end every call is told to give up, and
// its thread is parked: it never comes back to Python, which is what Python does to daemon threads too.
#pragma once

#include <functional>

namespace manymeans::python {

/// One long call, from a thread that has the GIL when it makes and destroys this.
class Call {
 public:
  /// `give_up` may be called from another thread at any time until the destructor. Parks if Python is ending.
  explicit Call(std::function<void()> give_up);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Before the thread takes the GIL in the middle of the call; false: Python is ending, leave it alone.
  bool may_enter_python() const;

  /// The work has ended: its threads need nobody any more.
  void work_done();

  /// Before the thread takes the GIL to go back, after work_done(). Parks if Python is ending.
  void come_back();

 private:
  friend void before_exit();
  std::function<void()> give_up_;
  bool worked_ = false, parked_ = false;
};

/// Stops the thread for ever; without the GIL.
[[noreturn]] void park();

/// For atexit: makes all calls of other threads give up, and waits for them, in all for seconds at most.
void before_exit();

}  // namespace manymeans::python
