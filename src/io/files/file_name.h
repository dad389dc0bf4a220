// The meaning of a path before it is written to: where it leads, and whether two of them will be one file.
#pragma once

#include <sys/types.h>

#include <string>

namespace manymeans {

/// Where the names of links lead: for comparing paths. Files are opened by their own paths, as only the system may
/// follow links.
struct WriteTarget {
  std::string path;     ///< symbolic links followed, also the last one that leads to a file that is not there yet
  int descriptor = -1;  ///< of this process, where that is what the path means: /dev/stdout, /dev/fd/3, /proc/self/fd/3
};
WriteTarget find_target(const std::string& path);

/// The file at a path, or the one that would be made there. Two are equal if and only if both paths lead to one file,
/// by whatever links, mounts, "." and "..".
class FileIdentity {
 public:
  /// Throws Error(kUsage) for a path that holds a zero byte.
  explicit FileIdentity(const std::string& path);
  bool operator==(const FileIdentity& other) const {
    return device_ == other.device_ && number_ == other.number_ && rest_ == other.rest_;
  }
  /// Returns true if two outputs here lose something: not so for terminals, /dev/null and sockets.
  bool holds_one_stream() const;

 private:
  bool take(const std::string& path);

  dev_t device_ = 0;  // of the file, or of the lowest folder above it that is there
  ino_t number_ = 0;  // likewise
  mode_t mode_ = 0;   // of the file; 0: not there
  std::string rest_;  // of the path, below that folder
};

}  // namespace manymeans
