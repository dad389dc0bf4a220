#include "core/os/cgroup.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

struct CgroupFolder {
  std::string path;
  int version = 2;
};

// Returns the folders that may have files of this controller, for this process's group and all groups that hold it. A
// container often sees only the last of them.
// A line of /proc/self/cgroup reads "id:controllers:path"; version 2 has the id 0 and no controllers.
std::vector<CgroupFolder> cgroup_folders(std::string_view controller) {
  std::vector<CgroupFolder> folders;
  std::ifstream cgroups("/proc/self/cgroup");
  for (std::string line; std::getline(cgroups, line);) {
    std::istringstream fields(line);
    std::string id, controllers, path;
    std::getline(fields, id, ':');
    std::getline(fields, controllers, ':');
    std::getline(fields, path);
    const bool v2 = id == "0" && controllers.empty();
    const std::string wanted = "," + std::string(controller) + ",";
    if (!v2 && ("," + controllers + ",").find(wanted) == std::string::npos) continue;
    const std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controllers;
    for (std::string folder = path;; folder.resize(folder.rfind('/'))) {
      folders.push_back({root + folder, v2 ? 2 : 1});
      if (folder.rfind('/') == std::string::npos) break;
    }
  }
  return folders;
}

// Returns the CPUs that "quota period" allows, or HUGE_VAL without a limit.
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

double cgroup_processors() {
  double least = HUGE_VAL;
  for (const CgroupFolder& group : cgroup_folders("cpu")) {
    least = std::min(least, group.version == 2 ? read_v2_quota(group.path) : read_v1_quota(group.path));
  }
  return least;
}

int64_t cgroup_memory() {
  int64_t least = kUnlimited;
  for (const CgroupFolder& group : cgroup_folders("memory")) least = std::min(least, rest_of_group(group));
  return least;
}

int64_t left_of_limit(int64_t limit, int64_t used, int64_t files) {
  const int64_t free = std::clamp<int64_t>(limit - used, 0, limit);
  return files < limit - free ? free + files : limit;
}

}  // namespace manymeans
