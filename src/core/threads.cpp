#include "core/threads.h"

#include <manymeans/error.h>

#include "core/cgroup.h"
#include "core/environment.h"
#include "core/fp_environment.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <string>

namespace manymeans {
namespace {

// More than the processors have is of no use, and every thread costs memory; as many as this are given all the same,
// for tests and for whoever wants to see that the answer is the same.
constexpr int kAlwaysGiven = 64;
constexpr int kMostThreads = 4096;  // of MANYMEANS_NUM_THREADS

int affinity_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// CPUs that "quota period" allows, or a large number where there is no limit.
double parse_quota(const std::string& quota, double period) {
  if (quota.empty() || quota == "max" || period <= 0) return HUGE_VAL;
  const double value = std::atof(quota.c_str());
  return value > 0 ? value / period : HUGE_VAL;
}

double read_v2_quota(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  file >> quota >> period;
  return parse_quota(quota, period);
}

double read_v1_quota(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
  std::ifstream period_file(folder + "/cpu.cfs_period_us");
  std::string quota;
  double period = 0;
  quota_file >> quota;
  period_file >> period;
  return parse_quota(quota, period);
}

// The tightest quota of this process's cgroup and all its parents.
double cgroup_quota() {
  double least = HUGE_VAL;
  for (const CgroupFolder& group : cgroup_folders("cpu")) {
    least = std::min(least, group.version == 2 ? read_v2_quota(group.path) : read_v1_quota(group.path));
  }
  return least;
}

}  // namespace

int usable_threads() {
  if (const std::optional<int> set = environment::threads()) return std::min(*set, kMostThreads);
  const double quota = std::ceil(cgroup_quota());
  return static_cast<int>(std::max(1.0, std::min<double>(affinity_count(), quota)));
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
  try {
    for (int worker = 1; worker < threads; ++worker) workers_.emplace_back([this, worker] { work(worker); });
  } catch (const std::exception&) {
    // No more threads, or no memory for them: the answer does not depend on their number, and size() reports it.
    // Nothing may leave the constructor, since the threads that run already would then not be joined.
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  begin_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::call(int worker) {
  const FpEnvironmentGuard guard;
  try {
    (*task_)(worker);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

void ThreadPool::work(int worker) {
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

void ThreadPool::run(const std::function<void(int)>& task) {
  run_round(task, size() - 1, true);
}

// With `all`, every worker takes part; else only those that wake up before the calling thread has nothing left to do:
// on a busy machine, or for small work, the others are not waited for.
void ThreadPool::run_round(const std::function<void(int)>& task, int helpers, bool all) {
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    error_ = nullptr;
    joined_ = 0;
    closed_ = false;
    ++round_;
  }
  if (helpers >= size() - 1) {
    begin_.notify_all();
  } else {
    for (int i = 0; i < helpers; ++i) begin_.notify_one();
  }
  call(0);
  std::unique_lock lock(mutex_);
  const int needed = all ? size() - 1 : 0;
  closed_ = !all;
  done_.wait(lock, [&] { return running_ == 0 && joined_ >= needed; });
  closed_ = true;
  if (error_) std::rethrow_exception(error_);
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
      next.store(n);  // nobody takes another piece
      throw;
    }
  };
  run_round(task, helpers, false);
}

}  // namespace manymeans
