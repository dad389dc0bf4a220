#include "core/mapped_range.h"

#include <manymeans/error.h>

#include "core/os/unnamed_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>

namespace manymeans {

// A range as the signal handler knows it. Slots are reused and never freed, so the handler may walk along them at any
// moment; end = 0 marks a slot without a range.
struct MappedRange::Slot {
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<bool> lost{false};
  std::atomic<bool> taken{true};
  const MappedRange* range = nullptr;  // for check_mapped, whose caller keeps the range alive
  Slot* next = nullptr;
};

namespace {
using Slot = MappedRange::Slot;

// A signal handler can reach only variables like these. They and the variables of the program's own signals (cli/) are
// the only mutable state that outlives a call.
std::atomic<Slot*> first_slot{nullptr};
struct sigaction previous_action;
std::atomic<bool> handles{false};
std::mutex handling;  // of the two above and below
int handlers = 0;     // calls that require lost pages to be replaced
std::atomic<int64_t> losses{0};
uintptr_t page_size = 4096;
static_assert(std::atomic<uintptr_t>::is_always_lock_free && std::atomic<Slot*>::is_always_lock_free,
              "else a signal handler may not touch it");

Slot* take_slot() {
  for (Slot* slot = first_slot; slot != nullptr; slot = slot->next) {
    bool free = false;
    if (slot->taken.compare_exchange_strong(free, true)) return slot;
  }
  Slot* slot = new Slot();
  slot->next = first_slot;
  while (!first_slot.compare_exchange_weak(slot->next, slot)) {
  }
  return slot;
}

Slot* find_slot(uintptr_t address) {
  for (Slot* slot = first_slot; slot != nullptr; slot = slot->next) {
    if (slot->begin <= address && address < slot->end) return slot;
  }
  return nullptr;
}

// From this page to the end of the range: where a file was cut off, nothing follows, and one call is enough.
bool replace_by_zeros(Slot& slot, uintptr_t address) {
  const uintptr_t begin = address / page_size * page_size;
  slot.lost = true;                                 // before anybody can read a zero
  void* const at = reinterpret_cast<void*>(begin);  // NOLINT(performance-no-int-to-ptr): the system gave a number
  return ::mmap(at, slot.end - begin, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at;
}

// Only async-signal-safe calls in here; mmap is one on Linux, a bare system call.
void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  Slot* const slot = info->si_code > 0 ? find_slot(address) : nullptr;  // 0 and below: sent by somebody
  const bool replaced = slot != nullptr && replace_by_zeros(*slot, address);
  errno = saved_errno;
  losses += replaced ? 1 : 0;
  if (replaced) return;  // the read is tried again, and succeeds
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) return previous_action.sa_sigaction(signal, info, context);
  if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    return previous_action.sa_handler(signal);
  }
  std::signal(signal, SIG_DFL);
  if (info->si_code <= 0) std::raise(signal);  // the read is tried again, and ends the program
}

}  // namespace

MappedRange::MappedRange(const void* data, size_t size, std::string name)
    : path_(std::move(name)), size_(size), slot_(take_slot()) {
  slot_->range = this;
  slot_->lost = false;
  slot_->begin = reinterpret_cast<uintptr_t>(data);
  slot_->end = reinterpret_cast<uintptr_t>(data) + size;
}

MappedRange::MappedRange(const void* data, size_t size, int file, std::string path)
    : MappedRange(data, size, std::move(path)) {
  file_ = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (file_ < 0) {
    throw Error(ErrorCode::kUnavailable, path_,
                std::string("cannot be kept open: ") + std::strerror(errno) + "; close other files first");
  }
  struct stat status {};
  if (::fstat(file_, &status) == 0) written_ = written_at(status);
}

void MappedRange::unmap() {
  slot_->end = 0;
}

MappedRange::~MappedRange() {
  unmap();
  slot_->taken = false;
  if (file_ >= 0) ::close(file_);
}

void MappedRange::check() const {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::kBadData, path_, what + "; leave the file as it is until the end");
  };
  struct stat status {};
  const bool known = ::fstat(file_, &status) == 0;
  if (known && static_cast<size_t>(status.st_size) < size_) {
    fail(fmt::format("the file was cut off while it was read: it had {} bytes, now {}", size_, status.st_size));
  }
  if (slot_->lost) fail("the file was cut off while it was read, or its disk failed");
  if (file_ < 0) return;
  const timespec written = written_at(status);
  if (!known || written.tv_sec != written_.tv_sec || written.tv_nsec != written_.tv_nsec) {
    fail("somebody wrote to the file while it was read, so there is no answer for it");
  }
}

void check_mapped(const void* address) {
  if (const Slot* slot = find_slot(reinterpret_cast<uintptr_t>(address))) slot->range->check();
}

void begin_replacing_lost_pages() {
  const std::lock_guard lock(handling);
  if (handlers++ > 0) return;
  page_size = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  ::sigaction(SIGBUS, nullptr, &previous_action);  // known before it can be needed
  handles = true;
  go_on_replacing_lost_pages();
}

void end_replacing_lost_pages() noexcept {
  const std::lock_guard lock(handling);
  if (--handlers > 0) return;
  handles = false;
  struct sigaction now {};
  ::sigaction(SIGBUS, nullptr, &now);
  // A handler that was installed meanwhile stays.
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_bus_error) {
    ::sigaction(SIGBUS, &previous_action, nullptr);
  }
}

int64_t lost_pages() noexcept {
  return losses;
}

void replace_lost_pages() {
  static std::once_flag once;
  std::call_once(once, begin_replacing_lost_pages);
}

void go_on_replacing_lost_pages() {
  if (!handles) return;
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace manymeans
