// Zip archives as numpy.savez writes them and numpy.load reads them.
#pragma once

#include "io/files/byte_buffer.h"
#include "io/files/output_file.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// Writes members one after the other, stored as they are, with checksums.
class ZipWriter {
 public:
  /// Sizes and offsets from `zip64_from` on, and as many members, are written in zip64 fields. Only tests change it.
  explicit ZipWriter(OutputFile& file, uint64_t zip64_from = 0xffffffff) : file_(file), zip64_from_(zip64_from) {}

  /// One member, made of two parts.
  void add(const std::string& name, std::string_view head, std::span<const std::byte> body);
  using Sink = std::function<void(std::span<const std::byte>)>;
  /// As above, for a body of `size` bytes. `produce` gives it to its sink twice, for the checksum comes before it.
  void add(const std::string& name, std::string_view head, uint64_t size,
           const std::function<void(const Sink&)>& produce);
  /// The directory at the end. The file is whole after it.
  void finish();

 private:
  struct Member {
    std::string name;
    uint32_t crc = 0;
    uint64_t size = 0;
    uint64_t offset = 0;
  };
  void put(std::string_view bytes);
  std::string directory_entry(const Member& member) const;

  OutputFile& file_;
  uint64_t zip64_from_;
  uint64_t written_ = 0;
  std::vector<Member> members_;
};

/// Reads members, stored or deflated. Throws Error(kBadData) naming `path` for whatever does not fit together.
class ZipReader {
 public:
  ZipReader(std::span<const std::byte> bytes, const std::string& path);

  bool has(const std::string& name) const { return members_.contains(name); }
  /// The names of all members, sorted.
  std::vector<std::string> names() const;
  /// The bytes of a member, its checksum checked. A packed member grows as it is inflated, whatever size the archive
  /// claims. Throws Error(kUnavailable) if there is not enough memory for that.
  std::vector<std::byte> read(const std::string& name) const;
  /// Inflates a packed member, for points: in a temporary file if `memory` (as in ReadOptions) asks for that.
  ByteBuffer inflate(const std::string& name, int64_t memory) const;
  /// A member's bytes in the archive as they are, its checksum checked; nothing if it is deflated. Pages of a file are
  /// given back where `memory` asks for that.
  std::optional<std::span<const std::byte>> in_place(const std::string& name, int64_t memory = 0) const;

 private:
  struct Member {
    uint16_t method = 0;
    uint32_t crc = 0;
    uint64_t packed_size = 0;
    uint64_t size = 0;
    uint64_t offset = 0;
  };
  struct Directory {
    uint64_t count = 0;
    uint64_t size = 0;
    uint64_t offset = 0;
  };
  Directory find_directory() const;
  size_t read_entry(size_t at);
  void read_zip64(std::span<const std::byte> extra, Member& member) const;
  const Member& find(const std::string& name) const;
  const Member& find_packed(const std::string& name) const;
  std::span<const std::byte> packed_bytes(const std::string& name, const Member& member) const;
  void check(const std::string& name, const Member& member, uint32_t crc) const;
  std::span<const std::byte> part(uint64_t offset, uint64_t size) const;
  template <class T>
  T number(uint64_t offset) const;
  [[noreturn]] void damaged(const std::string& what) const;

  std::span<const std::byte> bytes_;
  std::string path_;
  std::map<std::string, Member> members_;
  uint64_t packed_bytes_ = 0;  // of all members
};

}  // namespace manymeans
