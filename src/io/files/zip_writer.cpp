// Layout of the records: PKWARE APPNOTE 6.3, sections 4.3 to 4.5.
#include "io/files/zip_archive.h"

#include <zlib.h>

#include <algorithm>

namespace manymeans {
namespace {

constexpr uint16_t kVersion = 20, kVersionZip64 = 45;
constexpr uint16_t kUtf8Names = 0x800;
constexpr uint16_t kDate = 0x21;  // 1980-01-01: the same content gives the same bytes on any day
constexpr uint16_t kZip64Extra = 1;

template <class T>
void append(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i));
}

uint32_t crc_of(uint32_t crc, const void* data, size_t size) {
  if (size == 0) return crc;  // an empty span may be a null pointer, which zlib takes for "begin anew"
  return static_cast<uint32_t>(crc32_z(crc, static_cast<const Bytef*>(data), size));
}

// The value of a 32-bit or 16-bit field; all ones if the zip64 field has it.
uint32_t short_size(uint64_t value, bool zip64) {
  return zip64 ? 0xffffffff : static_cast<uint32_t>(value);
}

// The fields that a local header and a directory entry share. Both have also the sizes in 64 bits.
void append_common(std::string& out, uint32_t crc, uint64_t size, size_t name_size, size_t extra_size) {
  const bool zip64 = extra_size > 0;
  append<uint16_t>(out, zip64 ? kVersionZip64 : kVersion);
  append<uint16_t>(out, kUtf8Names);
  append<uint16_t>(out, 0);  // stored
  append<uint16_t>(out, 0);  // time
  append<uint16_t>(out, kDate);
  append<uint32_t>(out, crc);
  append<uint32_t>(out, short_size(size, zip64));
  append<uint32_t>(out, short_size(size, zip64));
  append<uint16_t>(out, static_cast<uint16_t>(name_size));
  append<uint16_t>(out, static_cast<uint16_t>(extra_size));
}

}  // namespace

void ZipWriter::put(std::string_view bytes) {
  file_.write(bytes);
  written_ += bytes.size();
}

void ZipWriter::add(const std::string& name, std::string_view head, std::span<const std::byte> body) {
  add(name, head, body.size(), [&](const Sink& sink) { sink(body); });
}

void ZipWriter::add(const std::string& name, std::string_view head, uint64_t size,
                    const std::function<void(const Sink&)>& produce) {
  Member member{name, crc_of(0, head.data(), head.size()), head.size() + size, written_};
  produce([&](std::span<const std::byte> part) { member.crc = crc_of(member.crc, part.data(), part.size()); });
  const bool zip64 = member.size >= zip64_from_;
  std::string header = "PK\x03\x04";
  append_common(header, member.crc, member.size, name.size(), zip64 ? 20 : 0);
  header += name;
  if (zip64) {
    append<uint16_t>(header, kZip64Extra);
    append<uint16_t>(header, 16);
    append<uint64_t>(header, member.size);
    append<uint64_t>(header, member.size);
  }
  put(header);
  put(head);
  produce([&](std::span<const std::byte> part) { file_.write(part); });
  written_ += size;
  members_.push_back(std::move(member));
}

std::string ZipWriter::directory_entry(const Member& member) const {
  const bool zip64 = std::max(member.size, member.offset) >= zip64_from_;
  std::string entry = "PK\x01\x02";
  append<uint16_t>(entry, 3 << 8 | kVersionZip64);  // made on Unix
  append_common(entry, member.crc, member.size, member.name.size(), zip64 ? 28 : 0);
  append<uint16_t>(entry, 0);  // comment
  append<uint16_t>(entry, 0);  // disk
  append<uint16_t>(entry, 0);  // internal attributes
  append<uint32_t>(entry, 0100644u << 16);
  append<uint32_t>(entry, short_size(member.offset, zip64));
  entry += member.name;
  if (zip64) {
    append<uint16_t>(entry, kZip64Extra);
    append<uint16_t>(entry, 24);
    append<uint64_t>(entry, member.size);
    append<uint64_t>(entry, member.size);
    append<uint64_t>(entry, member.offset);
  }
  return entry;
}

void ZipWriter::finish() {
  const uint64_t start = written_;
  for (const Member& member : members_) put(directory_entry(member));
  const uint64_t size = written_ - start;
  const uint64_t count = members_.size();
  const bool zip64 = std::max({start, size, count}) >= zip64_from_ || count >= 0xffff;
  std::string end;
  if (zip64) {
    end = "PK\x06\x06";
    append<uint64_t>(end, 44);  // bytes that follow in this record
    append<uint16_t>(end, 3 << 8 | kVersionZip64);
    append<uint16_t>(end, kVersionZip64);
    append<uint32_t>(end, 0);
    append<uint32_t>(end, 0);
    for (const uint64_t value : {count, count, size, start}) append(end, value);
    end += "PK\x06\x07";  // the locator of that record
    append<uint32_t>(end, 0);
    append<uint64_t>(end, written_);
    append<uint32_t>(end, 1);
  }
  end += "PK\x05\x06";
  append<uint32_t>(end, 0);
  append<uint16_t>(end, static_cast<uint16_t>(zip64 ? 0xffff : count));
  append<uint16_t>(end, static_cast<uint16_t>(zip64 ? 0xffff : count));
  append<uint32_t>(end, short_size(size, zip64));
  append<uint32_t>(end, short_size(start, zip64));
  append<uint16_t>(end, 0);
  put(end);
}

}  // namespace manymeans
