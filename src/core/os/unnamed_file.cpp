#include "core/os/unnamed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace manymeans {
namespace {

std::string link_of(int file) {
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace

int open_unnamed([[maybe_unused]] const std::string& folder, [[maybe_unused]] int access,
                 [[maybe_unused]] mode_t mode) {
#if defined(__linux__)
  return ::open(folder.c_str(), O_TMPFILE | O_CLOEXEC | access, mode);
#else
  errno = EOPNOTSUPP;
  return -1;
#endif
}

bool can_be_named(int file) {
  return ::access(link_of(file).c_str(), F_OK) == 0;
}

int give_file_name(int file, const std::string& name) {
  return ::linkat(AT_FDCWD, link_of(file).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
}

int open_memory_file(const char* name) {
#if defined(__linux__)
  return ::memfd_create(name, MFD_CLOEXEC);
#else
  std::string path = std::string("/tmp/") + name + "-XXXXXX";
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file >= 0) ::unlink(path.c_str());
  return file;
#endif
}

int open_for_name(const std::string& path) {
#if defined(__APPLE__)
  return ::open(path.c_str(), O_EVTONLY | O_CLOEXEC);
#else
  return ::open(path.c_str(), O_PATH | O_CLOEXEC);
#endif
}

std::string name_of_file(int file) {
#if defined(__APPLE__)
  std::array<char, PATH_MAX> name{};
  return ::fcntl(file, F_GETPATH, name.data()) == 0 ? name.data() : "";
#else
  std::error_code ignored;
  return std::filesystem::read_symlink(link_of(file), ignored).string();
#endif
}

}  // namespace manymeans
