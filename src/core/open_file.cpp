#include "core/open_file.h"

#include <manymeans/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace manymeans {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::kBadData, path, what);
}

void check_mode(const std::string& path, mode_t mode, FileKind kind) {
  if (S_ISREG(mode)) return;
  if (S_ISDIR(mode)) fail(path, "this is a folder; a file is needed");
  const bool pipe = S_ISFIFO(mode) || S_ISSOCK(mode);
  if (pipe && kind == FileKind::kRegularOrPipe) return;
  if (kind == FileKind::kRegularOrPipe) fail(path, "this is a device; a file or a pipe is needed");
  fail(path, fmt::format("this is a {}; a file is needed", pipe ? "pipe" : "device"));
}

int open_named(const std::string& path, FileKind kind) {
  check_kind(path, kind);
  // The path may be a pipe by now. A caller that requires a regular file must not wait for its writer.
  const int waits = kind == FileKind::kRegular ? O_NONBLOCK : 0;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | waits);
  if (file >= 0) return file;
  fail(path, fmt::format("cannot be opened for reading: {}; a readable file is needed", std::strerror(errno)));
}

}  // namespace

void check_path(const std::string& path) {
  const size_t zero = path.find('\0');
  if (zero == std::string::npos) return;
  throw Error(ErrorCode::kUsage, path.substr(0, zero),
              fmt::format("the path holds a zero byte, at character {}; no name of a file does", zero + 1));
}

void check_kind(const std::string& path, FileKind kind) {
  check_path(path);
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return check_mode(path, status.st_mode, kind);
  const int error = errno;
  const bool pattern = path.find_first_of("*?") != std::string::npos;
  if (error == ENOENT && pattern) fail(path, "there is no such file; --shard reads all files of a pattern");
  if (error == ENOENT) fail(path, "there is no such file; check the path");
  fail(path, fmt::format("cannot be opened for reading: {}; a readable file is needed", std::strerror(error)));
}

InputFile::InputFile(const std::string& path, FileKind kind) : InputFile(open_named(path, kind), path) {
  check_open(kind);  // what was a file before it was opened need not be the one that is open
}

InputFile::InputFile(StandardInput, const std::string& name)
    : InputFile(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), name) {
  if (file_ < 0) {
    fail(name, fmt::format("cannot be read: {}; pipe or redirect a file into it", std::strerror(errno)));
  }
  check_open(FileKind::kRegularOrPipe);
}

void InputFile::check_open(FileKind kind) const {
  struct stat status {};
  if (::fstat(file_, &status) != 0) fail(path_, fmt::format("cannot be examined: {}", std::strerror(errno)));
  check_mode(path_, status.st_mode, kind);
}

InputFile::~InputFile() {
  if (file_ >= 0) ::close(file_);
}

size_t InputFile::read(char* to, size_t size) const {
  size_t used = 0;
  while (used < size) {
    const ssize_t count = ::read(file_, to + used, size - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path_, fmt::format("reading failed: {}", std::strerror(errno)));
    if (count == 0) break;
    used += static_cast<size_t>(count);
  }
  return used;
}

}  // namespace manymeans
