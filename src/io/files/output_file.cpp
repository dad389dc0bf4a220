#include "io/files/output_file.h"

#include <manymeans/error.h>
#include <manymeans/io.h>

#include "core/os/process.h"
#include "core/os/unnamed_file.h"
#include "io/files/file_name.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
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
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    had_one_ = sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalGuard() {
    const int error = errno;
    if (!had_one_) drop_pending_signal(SIGPIPE);  // ours, if there is one
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

// A folder may refuse new files by saying that there is none, as /proc does.
std::string advice(int error, const std::string& path) {
  std::error_code ignored;
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "free some space or choose a path on another disk";
    case EACCES:
    case EPERM:
    case EROFS: return "choose a path that you may write to";
    case ENOENT:
      return fs::is_directory(folder_of(path), ignored) ? "no file can be made in this folder: choose another path"
                                                        : "the folder must exist: create it first";
    case ENOTDIR: return "a part of the path is a file where a folder is needed";
    case EPIPE: return "the program that read from it has ended; let it read to the end";
    case EIO: return "the disk reports a fault: choose a path on another disk";
    default: return "choose another path";
  }
}

bool are_one(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// The name of the file at the path; empty with errno: there is none. The system follows links, so that its own rules
// about links of other users hold (fs.protected_symlinks). It also makes the file that a link leads to and that is not
// there: only then it has a name. The new file is removed at once, as outputs appear whole.
std::string resolve(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_symlink(path, ignored)) return path;
  int file = open_for_name(path);
  const bool missing = file < 0 && errno == ENOENT;
  if (missing) file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
  if (file < 0) return "";
  std::string name = name_of_file(file);
  struct stat opened {
  }, named{};
  ::fstat(file, &opened);
  ::close(file);
  if (::lstat(name.c_str(), &named) != 0) return "";
  if (!are_one(opened, named)) {  // another file has got the name
    errno = EAGAIN;
    return "";
  }
  if (missing && opened.st_size == 0) ::unlink(name.c_str());
  return name;
}

}  // namespace

// A place to write to, as it is now.
struct OutputFile::Place {
  explicit Place(const std::string& path);
  bool direct() const { return descriptor >= 0 || (there && !S_ISREG(status.st_mode)); }

  int descriptor = -1;  // of this process, where that is what the path means
  bool there = false;
  struct stat status {};
  int problem = 0;  // an error number: nothing can be written here
};

OutputFile::Place::Place(const std::string& path) {
  if (path.empty()) throw Error(ErrorCode::kUsage, "output", "the path is empty; the name of a file is needed");
  descriptor = find_target(path).descriptor;
  there = (descriptor >= 0 ? ::fstat(descriptor, &status) : ::stat(path.c_str(), &status)) == 0;
  problem = there || errno == ENOENT ? 0 : errno;
  if (!there) return;
  if (S_ISDIR(status.st_mode)) {
    throw Error(ErrorCode::kUnavailable, path, "cannot be written: this is a folder; give the name of a file in it");
  }
  if (descriptor >= 0) {
    const bool writable = (::fcntl(descriptor, F_GETFL) & O_ACCMODE) != O_RDONLY;
    problem = writable ? 0 : EBADF;
  } else if (S_ISSOCK(status.st_mode)) {
    problem = ENXIO;  // as opening it would say, after the work
  } else if (::access(path.c_str(), W_OK) != 0) {
    problem = errno;  // a file that its owner made read-only is not replaced behind his back
  }
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
  const Place place(path);
  if (place.problem != 0) fail("written", place.problem);
  if (place.direct()) {
    open_directly(place.descriptor);
    return;
  }
  target_ = resolve(path);
  if (target_.empty()) fail("written", errno);
  // The new file belongs to this user. It keeps the permissions of a file that did, without set-user-id bits.
  const bool keeps = place.there && place.status.st_uid == ::geteuid();
  mode_t mode = keeps ? place.status.st_mode & 0777 : 0666;
  open_beside(mode);
  if (!keeps) return;
  if (::fchown(file_, static_cast<uid_t>(-1), place.status.st_gid) != 0) mode &= 0707;  // they were another group's
  (void)::fchmod(file_, mode);
}

void OutputFile::open_directly(int descriptor) {
  direct_ = true;
  // An open file is used as it is: a second opening would begin at its beginning, and sockets have none. O_CREAT makes
  // nothing here: with it the system refuses pipes of others in sticky folders (fs.protected_fifos).
  file_ = descriptor >= 0 ? ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
                          : ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) fail("written", errno);
}

// An unused name in the target's folder.
std::string OutputFile::free_name(int number) const {
  return folder_of(target_) + "/.manymeans-" + std::to_string(::getpid()) + "-" + std::to_string(number) + ".tmp";
}

void OutputFile::open_beside(mode_t mode) {
  // Without a name, where the file system can: then nothing is left behind when the program is killed.
  file_ = open_unnamed(folder_of(target_), O_WRONLY, mode);
  nameless_ = file_ >= 0 && can_be_named(file_);
  if (nameless_) return;
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  for (int number = 0; file_ < 0; ++number) {
    std::string name = free_name(number);
    file_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file_ >= 0) beside_ = std::move(name);  // no copy: were there no memory for it, the file would stay for ever
    if (file_ < 0 && errno != EEXIST) fail("written", errno);
  }
}

void OutputFile::give_name() {
  for (int number = 0; beside_.empty(); ++number) {
    std::string name = free_name(number);
    if (give_file_name(file_, name) == 0) {
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
              "cannot be " + doing + ": " + std::strerror(error) + "; " + advice(error, path_));
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

void OutputFile::commit(FileLock* lock) {
  flush();
  // The bytes must be on disk before the name is: a crash in between must not leave an empty file.
  const bool replaces = nameless_ || !beside_.empty();
  if (replaces && ::fsync(file_) != 0) fail("written", errno);
  if (nameless_) give_name();
  if (lock != nullptr && !beside_.empty()) lock->take(beside_);
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

void remove_checkpoint(const std::string& path) {
  if (is_special_file(path)) return;
  FileLock lock;
  lock.take(path);
  const std::string target = resolve(path);
  if (!target.empty() && ::unlink(target.c_str()) == 0) return;
  throw Error(ErrorCode::kUnavailable, path, std::string("cannot be removed: ") + std::strerror(errno));
}

FileLock::~FileLock() {
  if (file_ < 0) return;
  (void)::flock(file_, LOCK_UN);  // a child of this process may have the file open, too
  ::close(file_);
}

void FileLock::take(const std::string& path) {
  FileLock next;
  next.file_ = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (next.file_ < 0 && errno != ENOENT) {
    throw Error(ErrorCode::kUnavailable, path, std::string("cannot be opened: ") + std::strerror(errno));
  }
  // Some file systems have no locks: there, only check() finds the other fit.
  const bool refused = next.file_ >= 0 && ::flock(next.file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (refused) next.fail(path);
  next.check(path);  // it may have been replaced before it was locked
  swap(next);
}

void FileLock::check(const std::string& path) const {
  struct stat locked {
  }, there{};
  if (::stat(path.c_str(), &there) != 0) return;
  if (file_ < 0 || ::fstat(file_, &locked) != 0 || !are_one(locked, there)) fail(path);
}

void FileLock::fail(const std::string& path) const {
  throw Error(ErrorCode::kUsage, path, "another fit has this checkpoint; give each fit its own");
}

}  // namespace manymeans
