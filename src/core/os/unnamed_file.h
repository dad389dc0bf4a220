// Open files and their names.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <ctime>
#include <string>

namespace manymeans {

/// Opens a new file without a name in this folder, like open(2). Always fails on other systems than Linux.
int open_unnamed(const std::string& folder, int access, mode_t mode);
/// Returns whether give_file_name() can name this file.
bool can_be_named(int file);
/// Gives this name to a file without one. Returns -1 with errno where that fails.
int give_file_name(int file, const std::string& name);

/// Opens a file that lies in memory on Linux, and in /tmp without a name elsewhere. Returns -1 with errno on failure.
int open_memory_file(const char* name);

/// Opens the file at the path for name_of_file() alone, without any right to read or write it.
int open_for_name(const std::string& path);
/// Returns the name of an open file without links in it; empty where the system does not know it.
std::string name_of_file(int file);

/// The folders where a file's name is the number of an open file of this process.
inline constexpr const char* kDescriptorFolders[] = {"/proc/self/fd", "/proc/thread-self/fd", "/dev/fd"};

/// Returns when the file was last written to.
inline timespec written_at(const struct stat& status) {
#if defined(__APPLE__)
  return status.st_mtimespec;
#else
  return status.st_mtim;
#endif
}

}  // namespace manymeans
