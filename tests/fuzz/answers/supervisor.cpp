#include "fuzz/answers/supervisor.h"

#include "backend/backend.h"
#include "fuzz/answers/case_runner.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace manymeans::fuzz {
namespace {

constexpr int kNoDevice = 44;  // exit code of a process

volatile std::sig_atomic_t stop_asked = 0;

int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

// What both processes see.
struct Shared {
  std::atomic<int64_t> number{0};  // of the case at work, or the next one
  std::atomic<int64_t> step_began{0};
  std::atomic<int64_t> cases{0}, fits{0}, refusals{0}, failures{0};
  char text[4096] = {};  // of the case
  char step[1024] = {};
};

void set_text(char* to, size_t size, const std::string& text) {
  const size_t count = std::min(size - 1, text.size());
  std::memcpy(to, text.data(), count);
  to[count] = 0;
}

class Supervisor {
 public:
  explicit Supervisor(const Plan& plan) : plan_(plan), began_(now_ns()) {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    shared_ = new (memory) Shared;
    shared_->number = plan.first;
  }
  ~Supervisor() { munmap(shared_, sizeof(Shared)); }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  int64_t run() {
    while (!over()) {
      const int64_t number = shared_->number;
      const int64_t block_ends = (number / kCasesOfABlock + 1) * kCasesOfABlock;
      watch(start(plan_.cases > 0 ? std::min(block_ends, plan_.first + plan_.cases) : block_ends));
    }
    fmt::print("{} cases, {} fits, {} ways refused, {} failures in {:.1f} minutes\n", shared_->cases.load(),
               shared_->fits.load(), shared_->refusals.load(), shared_->failures.load(), minutes());
    return shared_->failures;
  }

 private:
  double minutes() const { return static_cast<double>(now_ns() - began_) / 60e9; }
  bool over() const {
    if (stop_asked != 0) return true;
    if (plan_.cases > 0 && shared_->number >= plan_.first + plan_.cases) return true;
    return plan_.minutes > 0 && minutes() >= plan_.minutes;
  }

  // A process that does the cases from shared_->number to `end`.
  pid_t start(int64_t end) {
    std::fflush(nullptr);
    shared_->step_began = now_ns();
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child > 0) return child;
    setpgid(0, 0);                     // Ctrl-C is the parent's
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // whatever ends the parent ends the case
    if (plan_.limits.cuda) need_device();
    for (; shared_->number < end && !over(); ++shared_->number) one_case(shared_->number);
    std::fflush(nullptr);
    _exit(0);
  }

  // Not in the parent: a process that has used CUDA must not fork.
  static void need_device() {
    try {
      make_backend("cuda", {});
    } catch (const std::exception& error) {
      fmt::print(stderr, "manymeans_answers: {}\n", error.what());
      _exit(kNoDevice);
    }
  }

  void one_case(int64_t number) {
    const FuzzCase drawn = draw_case(plan_.seed, number, plan_.limits);
    set_text(shared_->text, sizeof shared_->text, drawn.text());
    fmt::print("case {}: {}; {} ways\n", number, drawn.text(), drawn.ways.size());
    std::fflush(stdout);
    const int64_t began = now_ns();
    CaseReport report;
    try {
      report = run_case(drawn, plan_.settings, [&](const std::string& step) {
        set_text(shared_->step, sizeof shared_->step, step);
        shared_->step_began = now_ns();
      });
    } catch (const std::exception& error) {
      report.failures = fmt::format("  FAILED while {}: {}\n", shared_->step, error.what());
    }
    shared_->fits += report.fits;
    shared_->refusals += report.refusals;
    ++shared_->cases;
    fmt::print("  {} in {:.1f} s\n", report.failures.empty() ? "equal" : "FAILED",
               static_cast<double>(now_ns() - began) / 1e9);
    if (!report.failures.empty()) tell_failure(number, report.failures);
    std::fflush(stdout);
  }

  // Says it and keeps it.
  void tell_failure(int64_t number, const std::string& what) {
    ++shared_->failures;
    const std::string text =
        fmt::format("case {}: {}\n{}  again: {} --case {}\n", number, shared_->text, what, plan_.reproduce, number);
    fmt::print("{}", text);
    std::fflush(stdout);
    if (plan_.found.empty()) return;
    std::FILE* file = std::fopen(plan_.found.c_str(), "a");
    if (file == nullptr) {
      fmt::print(stderr, "cannot write to {}\n", plan_.found);
      return;
    }
    fmt::print(file, "{}\n", text);
    std::fclose(file);
  }

  // Waits for the process to end, or ends it.
  void watch(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      usleep(50'000);
      const double seconds = static_cast<double>(now_ns() - shared_->step_began) / 1e9;
      if (stop_asked != 0) return end(child);
      if (seconds < plan_.hang_seconds) continue;
      end(child);
      tell_failure(shared_->number, fmt::format("  HANGS, {:.0f} s, in: {}\n", seconds, shared_->step));
      ++shared_->number;
      return;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNoDevice) throw std::runtime_error("there is nothing to test");
    const std::string how = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                                : fmt::format("exit code {}", WEXITSTATUS(status));
    tell_failure(shared_->number, fmt::format("  DIED by {} in: {}\n", how, shared_->step));
    ++shared_->number;
  }

  // A process that waits for a device may take a while to go.
  void end(pid_t child) const {
    kill(child, SIGKILL);
    for (int i = 0; i < 600; ++i) {
      if (waitpid(child, nullptr, WNOHANG) != 0) return;
      usleep(100'000);
    }
    fmt::print("process {} cannot be killed; what follows may be its doing\n", child);
  }

  const Plan& plan_;
  int64_t began_;
  Shared* shared_ = nullptr;
};

}  // namespace

int64_t run_cases(const Plan& plan) {
  struct sigaction action = {};
  action.sa_handler = [](int) { stop_asked = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return Supervisor(plan).run();
}

}  // namespace manymeans::fuzz
