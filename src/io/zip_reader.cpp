#include <manymeans/error.h>

#include "io/zip_archive.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace manymeans {
namespace {

// Signatures as little-endian numbers, and sizes of the fixed parts.
constexpr uint32_t kLocal = 0x04034b50, kEntry = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint64_t kLocalSize = 30, kEntrySize = 46, kEndSize = 22, kLocatorSize = 20;
constexpr uint64_t kLongestComment = 0xffff;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint32_t kInZip64 = 0xffffffff;

// Deflate never packs more than 1032 bytes into one: larger claims are lies, found before memory is taken.
constexpr uint64_t kLargestRatio = 1032;

class RawInflater {
 public:
  RawInflater() {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~RawInflater() { inflateEnd(&stream_); }
  RawInflater(const RawInflater&) = delete;
  RawInflater& operator=(const RawInflater&) = delete;

  // Whether exactly `out` came out of all of `in`.
  bool run(std::span<const std::byte> in, std::span<std::byte> out) {
    constexpr size_t kMost = std::numeric_limits<uInt>::max();
    size_t taken = 0, made = 0;
    for (int code = Z_OK; code != Z_STREAM_END;) {
      if (code == Z_MEM_ERROR) throw std::bad_alloc();
      if (code != Z_OK) return false;
      const size_t given = std::min(kMost, in.size() - taken);
      const size_t room = std::min(kMost, out.size() - made);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data() + taken));
      stream_.avail_in = static_cast<uInt>(given);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + made);
      stream_.avail_out = static_cast<uInt>(room);
      code = inflate(&stream_, Z_NO_FLUSH);
      taken += given - stream_.avail_in;
      made += room - stream_.avail_out;
    }
    return made == out.size() && taken == in.size();
  }

 private:
  z_stream stream_{};
};

}  // namespace

void ZipReader::damaged(const std::string& what) const {
  throw Error(ErrorCode::kBadData, path_, what + "; a whole .npz file is needed");
}

std::span<const std::byte> ZipReader::part(uint64_t offset, uint64_t size) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset) {
    damaged(fmt::format("the archive is cut off: {} bytes from byte {} on are needed, the file has {}", size, offset,
                        bytes_.size()));
  }
  return bytes_.subspan(offset, size);
}

template <class T>
T ZipReader::number(uint64_t offset) const {
  T value;
  std::memcpy(&value, part(offset, sizeof(T)).data(), sizeof(T));
  return value;
}

ZipReader::ZipReader(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), path_(path) {
  const Directory directory = find_directory();
  (void)part(directory.offset, directory.size);
  size_t at = directory.offset;
  for (uint64_t i = 0; i < directory.count; ++i) at = read_entry(at);
}

// The end record is followed by a comment of unknown length, so it is searched from the end.
ZipReader::Directory ZipReader::find_directory() const {
  const uint64_t size = bytes_.size();
  for (uint64_t back = kEndSize; back <= std::min(size, kEndSize + kLongestComment); ++back) {
    const uint64_t at = size - back;
    if (number<uint32_t>(at) != kEnd || number<uint16_t>(at + 20) != back - kEndSize) continue;
    const bool zip64 = at >= kLocatorSize && number<uint32_t>(at - kLocatorSize) == kLocator64;
    if (!zip64) return {number<uint16_t>(at + 10), number<uint32_t>(at + 12), number<uint32_t>(at + 16)};
    const auto record = number<uint64_t>(at - kLocatorSize + 8);
    if (number<uint32_t>(record) != kEnd64) damaged("the zip64 directory is not where the archive says it is");
    return {number<uint64_t>(record + 32), number<uint64_t>(record + 40), number<uint64_t>(record + 48)};
  }
  damaged("this is not a whole zip archive: its directory is missing");
}

size_t ZipReader::read_entry(size_t at) {
  if (number<uint32_t>(at) != kEntry) damaged(fmt::format("the directory of the archive is damaged at byte {}", at));
  Member member;
  member.method = number<uint16_t>(at + 10);
  member.crc = number<uint32_t>(at + 16);
  member.packed_size = number<uint32_t>(at + 20);
  member.size = number<uint32_t>(at + 24);
  member.offset = number<uint32_t>(at + 42);
  const uint64_t name_size = number<uint16_t>(at + 28);
  const uint64_t extra_size = number<uint16_t>(at + 30);
  const uint64_t comment_size = number<uint16_t>(at + 32);
  const auto name = part(at + kEntrySize, name_size);
  read_zip64(part(at + kEntrySize + name_size, extra_size), member);
  members_[std::string(reinterpret_cast<const char*>(name.data()), name.size())] = member;
  return at + kEntrySize + name_size + extra_size + comment_size;
}

// The zip64 field holds, in this order, only those values that did not fit their places.
void ZipReader::read_zip64(std::span<const std::byte> extra, Member& member) const {
  const auto take = [&](auto& value) {
    if (extra.size() < sizeof value) damaged("a zip64 field is too short");
    std::memcpy(&value, extra.data(), sizeof value);
    extra = extra.subspan(sizeof value);
  };
  while (extra.size() >= 4) {
    uint16_t id = 0, size = 0;
    take(id);
    take(size);
    if (size > extra.size()) damaged("an extra field is longer than its record");
    if (id == 1) {
      for (uint64_t* value : {&member.size, &member.packed_size, &member.offset}) {
        if (*value == kInZip64) take(*value);
      }
      return;
    }
    extra = extra.subspan(size);
  }
}

std::vector<std::string> ZipReader::names() const {
  std::vector<std::string> result;
  for (const auto& [name, member] : members_) result.push_back(name);
  return result;
}

const ZipReader::Member& ZipReader::find(const std::string& name) const {
  const auto found = members_.find(name);
  if (found == members_.end()) damaged("the archive has no member '" + name + "'");
  return found->second;
}

std::span<const std::byte> ZipReader::packed_bytes(const std::string& name, const Member& member) const {
  if (number<uint32_t>(member.offset) != kLocal) damaged("member '" + name + "' is not where the archive says it is");
  const uint64_t names = uint64_t{number<uint16_t>(member.offset + 26)} + number<uint16_t>(member.offset + 28);
  return part(member.offset + kLocalSize + names, member.packed_size);
}

void ZipReader::check(const std::string& name, const Member& member, std::span<const std::byte> bytes) const {
  const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (crc != member.crc) damaged("the checksum of member '" + name + "' is wrong: the file was changed or damaged");
}

std::optional<std::span<const std::byte>> ZipReader::in_place(const std::string& name) const {
  const Member& member = find(name);
  if (member.method != kStored) return std::nullopt;
  if (member.size != member.packed_size) damaged("member '" + name + "' has two different sizes");
  const auto bytes = packed_bytes(name, member);
  check(name, member, bytes);
  return bytes;
}

std::vector<std::byte> ZipReader::read(const std::string& name) const {
  if (const auto stored = in_place(name)) return {stored->begin(), stored->end()};
  const Member& member = find(name);
  const auto packed = packed_bytes(name, member);
  if (member.method != kDeflated) {
    damaged(
        fmt::format("member '{}' is packed by method {}; stored and deflated ones can be read", name, member.method));
  }
  if (member.size / kLargestRatio > member.packed_size) damaged("member '" + name + "' lies about its size");
  std::vector<std::byte> result(member.size);
  if (!RawInflater().run(packed, result)) damaged("member '" + name + "' cannot be inflated to the size it gives");
  check(name, member, result);
  return result;
}

}  // namespace manymeans
