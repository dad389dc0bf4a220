#include "core/workers.h"

#include "core/threads.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace manymeans::test {
namespace {

std::set<std::thread::id> threads_of(ThreadPool& pool) {
  std::vector<std::thread::id> ids(static_cast<size_t>(pool.size()));
  pool.run([&](int worker) { ids[static_cast<size_t>(worker)] = std::this_thread::get_id(); });
  return {ids.begin(), ids.end()};
}

int threads_of_this_process() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return 0;
}

TEST(Workers, WaitsForTheNextPool) {
  std::set<std::thread::id> first;
  {
    ThreadPool pool(4);
    ASSERT_EQ(pool.size(), 4);
    first = threads_of(pool);
  }
  EXPECT_GE(waiting_threads(), 3);
  ThreadPool pool(4);
  EXPECT_EQ(threads_of(pool), first);
  ThreadPool beside(4);  // while the first is at work
  EXPECT_NE(threads_of(beside), first);
}

TEST(Workers, HasTheSizeThatIsAskedFor) {
  for (const int threads : {3, 7, 2, 1, 7, 3}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    EXPECT_EQ(threads_of(pool).size(), static_cast<size_t>(threads));
  }
}

TEST(Workers, FewWait) {
  for (int threads = 2; threads < 12; ++threads) ThreadPool pool(threads);
  EXPECT_LE(waiting_threads(), 7 + 8 + 9 + 10);
}

// A pool in the child of a fork works, whether or not the parent's threads waited.
TEST(Workers, NoneSurvivesIntoAFork) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not support threads after a fork of a threaded process";
#endif
  { ThreadPool pool(5); }
  ThreadPool busy(3);
  EXPECT_GE(waiting_threads(), 4);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool alone = waiting_threads() == 0 && threads_of_this_process() == 1;
    bool works = false;
    {
      ThreadPool pool(5);
      std::atomic<int> calls{0};
      pool.run([&](int) { ++calls; });
      works = calls == 5 && pool.size() == 5;
    }
    _exit(alone && works && waiting_threads() == 4 ? 42 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 42);
  EXPECT_EQ(threads_of(busy).size(), 3U);
  ThreadPool again(5);
  EXPECT_EQ(threads_of(again).size(), 5U);
}

// A pool of the parent's that is destroyed in the child gives nothing to whoever comes next.
TEST(Workers, ThreadsOfTheParentAreNotUsedInTheChild) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not support threads after a fork of a threaded process";
#endif
  auto pool = std::make_unique<ThreadPool>(3);
  // None of them shall be in the allocator: AddressSanitizer's (of g++ 12) leaves its locks to the child as they are.
  pool->run([](int) {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    pool.reset();
    ThreadPool mine(3);
    std::atomic<int> calls{0};
    mine.run([&](int) { ++calls; });
    _exit(calls == 3 ? 42 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST(Workers, LeavesSignalsToTheProgram) {
  ThreadPool pool(3);
  std::atomic<int> blocked{0}, own{0};
  pool.run([&](int worker) {
    if (worker == 0) return;
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    blocked += sigismember(&mask, SIGINT) + sigismember(&mask, SIGTERM);
    own += sigismember(&mask, SIGBUS) + sigismember(&mask, SIGSEGV) + sigismember(&mask, SIGFPE);
  });
  EXPECT_EQ(blocked, 4);
  EXPECT_EQ(own, 0);
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGINT), 0);
}

TEST(Workers, PoolsOfManyThreadsAtOnce) {
  std::vector<std::thread> users;
  std::atomic<int64_t> sum{0};
  for (int user = 0; user < 8; ++user) {
    users.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        ThreadPool pool(2 + round % 3);
        pool.for_each_range(100, 3, [&](int, int64_t first, int64_t last) { sum += last - first; });
      }
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(sum, 8 * 50 * 100);
}

}  // namespace
}  // namespace manymeans::test
