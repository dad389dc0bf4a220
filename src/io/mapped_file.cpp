#include "io/mapped_file.h"

#include <manymeans/error.h>

#include "core/mapped_range.h"
#include "core/memory.h"
#include "io/file_watch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace manymeans {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::kBadData, path, what);
}

// Closes on every way out.
struct OpenFile {
  explicit OpenFile(int descriptor) : file(descriptor) {}
  ~OpenFile() { ::close(file); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int file;
};

int open_for_reading(const std::string& path) {
  if (path == MappedFile::kStandardInput) {
    const int copy = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
      fail(path, std::string("cannot be read: ") + std::strerror(errno) + "; pipe or redirect a file into it");
    return copy;
  }
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0) return file;
  const int error = errno;
  if (error == ENOENT) fail(path, "there is no such file; check the path");
  fail(path, std::string("cannot be opened for reading: ") + std::strerror(error) + "; a readable file is needed");
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path, Access access) {
  const OpenFile open(open_for_reading(path));
  struct stat status {};
  if (::fstat(open.file, &status) != 0) fail(path, std::string("cannot be examined: ") + std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail(path, "this is a folder; a file is needed");
  std::shared_ptr<MappedFile> result(new MappedFile());
  if (S_ISREG(status.st_mode) && ::lseek(open.file, 0, SEEK_CUR) == 0) {
    if (status.st_size > 0) result->map(open.file, static_cast<size_t>(status.st_size), path, access);
  } else if (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) {
    result->read_all(open.file, path);  // of a regular file, too, where somebody has read its beginning
  } else {
    fail(path, "this is a device; a file or a pipe is needed");
  }
  if (result->size_ == 0) fail(path, "the file is empty (0 bytes); points are needed");
  return result;
}

void MappedFile::map(int file, size_t size, const std::string& path, Access access) {
  mapping_ = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    throw Error(ErrorCode::kUnavailable, path, std::string("cannot be mapped into memory: ") + std::strerror(errno));
  }
  // What will not fit is better read as it is needed.
  const bool fits = fits_in_half(static_cast<int64_t>(size));
  ::madvise(mapping_, size, access == Access::kOnce ? MADV_SEQUENTIAL : (fits ? MADV_WILLNEED : MADV_NORMAL));
  data_ = static_cast<const std::byte*>(mapping_);
  size_ = size;  // from here on the destructor unmaps, whatever is thrown
  range_ = std::make_shared<MappedRange>(mapping_, size, file, path);
  FileWatch::add(range_);
}

void MappedFile::read_all(int file, const std::string& path) {
  constexpr size_t kBlock = size_t{1} << 20;
  for (size_t used = 0;;) {
    read_.resize(used + kBlock);
    const ssize_t count = ::read(file, read_.data() + used, kBlock);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, std::string("reading failed: ") + std::strerror(errno));
    used += static_cast<size_t>(count);
    if (count > 0) continue;
    read_.resize(used);
    break;
  }
  data_ = reinterpret_cast<const std::byte*>(read_.data());
  size_ = read_.size();
}

MappedFile::~MappedFile() {
  if (range_) range_->unmap();
  if (mapping_ != nullptr) ::munmap(mapping_, size_);
}

}  // namespace manymeans
