// Files that are cut off while they are mapped, in a process that does not belong to the library, such as Python's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace manymeans {

/// Does what guard_mapped_files() of <manymeans/io.h> does while an object exists, for processes with another owner of
/// SIGBUS. The end of the last object restores the previous handler. Any thread may have one.
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

/// Memory that other code has mapped from a file, as numpy.memmap does. While the object lives, this memory counts as
/// memory of a file that the library has mapped.
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
