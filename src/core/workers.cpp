#include "core/workers.h"

#include "core/fp_environment.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <utility>

namespace manymeans {
namespace {

// While it lives, threads begin with all signals blocked but those that they cause themselves: a signal to the process
// is for the threads of the program.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) sigdelset(&blocked, own);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

// A fit has three pools at a time.
constexpr size_t kMaxWaiting = 4;

}  // namespace

// Workers of this process that no pool uses.
class IdleWorkers {
 public:
  IdleWorkers() { waiting_.reserve(kMaxWaiting + 1); }

  std::unique_ptr<Workers> take(int count) {
    {
      const std::lock_guard lock(mutex_);
      const auto fits = [&](const auto& workers) { return workers->count() == count; };
      const auto found = std::ranges::find_if(waiting_, fits);
      if (found != waiting_.end()) {
        std::unique_ptr<Workers> workers = std::move(*found);
        waiting_.erase(found);
        return workers;
      }
    }
    auto workers = std::make_unique<Workers>(count);
    const std::lock_guard lock(mutex_);
    workers->process_ = process_;
    return workers;
  }

  void give_back(std::unique_ptr<Workers> workers) noexcept {
    std::unique_ptr<Workers> ends;  // without the lock
    const std::lock_guard lock(mutex_);
    if (workers->process_ != process_) {
      abandon(workers);
      return;
    }
    waiting_.push_back(std::move(workers));
    if (waiting_.size() <= kMaxWaiting) return;
    ends = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
  }

  int threads() {
    const std::lock_guard lock(mutex_);
    int count = 0;
    for (const auto& workers : waiting_) count += workers->count();
    return count;
  }

  void end_waiting() {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }

  // The lock is held from before a fork to after it, so that the child's copy is whole.
  void before_fork() {
    mutex_.lock();
    waiting_.clear();
  }
  void after_fork(bool child) {
    process_ += child ? 1 : 0;
    mutex_.unlock();
  }

 private:
  // The threads belong to the process that forked; this process cannot wait for them.
  static void abandon(std::unique_ptr<Workers>& workers) noexcept { static_cast<void>(workers.release()); }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Workers>> waiting_;  // the longest first
  uint64_t process_ = 0;                           // the number of forks up to here
};

namespace {

// Never destroyed: a thread may take workers while the process ends.
IdleWorkers& idle_workers() {
  static IdleWorkers& all = []() -> IdleWorkers& {
    pthread_atfork([] { idle_workers().before_fork(); }, [] { idle_workers().after_fork(false); },
                   [] { idle_workers().after_fork(true); });
    return *new IdleWorkers;
  }();
  return all;
}

// When the process ends or the library is unloaded, no thread may wait in its code. Made when it is loaded, so that no
// fork meets a first call half way.
const struct AtEnd {
  AtEnd() { idle_workers(); }
  ~AtEnd() { idle_workers().end_waiting(); }
} kAtEnd;

}  // namespace

std::unique_ptr<Workers> take_workers(int count) {
  return idle_workers().take(count);
}
void give_back(std::unique_ptr<Workers> workers) noexcept {
  idle_workers().give_back(std::move(workers));
}
int waiting_threads() {
  return idle_workers().threads();
}
void end_waiting_threads() {
  idle_workers().end_waiting();
}

Workers::Workers(int count) {
  const BlockedSignals blocked;
  try {
    for (int worker = 1; worker <= count; ++worker) threads_.emplace_back([this, worker] { work(worker); });
  } catch (const std::exception&) {
    // No more threads, or no memory for them: the answer does not depend on their number, and count() reports it. No
    // exception may leave the constructor, since the threads that run already would then not be joined.
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  begin_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::call(int worker) {
  const FpEnvironmentGuard guard;
  try {
    (*task_)(worker);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

void Workers::work(int worker) {
  for (uint64_t seen = 0;;) {
    {
      std::unique_lock lock(mutex_);
      begin_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
      if (closed_) continue;  // woke up after everything was done
      ++running_;
      ++joined_;
    }
    call(worker);
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) done_.notify_one();
  }
}

void Workers::run(const std::function<void(int)>& task, int helpers, bool all) {
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    error_ = nullptr;
    joined_ = 0;
    closed_ = false;
    ++round_;
  }
  if (helpers >= count()) {
    begin_.notify_all();
  } else {
    for (int i = 0; i < helpers; ++i) begin_.notify_one();
  }
  call(0);
  std::unique_lock lock(mutex_);
  const int needed = all ? count() : 0;
  closed_ = !all;
  done_.wait(lock, [&] { return running_ == 0 && joined_ >= needed; });
  closed_ = true;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

}  // namespace manymeans
