#include "core/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace manymeans {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// "max" and absent files mean no limit.
int64_t read_number(const char* path) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value ? value : kUnlimited;
}

int64_t system_available() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key;) {
    int64_t kibibytes = 0;
    if (key == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return kUnlimited;
}

int64_t rest(int64_t limit, int64_t used) {
  if (limit == kUnlimited || used == kUnlimited) return kUnlimited;
  return std::max<int64_t>(0, limit - used);
}

}  // namespace

int64_t available_memory() {
  return std::min({system_available(),
                   rest(read_number("/sys/fs/cgroup/memory.max"), read_number("/sys/fs/cgroup/memory.current")),
                   rest(read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
                        read_number("/sys/fs/cgroup/memory/memory.usage_in_bytes"))});
}

}  // namespace manymeans
