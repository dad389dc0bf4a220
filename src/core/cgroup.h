// The control groups of this process, where the system keeps its limits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

struct CgroupFolder {
  std::string path;
  int version = 2;
};

/// Returns the folders that may have files of this controller, for this process's group and all groups that hold it.
/// Version 2, and version 1 where it is mounted. A container often sees only the last of them.
std::vector<CgroupFolder> cgroup_folders(std::string_view controller);

}  // namespace manymeans
