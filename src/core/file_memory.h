// Memory that lies in files. Its pages can be given back to the system at any time without losing anything: they are
// read again when they are needed.
#pragma once

#include "core/os/pages.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace manymeans {

/// Where an array lies.
enum class Storage : uint8_t {
  kMemory,
  kFile,  ///< a file without a name, in temporary_folder(); gone with the array, however the program ends
};

/// $TMPDIR, else /var/tmp (a folder for large files, on a disk), else /tmp.
std::string temporary_folder();

/// `bytes` zeros in a file without a name. All of the disk space is taken now: a full disk is Error(kUnavailable,
/// "memory") here, never a signal later.
std::byte* map_temporary(size_t bytes);
void unmap_temporary(std::byte* data, size_t bytes) noexcept;

/// Bytes of such a file with a size that changes: old bytes stay, new bytes are zero.
class TemporaryBytes {
 public:
  TemporaryBytes() = default;
  ~TemporaryBytes();
  TemporaryBytes(const TemporaryBytes&) = delete;
  TemporaryBytes& operator=(const TemporaryBytes&) = delete;
  TemporaryBytes(TemporaryBytes&& other) noexcept;
  TemporaryBytes& operator=(TemporaryBytes&& other) noexcept;

  void resize(size_t size);
  /// The bytes stay mapped until unmap_temporary().
  std::byte* release() { return std::exchange(data_, nullptr); }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  int file_ = -1;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// Where a copy of this many bytes belongs. `limit`: what may be held in memory altogether; 0: the caller has said
/// nothing, and only what is more than half of the available memory goes to a file.
Storage storage_for(int64_t bytes, int64_t limit);

/// Frees the pages of [first, first + bytes), and some neighbours within [begin, begin + size): the system maps those
/// around a touched page. All of it must lie in a file.
void give_back(const void* begin, size_t size, size_t first, size_t bytes) noexcept;

}  // namespace manymeans
