#include "core/os/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#elif defined(__APPLE__)
#include <libproc.h>
#include <mach/mach_time.h>
#endif

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace manymeans {
namespace {

#if defined(__linux__)
constexpr clockid_t kClock = CLOCK_BOOTTIME;
#else
constexpr clockid_t kClock = CLOCK_MONOTONIC;
#endif

double seconds_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// When this process was started, on the clock since the boot. The system rounds it to a hundredth of a second. Within
// that rounding the process had the processor all the time, as on an idle machine.
double find_start() {
  const double busy = seconds_of(kClock) - seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(text.rfind(')') + 1));  // the name before may hold spaces
  constexpr int kStartTime = 22 - 2;                            // proc(5)
  double ticks = 0;
  std::string field;
  for (int i = 1; i < kStartTime; ++i) fields >> field;
  if (!(fields >> ticks)) return busy;
  const double tick = 1 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return std::clamp(busy, ticks * tick, (ticks + 1) * tick);
}

}  // namespace

std::filesystem::path program_file() {
  std::error_code ignored;
#if defined(__APPLE__)
  std::array<char, PROC_PIDPATHINFO_MAXSIZE> name{};
  ::proc_pidpath(::getpid(), name.data(), name.size());
  return name.data();
#else
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
#endif
}

double seconds_since_start() {
  static const double kStart = find_start();
  return seconds_of(kClock) - kStart;
}

std::optional<double> processor_seconds(pid_t process) {
#if defined(__APPLE__)
  rusage_info_v2 used{};
  mach_timebase_info_data_t base{};
  if (::proc_pid_rusage(process, RUSAGE_INFO_V2, reinterpret_cast<rusage_info_t*>(&used)) != 0) return std::nullopt;
  if (::mach_timebase_info(&base) != KERN_SUCCESS) return std::nullopt;
  return 1e-9 * static_cast<double>(used.ri_user_time + used.ri_system_time) * base.numer / base.denom;
#else
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return std::nullopt;
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
#endif
}

bool end_with_parent() {
#if defined(__linux__)
  return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
#else
  return true;
#endif
}

bool connect_sockets(std::array<int, 2>& ends) {
#if defined(__linux__)
  return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0;
#else
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return false;
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  return true;
#endif
}

void drop_pending_signal(int signal) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
#if defined(__linux__)
  const timespec now{};
  (void)::sigtimedwait(&one, nullptr, &now);
#else
  sigset_t pending;
  int taken = 0;
  if (::sigpending(&pending) == 0 && sigismember(&pending, signal) == 1) ::sigwait(&one, &taken);
#endif
}

}  // namespace manymeans
