// The bytes of an input file, mapped where that is possible. mapped_file.cpp defines nothing else: the fuzzers put
// tests/fuzz/memory_file.cpp in its place.
#pragma once

#include "io/files/byte_buffer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace manymeans {

/// How the bytes will be read: a hint to the system.
enum class Access { kOnce, kAgainAndAgain };

class InputFile;
class MappedRange;

/// A file's bytes. Regular files are mapped, so nothing is copied; pipes are read to their end.
class MappedFile {
 public:
  static constexpr std::string_view kStandardInput = "-";

  /// "-" is standard input. The bytes of a pipe go to a temporary file if `memory` (as in ReadOptions) asks for that.
  /// Throws Error(kBadData) that names the path: missing, unreadable, a folder, a device, or empty.
  static std::shared_ptr<const MappedFile> open(const std::string& path, Access access, int64_t memory = 0);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Returns true if a further open() of the path gives these bytes, too: not those from a pipe.
  bool opens_again() const { return mapping_ != nullptr; }
  /// Returns true if the bytes of a pipe are in a temporary file.
  bool in_temporary_file() const { return read_.in_file(); }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  MappedFile() = default;
  void map(int file, size_t size, const std::string& path, Access access);
  void read_all(const InputFile& file);

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  void* mapping_ = nullptr;             // what to unmap
  std::shared_ptr<MappedRange> range_;  // notices when that file changes
  ByteBuffer read_;                     // what was read instead
};

}  // namespace manymeans
