#include "core/threads.h"

#include <manymeans/error.h>

#include "core/hostile_environment.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace manymeans::test {
namespace {

TEST(ThreadPool, ForEachRangeCoversEveryItemOnce) {
  for (const int threads : {1, 2, 3, 7, 16}) {
    ThreadPool pool(threads);
    EXPECT_LE(pool.size(), threads);
    for (const int64_t n : {0, 1, 2, 63, 64, 65, 1000}) {
      for (const int64_t grain : {1, 7, 64, 5000}) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
        pool.for_each_range(n, grain, [&](int worker, int64_t first, int64_t last) {
          ASSERT_TRUE(worker >= 0 && worker < pool.size());
          ASSERT_TRUE(first < last && last - first <= grain);
          for (int64_t i = first; i < last; ++i) ++seen[static_cast<size_t>(i)];
        });
        for (const auto& count : seen) ASSERT_EQ(count.load(), 1) << threads << " " << n << " " << grain;
      }
    }
  }
}

TEST(ThreadPool, RunCallsEveryWorkerOnceAgainAndAgain) {
  ThreadPool pool(5);
  std::vector<std::atomic<int>> calls(static_cast<size_t>(pool.size()));
  for (int round = 1; round <= 200; ++round) {
    pool.run([&](int worker) { ++calls[static_cast<size_t>(worker)]; });
    for (const auto& count : calls) ASSERT_EQ(count.load(), round);
  }
}

TEST(ThreadPool, WorkersThatWakeUpLateHarmNothing) {
  ThreadPool pool(6);
  std::vector<int64_t> calls(static_cast<size_t>(pool.size()));
  int64_t items = 0;
  for (int round = 0; round < 2000; ++round) {  // most rounds end before anybody wakes up
    std::atomic<int64_t> seen{0};
    pool.for_each_range(round % 5, 1, [&](int, int64_t first, int64_t last) { seen += last - first; });
    items += seen.load();
    if (round % 7 == 0) pool.run([&](int worker) { ++calls[static_cast<size_t>(worker)]; });
  }
  EXPECT_EQ(items, 2000 / 5 * (0 + 1 + 2 + 3 + 4));
  EXPECT_EQ(calls, std::vector<int64_t>(calls.size(), 286));
}

TEST(ThreadPool, RethrowsAndWorksAfterwards) {
  ThreadPool pool(4);
  for (int thrower = 0; thrower < pool.size(); ++thrower) {
    EXPECT_THROW(pool.run([&](int worker) {
      if (worker == thrower) throw std::runtime_error("expected");
    }),
                 std::runtime_error);
  }
  EXPECT_THROW(pool.for_each_range(1000, 1,
                                   [](int, int64_t first, int64_t) {
                                     if (first == 500) throw std::runtime_error("expected");
                                   }),
               std::runtime_error);
  std::atomic<int64_t> sum{0};
  pool.for_each_range(100, 3, [&](int, int64_t first, int64_t last) { sum += last - first; });
  EXPECT_EQ(sum.load(), 100);
}

TEST(ThreadPool, AnExceptionEndsTheHandingOut) {
  ThreadPool pool(1);  // one thread: the order is known
  int64_t seen = 0;
  EXPECT_THROW(pool.for_each_range(1000, 1,
                                   [&](int, int64_t first, int64_t) {
                                     ++seen;
                                     if (first == 9) throw std::runtime_error("expected");
                                   }),
               std::runtime_error);
  EXPECT_EQ(seen, 10);
}

TEST(ThreadPool, WorkersHaveTheContractsEnvironmentAndTheCallerKeepsItsOwn) {
  const HostileEnvironment caller;
  ThreadPool pool(4);  // threads inherit the environment of their maker
  std::vector<int> right(static_cast<size_t>(pool.size()));
  for (int round = 0; round < 3; ++round) {
    right.assign(right.size(), 0);
    pool.run([&](int worker) { right[static_cast<size_t>(worker)] = environment_is_the_contracts() ? 1 : 0; });
    for (const int fine : right) EXPECT_EQ(fine, 1);
    EXPECT_TRUE(caller.still_holds());
  }
}

TEST(ThreadPool, WorkersHaveNoTrapsAndTheCallerKeepsItsOwn) {
  if (!TrappingEnvironment::kAvailable) GTEST_SKIP() << "this machine has no traps to set";
  bool same = true;
  {
    const TrappingEnvironment caller;
    ThreadPool pool(4);  // threads inherit the traps of their maker
    for (int round = 0; round < 3; ++round) {
      pool.run([](int) { raise_all_exceptions(); });
      same = same && TrappingEnvironment::still_holds(false);
    }
  }
  EXPECT_TRUE(same);
}

// Runs a pool in a child while a pool exists in the parent.
TEST(ThreadPool, WorksAfterFork) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not support threads after a fork of a threaded process";
#endif
  ThreadPool parent(3);
  std::atomic<int> before{0};
  parent.run([&](int) { ++before; });
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<int64_t> sum{0};
    ThreadPool pool(3);
    pool.for_each_range(1000, 7, [&](int, int64_t first, int64_t last) { sum += last - first; });
    _exit(sum.load() == 1000 && pool.size() == 3 ? 42 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
  parent.run([&](int) { ++before; });
  EXPECT_EQ(before.load(), 2 * parent.size());
}

// Sets an environment variable for the length of a test.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~ScopedVariable() { old_.empty() ? unsetenv(name_) : setenv(name_, old_.c_str(), 1); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::string old_;
};

TEST(ThreadCount, TakesWhatIsAskedForElseWhatIsUsable) {
  EXPECT_EQ(thread_count(3), 3);
  EXPECT_GE(usable_threads(), 1);
  EXPECT_EQ(thread_count(0), usable_threads());
  // More than there are: nobody gets a hundred thousand, each with its memory.
  EXPECT_EQ(thread_count(64), 64);
  EXPECT_EQ(thread_count(100000), std::max(64, std::min(usable_threads(), 100000)));
  {
    const ScopedVariable most("MANYMEANS_NUM_THREADS", "99999999999999999999");
    EXPECT_EQ(usable_threads(), 4096);
    EXPECT_EQ(thread_count(100000), 4096);
  }
  const ScopedVariable five("MANYMEANS_NUM_THREADS", "5");
  EXPECT_EQ(usable_threads(), 5);
  EXPECT_EQ(thread_count(2), 2);
  for (const char* nonsense : {"-1", "0", "many", "2 or 3", "-99999999999999999999"}) {
    const ScopedVariable set("MANYMEANS_NUM_THREADS", nonsense);
    EXPECT_THROW(usable_threads(), Error) << nonsense;
  }
  const ScopedVariable empty("MANYMEANS_NUM_THREADS", "");
  EXPECT_GE(usable_threads(), 1);
}

}  // namespace
}  // namespace manymeans::test
