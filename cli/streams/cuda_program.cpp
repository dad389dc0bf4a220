#include "streams/cuda_program.h"

#include <manymeans/info.h>

#include "core/os/process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace manymeans::cli {
namespace {

// "cuda", "cpu,cuda:0" or "--device=cuda:all".
bool names_cuda(std::string_view argument) {
  if (argument.starts_with("--")) argument.remove_prefix(std::min(argument.size(), argument.find('=') + 1));
  while (!argument.empty()) {
    const std::string_view item = argument.substr(0, argument.find(','));
    if (item == "cuda" || item.starts_with("cuda:")) return true;
    argument.remove_prefix(std::min(argument.size(), item.size() + 1));
  }
  return false;
}

}  // namespace

void become_cuda_program(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const std::string stem = "manymeans-cuda-";
  const fs::path folder = program_file().parent_path().parent_path() / "lib/manymeans";
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(stem)) continue;
    const std::string version = build_info().version;
    std::string problem = "its version differs: install manymeans-cuda " + version;
    if (name == stem + version) {
      problem = "an argument must name cuda";
      if (std::any_of(argv, argv + argc, names_cuda)) {
        execv(entry.path().c_str(), argv);
        problem = std::string(std::strerror(errno)) + ": install manymeans-cuda " + version + " again";
      }
    }
    explain_missing_cuda(
        fmt::format("{} does not take the place of this program ({})", entry.path().string(), problem));
  }
}

}  // namespace manymeans::cli
