#include "core/file_memory.h"

#include <manymeans/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace manymeans {
namespace {

// A page that is touched brings up to 16 neighbours with it (fault-around).
constexpr size_t kAround = size_t{64} << 10;

// Closes on every way out.
struct Descriptor {
  explicit Descriptor(int opened) : file(opened) {}
  ~Descriptor() {
    if (file >= 0) ::close(file);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int file;
};

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

// One entry of /proc/self/smaps.
struct Area {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool writable = false;
  bool shared = false;
  bool file = false;
  bool own_pages = false;  // pages that are no longer those of the file
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
  const std::string folder = temporary_folder();
  const Descriptor open(open_temporary(folder));
  if (open.file < 0) fail(folder, bytes, errno);
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(open.file, 0, static_cast<off_t>(bytes));
  if (error != 0) fail(folder, bytes, error);
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, open.file, 0);
  if (data == MAP_FAILED) fail(folder, bytes, errno);
  return static_cast<std::byte*>(data);
}

void unmap_temporary(std::byte* data, size_t bytes) noexcept {
  ::munmap(data, bytes);
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

void fetch_ahead(const void* data, size_t bytes) noexcept {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t from = reinterpret_cast<uintptr_t>(data) / page * page;
  ::madvise(reinterpret_cast<void*>(from), reinterpret_cast<uintptr_t>(data) + bytes - from, MADV_WILLNEED);
}

bool lies_in_file(const void* data, size_t bytes) {
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
  return bytes > 0 && safe_to >= end;
}

}  // namespace manymeans
