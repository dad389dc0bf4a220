// A small thread pool. It lives as long as the call that made it; its threads (workers.h) wait for the next call.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace manymeans {

/// How many threads this process may use: the affinity mask, cut by the cgroup's CPU quota (v1 or v2),
/// at least 1. MANYMEANS_NUM_THREADS takes precedence.
int usable_threads();

/// Threads for a request of `asked` (0: all usable ones), never more than asked for, and no more than there are where
/// that is more than 64.
int thread_count(int asked);

/// Throws Error(kInterrupted) once the caller has set it; null: never.
void check_abort(const std::atomic<bool>* abort);

class Workers;

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

  int size() const { return size_; }
  const std::atomic<bool>* abort() const { return abort_; }

  /// Calls task(worker) once on every thread, worker = 0 .. size() - 1, each in the contract's floating-point
  /// environment, and returns when all have returned. Rethrows the first exception.
  void run(const std::function<void(int)>& task);

  /// Calls body(worker, first, last) for pieces [first, last) of [0, n), of at most `grain` items each, handed
  /// out as threads become free. An exception ends the handing out and is rethrown.
  void for_each_range(int64_t n, int64_t grain, const std::function<void(int, int64_t, int64_t)>& body);

 private:
  void run_round(const std::function<void(int)>& task, int helpers, bool all);

  const std::atomic<bool>* abort_;
  std::unique_ptr<Workers> workers_;  // null where the calling thread is alone
  int size_ = 1;
};

}  // namespace manymeans
