#include "io/files/zip_archive.h"

#include "io/files.h"

#include <cstring>
#include <map>

namespace manymeans::test {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const std::map<std::string, std::string> kMembers = {{"a", "alpha"}, {"empty", ""}, {"z", std::string(3000000, 'z')}};

std::string archive(const Folder& folder, uint64_t zip64_from = 0xffffffff) {
  OutputFile file(folder / "a.zip");
  ZipWriter zip(file, zip64_from);
  for (const auto& [name, text] : kMembers)
    zip.add(name, text.substr(0, 2), bytes_of(text).subspan(std::min<size_t>(2, text.size())));
  zip.finish();
  file.commit();
  return content_of(folder / "a.zip");
}

void expect_members(const std::string& bytes) {
  const ZipReader zip(bytes_of(bytes), "a.zip");
  for (const auto& [name, text] : kMembers) EXPECT_TRUE(text_of(zip.read(name)) == text) << name;
  EXPECT_FALSE(zip.has("b"));
  expect_error(ErrorCode::kBadData, {"a.zip", "'b'"}, [&] { zip.read("b"); });
}

TEST(ZipArchive, RoundTrip) {
  const Folder folder;
  expect_members(archive(folder));
  expect_members(archive(folder) + "");
}

TEST(ZipArchive, Zip64) {
  const Folder folder;
  for (const uint64_t from : {uint64_t{0}, uint64_t{3}, uint64_t{100}, uint64_t{1000000}})
    expect_members(archive(folder, from));
  EXPECT_GT(archive(folder, 0).size(), archive(folder).size());
}

TEST(ZipArchive, ManyMembers) {
  const Folder folder;
  constexpr int kCount = 70000;  // more than 16 bits count
  OutputFile file(folder / "many.zip");
  ZipWriter zip(file);
  for (int i = 0; i < kCount; ++i) zip.add(std::to_string(i), "x", {});
  zip.finish();
  file.commit();
  const std::string bytes = content_of(folder / "many.zip");
  const ZipReader reader(bytes_of(bytes), "many.zip");
  EXPECT_EQ(text_of(reader.read(std::to_string(kCount - 1))), "x");
}

TEST(ZipArchive, CutOffAnywhere) {
  const Folder folder;
  const std::string whole = archive(folder);
  for (size_t size = 0; size < whole.size(); size += size < whole.size() - 300 ? 99991 : 1) {
    expect_error(ErrorCode::kBadData, {"a.zip"}, [&] { ZipReader(bytes_of(whole).first(size), "a.zip"); });
  }
}

TEST(ZipArchive, DamagedContent) {
  const Folder folder;
  std::string bytes = archive(folder);
  bytes[bytes.find("alpha")] = 'A';
  const ZipReader zip(bytes_of(bytes), "a.zip");
  expect_error(ErrorCode::kBadData, {"checksum", "'a'"}, [&] { zip.read("a"); });
}

// Any byte of the records changed: an error or the members, never a crash or a wrong content.
TEST(ZipArchive, DamagedRecordsAreNoCrash) {
  const Folder folder;
  for (const uint64_t from : {uint64_t{0xffffffff}, uint64_t{0}}) {
    const std::string good = archive(folder, from);
    for (size_t at = good.size() - 400; at < good.size(); ++at) {
      for (const char c : {'\0', '\x01', '\x7f', '\xff'}) {
        std::string bytes = good;
        bytes[at] = c;
        try {
          const ZipReader zip(bytes_of(bytes), "a.zip");
          for (const auto& [name, text] : kMembers) {
            EXPECT_TRUE(!zip.has(name) || text_of(zip.read(name)) == text);
          }
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kBadData);
        }
      }
    }
  }
}

// An archive of one deflated member, whose size is told as `size`.
std::string deflated(const std::string& content, uint32_t size) {
  std::string packed = gzipped(content);
  packed = packed.substr(10, packed.size() - 18);  // without the header and the end of gzip
  const auto crc = static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
  const auto number = [](auto value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  const auto small = static_cast<uint32_t>(packed.size());
  const std::string common = number(uint16_t{20}) + number(uint16_t{0}) + number(uint16_t{8}) + number(uint32_t{0}) +
                             number(crc) + number(small) + number(size) + number(uint16_t{1}) + number(uint16_t{0});
  const std::string local = "PK\3\4" + common + "a" + packed;
  const std::string entry = "PK\1\2" + number(uint16_t{20}) + common + std::string(14, '\0') + "a";
  return local + entry + "PK\5\6" + std::string(4, '\0') + number(uint16_t{1}) + number(uint16_t{1}) +
         number(static_cast<uint32_t>(entry.size())) + number(static_cast<uint32_t>(local.size())) +
         number(uint16_t{0});
}

TEST(ZipArchive, DeflatedMembersOfAnySize) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{70000}, size_t{9} << 20}) {
    std::string content(size, 'x');
    for (size_t i = 0; i < size; i += 997) content[i] = static_cast<char>(i * 31 / 7);
    const std::string bytes = deflated(content, static_cast<uint32_t>(size));
    const ZipReader zip(bytes_of(bytes), "a.zip");
    EXPECT_TRUE(text_of(zip.read("a")) == content) << size;
    for (const int64_t memory : {int64_t{0}, int64_t{1000}}) {  // the second: in a file
      const ByteBuffer inflated = zip.inflate("a", memory);
      EXPECT_TRUE(inflated.text() == content) << size;
      EXPECT_EQ(inflated.in_file(), memory > 0 && size > 62);
    }
  }
}

// A size is a claim: what is too small, too large or impossible is an error before memory is taken for it.
TEST(ZipArchive, SizesThatLie) {
  const std::string content(5000, 'x');
  for (const uint32_t size : {0u, 1u, 4999u, 5001u, 20000u, 0xfffffff0u}) {
    const std::string bytes = deflated(content, size);
    const ZipReader zip(bytes_of(bytes), "a.zip");
    expect_error(ErrorCode::kBadData, {"a.zip", "'a'"}, [&] { zip.read("a"); });
    expect_error(ErrorCode::kBadData, {"a.zip", "'a'"}, [&] { zip.inflate("a", 0); });
  }
}

// Two entries of the directory for the same bytes: a few kilobytes of entries could stand for any number of bytes.
TEST(ZipArchive, MembersThatShareTheirBytes) {
  const Folder folder;
  std::string bytes = archive(folder);
  const size_t at = bytes.find("PK\1\2");
  const size_t end = bytes.rfind("PK\5\6");
  const std::string directory = bytes.substr(at, end - at);
  uint16_t count = 0;
  uint32_t size = 0;
  std::memcpy(&count, bytes.data() + end + 10, sizeof count);
  std::memcpy(&size, bytes.data() + end + 12, sizeof size);
  bytes.insert(end, directory);
  count = static_cast<uint16_t>(2 * count);
  size *= 2;
  std::memcpy(bytes.data() + end + directory.size() + 10, &count, sizeof count);
  std::memcpy(bytes.data() + end + directory.size() + 12, &size, sizeof size);
  expect_error(ErrorCode::kBadData, {"a.zip", "more bytes than the file"},
               [&] { ZipReader(bytes_of(bytes), "a.zip"); });
}

}  // namespace
}  // namespace manymeans::test
