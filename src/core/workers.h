// Threads that a process keeps between its calls, since starting some takes as long as a small call does. A set of
// workers serves one ThreadPool at a time. Idle sets wait for the next pool.
//
// No worker survives into a fork: idle workers end before it, and the child begins with none. They also end when the
// process ends or the library is unloaded. All signals but those that a thread causes itself are blocked in them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace manymeans {

class Workers {
 public:
  /// Starts `count` workers, or fewer where the system gives no more.
  explicit Workers(int count);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int count() const { return static_cast<int>(threads_.size()); }

  /// Calls task(0) on the calling thread and task(1 .. count()) on the workers, each in the contract's floating-point
  /// environment. Returns when all have returned; rethrows the first exception. With `all`, every worker takes part.
  /// Otherwise up to `helpers` workers take part, if they wake up before the calling thread is done. The call does not
  /// wait for the others, on a busy machine or for small work.
  void run(const std::function<void(int)>& task, int helpers, bool all);

 private:
  friend class IdleWorkers;
  void work(int worker);
  void call(int worker);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable begin_;
  std::condition_variable done_;
  const std::function<void(int)>* task_ = nullptr;
  std::exception_ptr error_;
  uint64_t round_ = 0;
  int running_ = 0;     // workers inside task_
  int joined_ = 0;      // workers that began it in this round
  bool closed_ = true;  // no worker begins any more
  bool stop_ = false;
  uint64_t process_ = 0;  // the number of forks before it
};

/// Returns an idle set of `count` workers, or a new one: with fewer where the system gives no more.
std::unique_ptr<Workers> take_workers(int count);
/// The set waits for the next take_workers(). If many wait, the one that waited longest ends.
void give_back(std::unique_ptr<Workers> workers) noexcept;
/// Returns how many idle threads wait.
int waiting_threads();
/// Ends these.
void end_waiting_threads();

}  // namespace manymeans
