#include "io/zip_archive.h"

#include "io/files.h"

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

}  // namespace
}  // namespace manymeans::test
