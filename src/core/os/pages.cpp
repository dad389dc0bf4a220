#include "core/os/pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace manymeans {
namespace {

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

void want_huge_pages([[maybe_unused]] const void* data, [[maybe_unused]] size_t bytes) noexcept {
#if defined(__linux__)
  advise(data, bytes, MADV_HUGEPAGE);
#endif
}

void map_small_pages([[maybe_unused]] const void* data, [[maybe_unused]] size_t bytes) noexcept {
#if defined(__linux__)
  advise(data, bytes, MADV_NOHUGEPAGE);
#endif
}

void fetch_ahead(const void* data, size_t bytes) noexcept {
  advise(data, bytes, MADV_WILLNEED);
}

int take_space(int file, size_t bytes) {
  const auto size = static_cast<off_t>(bytes);
#if defined(__APPLE__)
  struct stat status {};
  if (::fstat(file, &status) != 0) return errno;
  fstore_t space{F_ALLOCATEALL, F_PEOFPOSMODE, 0, size - status.st_size, 0};
  return ::fcntl(file, F_PREALLOCATE, &space) == 0 && ::ftruncate(file, size) == 0 ? 0 : errno;
#else
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(file, 0, size);
  return error;
#endif
}

void* remap_file([[maybe_unused]] int file, void* data, size_t size, size_t new_size) {
#if defined(__linux__)
  return ::mremap(data, size, new_size, MREMAP_MAYMOVE);
#else
  void* const moved = ::mmap(nullptr, new_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (moved != MAP_FAILED) ::munmap(data, size);
  return moved;
#endif
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
