#include "io/files/output_file.h"

#include <manymeans/error.h>
#include <manymeans/io.h>

#include "io/files/file_name.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <utility>

namespace manymeans {
namespace {
namespace fs = std::filesystem;

constexpr size_t kBufferSize = size_t{1} << 20;

std::string folder_of(const std::string& target) {
  const std::string folder = fs::path(target).parent_path().string();
  return folder.empty() ? "." : folder;
}

// A pipe whose reader has gone sends SIGPIPE, which ends a process that does not ignore it. While this lives, this
// thread gets the error alone.
class PipeSignalGuard {
 public:
  PipeSignalGuard() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    had_one_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalGuard() {
    const int error = errno;
    const timespec now{};
    if (!had_one_) (void)::sigtimedwait(&pipe_, nullptr, &now);  // ours, if there is one
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  PipeSignalGuard(const PipeSignalGuard&) = delete;
  PipeSignalGuard& operator=(const PipeSignalGuard&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool had_one_ = false;
};

std::string advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "free some space or choose a path on another disk";
    case EACCES:
    case EPERM:
    case EROFS: return "choose a path that you may write to";
    case ENOENT: return "the folder must exist: create it first";
    case ENOTDIR: return "a part of the path is a file where a folder is needed";
    case EPIPE: return "whoever read from it has gone: let it read to the end";
    case EIO: return "the disk reports a fault: choose a path on another disk";
    default: return "choose another path";
  }
}

}  // namespace

// A place to write to, as it is now.
struct OutputFile::Place {
  explicit Place(const std::string& path);
  bool direct() const { return target.descriptor >= 0 || (there && !S_ISREG(mode)); }

  WriteTarget target;
  bool there = false;
  mode_t mode = 0;
  int problem = 0;  // an error number: nothing can be written here
};

OutputFile::Place::Place(const std::string& path) {
  if (path.empty()) throw Error(ErrorCode::kUsage, "output", "the path is empty; the name of a file is needed");
  target = find_target(path);
  struct stat status {};
  there = (target.descriptor >= 0 ? ::fstat(target.descriptor, &status) : ::stat(target.path.c_str(), &status)) == 0;
  problem = there || errno == ENOENT ? 0 : errno;
  if (!there) return;
  mode = status.st_mode;
  if (S_ISDIR(mode)) {
    throw Error(ErrorCode::kUnavailable, path, "cannot be written: this is a folder; give the name of a file in it");
  }
  if (target.descriptor >= 0) {
    const bool writable = (::fcntl(target.descriptor, F_GETFL) & O_ACCMODE) != O_RDONLY;
    problem = writable ? 0 : EBADF;
  } else if (S_ISSOCK(mode)) {
    problem = ENXIO;  // as opening it would say, after the work
  } else if (::access(target.path.c_str(), W_OK) != 0) {
    problem = errno;  // a file that its owner made read-only is not replaced behind his back
  }
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
  const Place place(path);
  target_ = place.target.path;
  if (place.problem != 0) fail("written", place.problem);
  if (place.direct()) {
    open_directly(place.target.descriptor);
    return;
  }
  open_beside();
  if (place.there) (void)::fchmod(file_, place.mode & 07777);
}

void OutputFile::open_directly(int descriptor) {
  direct_ = true;
  // What is open already is used as it is: a second opening would begin at its beginning, and sockets have none.
  file_ = descriptor >= 0 ? ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0) : ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  if (file_ < 0) fail("written", errno);
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

void OutputFile::check(const std::string& path) {
  const Place place(path);
  if (place.problem == 0 && place.direct()) return;
  const OutputFile file(path);
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
  std::optional<PipeSignalGuard> guard;
  if (direct_) guard.emplace();
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
  if (find_target(path).descriptor >= 0) return true;
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

void check_writable(const std::string& path) {
  OutputFile::check(path);
}

void check_replaceable(const std::string& path) {
  if (!path.empty() && is_special_file(path)) {
    throw Error(ErrorCode::kUsage, path,
                "a checkpoint cannot be a pipe or a device, which nothing can replace; give the name of a file");
  }
  check_writable(path);
}

void check_checkpoint_path(const std::string& path) {
  check_replaceable(path);
}

void remove_checkpoint(const std::string& path) {
  const std::string target = find_target(path).path;
  if (is_special_file(path) || std::remove(target.c_str()) == 0) return;
  throw Error(ErrorCode::kUnavailable, path, std::string("cannot be removed: ") + std::strerror(errno));
}

}  // namespace manymeans
