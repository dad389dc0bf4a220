#include "core/file_memory.h"

#include <manymeans/error.h>

#include "core/memory.h"
#include "core/os/unnamed_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace manymeans {
namespace {

// A touched page maps up to 16 neighbours (fault-around). Before Linux 6.12 it may map a whole huge page: where the
// file's cache has huge pages and the system ignores the advice against them.
constexpr size_t kAround = size_t{2} << 20;

[[noreturn]] void fail(const std::string& folder, size_t bytes, int error) {
  throw Error(ErrorCode::kUnavailable, "memory",
              fmt::format("a side file of {} MiB cannot be made in {}: {}; free some space there, set TMPDIR to a "
                          "folder on another disk, or allow more memory",
                          (bytes >> 20) + 1, folder, std::strerror(error)));
}

int open_temporary(const std::string& folder) {
  const int file = open_unnamed(folder, O_RDWR, 0600);
  if (file >= 0) return file;
  std::string name = folder + "/manymeans-XXXXXX";  // where the file system has no files without names
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

std::string temporary_folder() {
  const char* set = std::getenv("TMPDIR");
  if (set != nullptr && *set != '\0') return set;
  return ::access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

std::byte* map_temporary(size_t bytes) {
  TemporaryBytes made;
  made.resize(bytes);
  return made.release();
}

void unmap_temporary(std::byte* data, size_t bytes) noexcept {
  ::munmap(data, bytes);
}

TemporaryBytes::~TemporaryBytes() {
  if (data_ != nullptr) ::munmap(data_, size_);
  if (file_ >= 0) ::close(file_);
}

TemporaryBytes::TemporaryBytes(TemporaryBytes&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

TemporaryBytes& TemporaryBytes::operator=(TemporaryBytes&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void TemporaryBytes::resize(size_t size) {
  const std::string folder = temporary_folder();
  if (file_ < 0) file_ = open_temporary(folder);
  if (file_ < 0) fail(folder, size, errno);
  size = std::max<size_t>(size, 1);
  const int error = size > size_ ? take_space(file_, size) : 0;
  if (error != 0) fail(folder, size, error);
  void* moved = data_ == nullptr ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0)
                                 : remap_file(file_, data_, size_, size);
  if (moved == MAP_FAILED) fail(folder, size, errno);
  data_ = static_cast<std::byte*>(moved);
  size_ = size;
  map_small_pages(data_, size_);
  if (::ftruncate(file_, static_cast<off_t>(size)) != 0) fail(folder, size, errno);
}

Storage storage_for(int64_t bytes, int64_t limit) {
  constexpr int64_t kShare = 16;
  const bool fits = limit > 0 ? bytes <= limit / kShare : fits_in_half(bytes);
  return fits ? Storage::kMemory : Storage::kFile;
}

void give_back(const void* begin, size_t size, size_t first, size_t bytes) noexcept {
  const auto start = reinterpret_cast<uintptr_t>(begin);
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t lowest = start / page * page;
  const uintptr_t highest = (start + size + page - 1) / page * page;
  const uintptr_t from = std::max(lowest, (start + first) / kAround * kAround);
  const uintptr_t to = std::min(highest, (start + first + bytes + kAround - 1) / kAround * kAround);
  if (from < to) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

}  // namespace manymeans
