#include "core/file_memory.h"

#include <manymeans/error.h>

#include "core/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
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
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  std::string name = folder + "/manymeans-XXXXXX";  // where the file system has no files without names
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

// All of the disk space that the file will need; an error number, or 0.
int take_space(int file, size_t bytes) {
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  return error;
}

// Advises from the beginning of the page of the first byte.
void advise(const void* data, size_t bytes, int advice) noexcept {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t from = reinterpret_cast<uintptr_t>(data) / page * page;
  ::madvise(reinterpret_cast<void*>(from), reinterpret_cast<uintptr_t>(data) + bytes - from, advice);
}

// One entry of /proc/self/smaps.
struct Area {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool writable = false;
  bool shared = false;
  bool file = false;
  bool own_pages = false;  // pages that no longer belong to the file
};

bool is_safe(const Area& area) {
  return area.file && (area.shared || (!area.writable && !area.own_pages));
}

// "7f00-7f01 r--p 00000000 08:01 1234   /path"
bool parse_header(const std::string& line, Area& area) {
  unsigned long begin = 0;
  unsigned long end = 0;
  unsigned long inode = 0;
  char rights[5] = {};
  if (std::sscanf(line.c_str(), "%lx-%lx %4s %*s %*s %lu", &begin, &end, rights, &inode) != 4) return false;
  area = {begin, end, rights[1] == 'w', rights[3] == 's', inode != 0, false};
  return true;
}

void parse_detail(const std::string& line, Area& area) {
  std::istringstream fields(line);
  std::string key;
  int64_t kibibytes = 0;
  if (fields >> key >> kibibytes && (key == "Anonymous:" || key == "Swap:")) area.own_pages |= kibibytes > 0;
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
                                 : ::mremap(data_, size_, size, MREMAP_MAYMOVE);
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

void map_small_pages(const void* data, size_t bytes) noexcept {
  advise(data, bytes, MADV_NOHUGEPAGE);
}

void fetch_ahead(const void* data, size_t bytes) noexcept {
  advise(data, bytes, MADV_WILLNEED);
}

bool lies_in_file(const void* data, size_t bytes) {
  if (bytes == 0) return false;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t end = begin + bytes;
  uintptr_t safe_to = begin;  // the areas come in order of their addresses
  std::ifstream file("/proc/self/smaps");
  Area area;
  const auto use = [&] {
    if (is_safe(area) && area.begin <= safe_to && safe_to < area.end) safe_to = area.end;
  };
  for (std::string line; std::getline(file, line);) {
    Area next;
    if (parse_header(line, next)) {
      use();
      if (next.begin >= end) return safe_to >= end;
      area = next;
    } else {
      parse_detail(line, area);
    }
  }
  use();
  return safe_to >= end;
}

}  // namespace manymeans
