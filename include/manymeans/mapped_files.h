// Files that are cut off while they are mapped, in a process that does not belong to the library, such as Python's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace manymeans {

/// What guard_mapped_files() of <manymeans/io.h> does, as long as there is such an object, for processes in which
/// SIGBUS is somebody else's: the handler that was there comes back with the end of the last one. Any thread may have
/// one.
class GuardedFiles {
 public:
  GuardedFiles();
  ~GuardedFiles();
  GuardedFiles(const GuardedFiles&) = delete;
  GuardedFiles& operator=(const GuardedFiles&) = delete;

  /// Throws Error(kBadData) where a page was lost since the object was made, of whatever was read.
  void check() const;

 private:
  int64_t lost_;
};

class MappedRange;

/// Memory that somebody else has mapped from a file, as numpy.memmap does: while the object lives, this memory counts
/// as that of a file that the library has mapped.
class ForeignMapping {
 public:
  ForeignMapping(const void* data, size_t bytes);
  ~ForeignMapping();
  ForeignMapping(const ForeignMapping&) = delete;
  ForeignMapping& operator=(const ForeignMapping&) = delete;

  /// Throws Error(kBadData) where a page was lost: zeros are in its place for as long as the mapping lives.
  void check() const;

 private:
  std::unique_ptr<MappedRange> range_;
};

}  // namespace manymeans
