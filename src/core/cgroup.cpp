#include "core/cgroup.h"

#include <fstream>
#include <sstream>

namespace manymeans {

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

}  // namespace manymeans
