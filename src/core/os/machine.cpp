#include "core/os/machine.h"

#if defined(__linux__)
#include <sched.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <mach/mach.h>
#include <sys/sysctl.h>
#endif

#include <algorithm>
#include <bit>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

namespace manymeans {

ProcessorMask allowed_mask() {
  ProcessorMask mask{};
#if defined(__linux__)
  static_assert(sizeof mask == sizeof(cpu_set_t));
  ::sched_getaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data()));  // where that fails, all stay zero
#endif
  return mask;
}

int allowed_processors() {
  int count = 0;
  for (const uint64_t word : allowed_mask()) count += std::popcount(word);
  return std::max(1, count > 0 ? count : static_cast<int>(std::thread::hardware_concurrency()));
}

int64_t system_memory() {
#if defined(__APPLE__)
  vm_statistics64_data_t pages{};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  const auto to = reinterpret_cast<host_info64_t>(&pages);
  if (::host_statistics64(::mach_host_self(), HOST_VM_INFO64, to, &count) == KERN_SUCCESS) {
    return (int64_t{pages.free_count} + pages.inactive_count) * static_cast<int64_t>(vm_page_size);
  }
#endif
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key;) {
    int64_t kibibytes = 0;
    if (key == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::numeric_limits<int64_t>::max();
}

bool request_matrix_registers() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr int64_t kRequestPermission = 0x1023, kTileData = 18;  // arch_prctl(ARCH_REQ_XCOMP_PERM, XTILEDATA)
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

bool finds_bfdot() {
#if defined(__linux__) && defined(__aarch64__)
  constexpr unsigned long kBfloat16 = 1UL << 14;  // HWCAP2_BF16
  return (::getauxval(AT_HWCAP2) & kBfloat16) != 0;
#elif defined(__APPLE__)
  int found = 0;
  size_t size = sizeof found;
  return ::sysctlbyname("hw.optional.arm.FEAT_BF16", &found, &size, nullptr, 0) == 0 && found != 0;
#else
  return false;
#endif
}

}  // namespace manymeans
