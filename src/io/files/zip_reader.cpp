#include <manymeans/error.h>

#include "core/memory.h"
#include "io/files/zip_archive.h"

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

  // Returns true if exactly `size` bytes came out of all of `in`. `out` grows with what comes: a size is but a claim.
  bool run(std::span<const std::byte> in, uint64_t size, ByteBuffer& out, int64_t memory) {
    constexpr size_t kBlock = size_t{4} << 20;
    size_t taken = 0, made = 0;
    const bool gives_back = memory > 0 && memory < INT64_MAX && lies_in_file(in.data(), in.size());
    out.resize(0);  // zlib requires an address, also for no bytes
    for (int code = Z_OK; code != Z_STREAM_END;) {
      if (made == out.size() && made < size) out.resize(std::min<uint64_t>(size, std::max(kBlock, made + made / 2)));
      const size_t given = std::min(kBlock, in.size() - taken);
      const size_t room = std::min(kBlock, out.size() - made);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data() + taken));
      stream_.avail_in = static_cast<uInt>(given);
      auto* const to = reinterpret_cast<Bytef*>(out.data() + made);
      stream_.next_out = to;
      stream_.avail_out = static_cast<uInt>(room);
      code = inflate(&stream_, Z_NO_FLUSH);
      if (gives_back) give_back(in.data(), in.size(), taken, given - stream_.avail_in);
      if (code == Z_MEM_ERROR) throw std::bad_alloc();
      if (code != Z_OK && code != Z_STREAM_END) return false;  // damaged, more than `size`, or cut off
      taken += given - stream_.avail_in;
      const size_t count = room - stream_.avail_out;
      crc_ = static_cast<uint32_t>(crc32_z(crc_, to, count));
      out.give_back(made, count);
      made += count;
    }
    out.resize(made);
    return made == size && taken == in.size();
  }
  uint32_t crc() const { return crc_; }

 private:
  z_stream stream_{};
  uint32_t crc_ = 0;
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
  // Members that share bytes would be more in memory than the file has.
  if (__builtin_add_overflow(packed_bytes_, member.packed_size, &packed_bytes_) || packed_bytes_ > bytes_.size()) {
    damaged("the members of the archive have more bytes than the file");
  }
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

void ZipReader::check(const std::string& name, const Member& member, uint32_t crc) const {
  if (crc != member.crc) damaged("the checksum of member '" + name + "' is wrong: the file was changed or damaged");
}

std::optional<std::span<const std::byte>> ZipReader::in_place(const std::string& name, int64_t memory) const {
  const Member& member = find(name);
  if (member.method != kStored) return std::nullopt;
  if (member.size != member.packed_size) damaged("member '" + name + "' has two different sizes");
  const auto bytes = packed_bytes(name, member);
  constexpr size_t kBlock = size_t{4} << 20;
  const bool gives_back = storage_for(static_cast<int64_t>(bytes.size()), memory) == Storage::kFile &&
                          lies_in_file(bytes.data(), bytes.size());
  uLong crc = 0;
  for (size_t at = 0; at < bytes.size(); at += kBlock) {
    const size_t count = std::min(kBlock, bytes.size() - at);
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data() + at), count);
    if (gives_back) give_back(bytes.data(), bytes.size(), at, count);
  }
  check(name, member, static_cast<uint32_t>(crc));
  return bytes;
}

const ZipReader::Member& ZipReader::find_packed(const std::string& name) const {
  const Member& member = find(name);
  if (member.method != kDeflated) {
    damaged(
        fmt::format("member '{}' is packed by method {}; stored and deflated ones can be read", name, member.method));
  }
  if (member.size / kLargestRatio > member.packed_size) damaged("member '" + name + "' lies about its size");
  return member;
}

ByteBuffer ZipReader::inflate(const std::string& name, int64_t memory) const {
  const Member& member = find_packed(name);
  const auto packed = packed_bytes(name, member);
  ByteBuffer result(memory);
  RawInflater inflater;
  if (!inflater.run(packed, member.size, result, memory)) {
    damaged("member '" + name + "' cannot be inflated to the size it gives");
  }
  check(name, member, inflater.crc());
  return result;
}

std::vector<std::byte> ZipReader::read(const std::string& name) const {
  if (const auto stored = in_place(name)) return {stored->begin(), stored->end()};
  constexpr uint64_t kFew = uint64_t{1} << 20;
  const uint64_t size = find_packed(name).size;
  const auto left = static_cast<uint64_t>(size > kFew / 2 ? available_memory() : INT64_MAX);
  if (size > left / 2) {  // a buffer and the result
    throw Error(ErrorCode::kUnavailable, path_,
                fmt::format("member '{}' has {} MiB, and {} MiB of memory are left; twice its size is needed", name,
                            (size >> 20) + 1, left >> 20));
  }
  const ByteBuffer inflated = inflate(name, INT64_MAX);
  const auto bytes = std::as_bytes(std::span(inflated.text().data(), inflated.size()));
  return {bytes.begin(), bytes.end()};
}

}  // namespace manymeans
