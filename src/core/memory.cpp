#include "core/memory.h"

#include "core/cgroup.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace manymeans {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// "max" and absent files mean no limit.
int64_t read_number(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value ? value : kUnlimited;
}

// The sum of some lines "key value" of a file; 0 where it is absent.
int64_t sum_of_lines(const std::string& path, const std::string& one, const std::string& other) {
  std::ifstream file(path);
  int64_t sum = 0;
  int64_t value = 0;
  for (std::string key; file >> key >> value;) sum += key == one || key == other ? value : 0;
  return sum;
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

// Returns the bytes that a group may still take. File pages count as used, but are dropped to make room.
int64_t rest_of_group(const CgroupFolder& group) {
  constexpr int64_t kNoLimit = int64_t{1} << 62;  // version 1 has a number of almost 2^63 for it
  const bool v2 = group.version == 2;
  const int64_t limit = read_number(group.path + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
  if (limit >= kNoLimit) return kUnlimited;
  const int64_t used = read_number(group.path + (v2 ? "/memory.current" : "/memory.usage_in_bytes"));
  if (used == kUnlimited) return kUnlimited;
  const std::string stat = group.path + "/memory.stat";
  const int64_t files = v2 ? sum_of_lines(stat, "inactive_file", "active_file")
                           : sum_of_lines(stat, "total_inactive_file", "total_active_file");
  return left_of_limit(limit, used, files);
}

}  // namespace

int64_t left_of_limit(int64_t limit, int64_t used, int64_t files) {
  const int64_t free = std::clamp<int64_t>(limit - used, 0, limit);
  return files < limit - free ? free + files : limit;
}

int64_t available_memory() {
  int64_t available = system_available();
  for (const CgroupFolder& group : cgroup_folders("memory")) available = std::min(available, rest_of_group(group));
  return available;
}

bool fits_in_half(int64_t bytes) {
  constexpr int64_t kFew = int64_t{1} << 20;
  return bytes <= kFew || bytes <= available_memory() / 2;
}

}  // namespace manymeans
