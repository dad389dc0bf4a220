#include "core/threads.h"

#include <manymeans/error.h>

#include "core/environment.h"
#include "core/fp_environment.h"
#include "core/os/cgroup.h"
#include "core/os/machine.h"
#include "core/workers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <utility>

namespace manymeans {
namespace {

// More threads than processors gain nothing and cost memory. Up to this number is given even so: tests and users may
// check that the answer stays the same.
constexpr int kAlwaysGiven = 64;
constexpr int kMaxThreads = 4096;  // of MANYMEANS_NUM_THREADS

// Read again once a second: reading takes about 40 us, as long as a small call. There is no lock that a fork could
// leave taken in the child: two threads may read at once.
double recent_quota() {
  constexpr int64_t kSecond = 1'000'000'000;
  static std::atomic<int64_t> read_at{-kSecond};
  static std::atomic<double> quota{0};
  const int64_t now = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  if (now - read_at.load() >= kSecond) {
    quota = cgroup_processors();
    read_at = now;
  }
  return quota;
}

}  // namespace

int usable_threads() {
  if (const std::optional<int> set = environment::threads()) return std::min(*set, kMaxThreads);
  const double quota = std::ceil(recent_quota());
  return static_cast<int>(std::max(1.0, std::min<double>(allowed_processors(), quota)));
}

int thread_count(int asked) {
  if (asked <= kAlwaysGiven) return asked > 0 ? asked : usable_threads();
  return std::min(asked, std::max(kAlwaysGiven, usable_threads()));
}

void check_abort(const std::atomic<bool>* abort) {
  if (abort != nullptr && abort->load(std::memory_order_relaxed)) {
    throw Error(ErrorCode::kInterrupted, "abort", "the caller gave up; there is no result");
  }
}

ThreadPool::ThreadPool(int threads, const std::atomic<bool>* abort) : abort_(abort) {
  if (threads <= 1) return;
  try {
    workers_ = take_workers(threads - 1);
    size_ = workers_->count() + 1;
  } catch (const std::exception&) {
    // No memory for workers: the answer does not depend on the number of threads, and size() reports it.
  }
}

ThreadPool::~ThreadPool() {
  if (workers_) give_back(std::move(workers_));
}

void ThreadPool::run(const std::function<void(int)>& task) {
  run_round(task, size() - 1, true);
}

void ThreadPool::run_round(const std::function<void(int)>& task, int helpers, bool all) {
  if (workers_ && helpers > 0) return workers_->run(task, helpers, all);
  const FpEnvironmentGuard guard;
  task(0);
}

void ThreadPool::for_each_range(int64_t n, int64_t grain, const std::function<void(int, int64_t, int64_t)>& body) {
  std::atomic<int64_t> next{0};
  const int64_t pieces = n / grain + (n % grain != 0 ? 1 : 0);
  const auto helpers = static_cast<int>(std::clamp<int64_t>(pieces - 1, 0, size() - 1));
  const std::function<void(int)> task = [&](int worker) {
    try {
      for (int64_t first; (first = next.fetch_add(grain)) < n;) {
        check_abort(abort_);
        body(worker, first, std::min(n, first + grain));
      }
    } catch (...) {
      next.store(n);  // no thread takes another piece
      throw;
    }
  };
  run_round(task, helpers, false);
}

}  // namespace manymeans
