#include "io/output_file.h"

#include <manymeans/error.h>
#include <manymeans/io.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace manymeans {
namespace {
namespace fs = std::filesystem;

constexpr size_t kBufferSize = size_t{1} << 20;

// The path with symbolic links followed, also where the last one leads to a file that is not there yet.
std::string follow_links(const std::string& path) {
  fs::path result = path;
  std::error_code ignored;
  for (int links = 0; links < 40 && fs::is_symlink(result, ignored); ++links) {
    const fs::path to = fs::read_symlink(result, ignored);
    if (ignored) break;
    result = to.is_absolute() ? to : result.parent_path() / to;
  }
  return result.string();
}

std::string folder_of(const std::string& target) {
  const std::string folder = fs::path(target).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::string advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "free some space or choose a path on another disk";
    case EACCES:
    case EPERM:
    case EROFS: return "choose a path that you may write to";
    case ENOENT: return "the folder must exist: create it first";
    case ENOTDIR: return "a part of the path is a file where a folder is needed";
    case EIO: return "the disk reports a fault: choose a path on another disk";
    default: return "choose another path";
  }
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path), target_(path) {
  if (path.empty()) throw Error(ErrorCode::kUsage, "output", "the path is empty; the name of a file is needed");
  // The link /dev/stdout leads to no path where that is a pipe: what is written directly needs none.
  if (!is_special_file(path)) target_ = follow_links(path);
  struct stat status {};
  const bool there = ::stat(target_.c_str(), &status) == 0;
  if (!there && errno != ENOENT) fail("written", errno);
  if (there && S_ISDIR(status.st_mode)) {
    throw Error(ErrorCode::kUnavailable, path_, "cannot be written: this is a folder; give the name of a file in it");
  }
  if (there && !S_ISREG(status.st_mode)) {
    file_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) fail("written", errno);
    return;
  }
  // A file that its owner made read-only is not replaced behind his back.
  if (there && ::access(target_.c_str(), W_OK) != 0) fail("written", errno);
  open_beside();
  if (there) (void)::fchmod(file_, status.st_mode & 07777);
}

// A name in the target's folder that nobody has.
std::string OutputFile::free_name(int number) const {
  return folder_of(target_) + "/.manymeans-" + std::to_string(::getpid()) + "-" + std::to_string(number) + ".tmp";
}

void OutputFile::open_beside() {
  // Without a name, where the file system can: then nothing is left behind when the program is killed. It gets one
  // through /proc in the end.
  file_ = ::open(folder_of(target_).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  nameless_ = file_ >= 0 && ::access(own_link().c_str(), F_OK) == 0;
  if (nameless_) return;
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  for (int number = 0; file_ < 0; ++number) {
    std::string name = free_name(number);
    file_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ >= 0) beside_ = std::move(name);  // no copy: were there no memory for it, the file would stay for ever
    if (file_ < 0 && errno != EEXIST) fail("written", errno);
  }
}

std::string OutputFile::own_link() const {
  return "/proc/self/fd/" + std::to_string(file_);
}

void OutputFile::give_name() {
  for (int number = 0; beside_.empty(); ++number) {
    std::string name = free_name(number);
    const std::string link = own_link();
    if (::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      beside_ = std::move(name);  // no copy, as above
    } else if (errno != EEXIST) {
      fail("put in its place", errno);
    }
  }
}

OutputFile::~OutputFile() {
  if (file_ >= 0) ::close(file_);
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

void OutputFile::fail(const std::string& doing, int error) const {
  throw Error(ErrorCode::kUnavailable, path_,
              "cannot be " + doing + ": " + std::strerror(error) + "; " + advice(error));
}

void OutputFile::write(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBufferSize) flush();
  if (bytes.size() >= kBufferSize) return write_out(bytes);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void OutputFile::flush() {
  write_out(buffer_);
  buffer_.clear();
}

void OutputFile::write_out(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("written", errno);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

void OutputFile::commit() {
  flush();
  // The bytes must be on disk before the name is: a crash in between must not leave an empty file.
  const bool replaces = nameless_ || !beside_.empty();
  if (replaces && ::fsync(file_) != 0) fail("written", errno);
  if (nameless_) give_name();
  const int closed = ::close(file_);
  file_ = -1;
  if (closed != 0) fail("written", errno);
  if (beside_.empty()) return;
  if (std::rename(beside_.c_str(), target_.c_str()) != 0) fail("put in its place", errno);
  beside_.clear();
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;  // the file is in place; some folders may be written but not read
  (void)::fsync(folder);
  ::close(folder);
}

bool is_special_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

void check_writable(const std::string& path) {
  const OutputFile file(path);
}

}  // namespace manymeans
