#include "streams/cuda_program.h"

#include <manymeans/info.h>

#include "core/os/process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

namespace manymeans::cli {

void become_cuda_program(char** argv) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const std::string stem = "manymeans-cuda-";
  const fs::path folder = program_file().parent_path().parent_path() / "lib/manymeans";
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(stem)) continue;
    const std::string version = build_info().version;
    if (name == stem + version) execv(entry.path().c_str(), argv);
    const char* problem = name == stem + version ? std::strerror(errno) : "its version differs";
    explain_missing_cuda(fmt::format("{} cannot take the place of this program ({}): install manymeans-cuda {}",
                                     entry.path().string(), problem, version));
  }
}

}  // namespace manymeans::cli
