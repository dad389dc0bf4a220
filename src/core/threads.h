// A small thread pool. It lives as long as the call that made it, so no thread ever survives into a fork.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace manymeans {

/// How many threads this process may use: the affinity mask, cut by the cgroup's CPU quota (v1 or v2),
/// at least 1. MANYMEANS_NUM_THREADS takes precedence.
int usable_threads();

/// Threads for a request of `asked` (0: all usable ones), never more than asked for, and no more than there are where
/// that is more than 64.
int thread_count(int asked);

/// Throws Error(kInterrupted) once the caller has set it; null: never.
void check_abort(const std::atomic<bool>* abort);

/// Runs one function on all of its threads, again and again.
class ThreadPool {
 public:
  /// `threads` counts the calling thread, which works too. Fewer threads than asked for are used
  /// when the system gives no more; size() tells. Once *abort is set, for_each_range hands out no further piece and
  /// throws Error(kInterrupted).
  explicit ThreadPool(int threads, const std::atomic<bool>* abort = nullptr);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }
  const std::atomic<bool>* abort() const { return abort_; }

  /// Calls task(worker) once on every thread, worker = 0 .. size() - 1, each in the contract's floating-point
  /// environment, and returns when all have returned. Rethrows the first exception.
  void run(const std::function<void(int)>& task);

  /// Calls body(worker, first, last) for pieces [first, last) of [0, n), of at most `grain` items each, handed
  /// out as threads become free. An exception ends the handing out and is rethrown.
  void for_each_range(int64_t n, int64_t grain, const std::function<void(int, int64_t, int64_t)>& body);

 private:
  void work(int worker);
  void call(int worker);
  void run_round(const std::function<void(int)>& task, int helpers, bool all);

  const std::atomic<bool>* abort_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable begin_;
  std::condition_variable done_;
  const std::function<void(int)>* task_ = nullptr;
  std::exception_ptr error_;
  uint64_t round_ = 0;
  int running_ = 0;     // workers inside task_
  int joined_ = 0;      // workers that began it in this round
  bool closed_ = true;  // nobody begins any more
  bool stop_ = false;
};

}  // namespace manymeans
