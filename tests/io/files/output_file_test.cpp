#include "io/files/output_file.h"

#include "io/files.h"

#include <sys/stat.h>

namespace manymeans::test {
namespace {
namespace fs = std::filesystem;

using Names = std::vector<std::string>;

TEST(OutputFile, AppearsOnlyOnCommit) {
  const Folder folder;
  const std::string path = folder.file("out", "before");
  {
    OutputFile file(path);
    file.write("after");
    EXPECT_EQ(content_of(path), "before");
    file.commit();
  }
  EXPECT_EQ(content_of(path), "after");
  EXPECT_EQ(folder.names(), Names{"out"});
}

TEST(OutputFile, NothingIsLeftWithoutCommit) {
  const Folder folder;
  {
    OutputFile file(folder / "new");
    file.write(std::string(3 << 20, 'x'));
    const Names names = folder.names();  // where the file system can, not even one beside the target
    EXPECT_TRUE(names.empty() || (names.size() == 1 && names[0].starts_with(".manymeans-"))) << names[0];
  }
  EXPECT_EQ(folder.names(), Names{});
}

TEST(OutputFile, LargeAndSmallWritesInOrder) {
  const Folder folder;
  std::string expected;
  OutputFile file(folder / "out");
  for (const size_t size : {size_t{1}, size_t{1} << 20, size_t{5}, size_t{3} << 20, (size_t{1} << 20) - 1, size_t{2}}) {
    const std::string part(size, static_cast<char>('a' + size % 26));
    file.write(part);
    expected += part;
  }
  file.commit();
  EXPECT_TRUE(content_of(folder / "out") == expected);
}

TEST(OutputFile, FollowsLinksAndKeepsTheMode) {
  const Folder folder;
  fs::create_directory(folder / "sub");
  const std::string target = folder.file("sub/target", "before");
  ::chmod(target.c_str(), 0640);
  fs::create_symlink("sub/target", folder / "link");
  fs::create_symlink("sub/later", folder / "dangling");
  for (const char* name : {"link", "dangling"}) {
    OutputFile file(folder / name);
    file.write("after");
    file.commit();
    EXPECT_TRUE(fs::is_symlink(folder / name));
  }
  EXPECT_EQ(content_of(target), "after");
  EXPECT_EQ(content_of(folder / "sub/later"), "after");
  EXPECT_EQ(fs::status(target).permissions(), static_cast<fs::perms>(0640));
}

TEST(OutputFile, FullDisk) {
  expect_error(ErrorCode::kUnavailable, {"/dev/full", "No space left", "free some space"}, [] {
    OutputFile file("/dev/full");
    file.write("something");
    file.commit();
  });
  const std::vector<double> values(1000000, 1.5);
  expect_error(ErrorCode::kUnavailable, {"/dev/full"}, [&] { write_values("/dev/full", values, "x"); });
}

TEST(OutputFile, DevicesAreWrittenDirectly) {
  OutputFile file("/dev/null");
  file.write("something");
  file.commit();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(OutputFile, PathsThatCannotBeWritten) {
  const Folder folder;
  const std::string file = folder.file("file", "x");
  expect_error(ErrorCode::kUnavailable, {file + "/out", "folder is needed"}, [&] { check_writable(file + "/out"); });
  expect_error(ErrorCode::kUnavailable, {"missing/out", "create it first"},
               [&] { check_writable(folder / "missing/out"); });
  expect_error(ErrorCode::kUnavailable, {"this is a folder"}, [&] { check_writable(folder / ""); });
  expect_error(ErrorCode::kUnavailable, {"/proc/out"}, [&] { check_writable("/proc/out"); });
  expect_error(ErrorCode::kUsage, {"empty"}, [&] { check_writable(""); });
  check_writable(folder / "new");
  check_writable(file);
  EXPECT_EQ(content_of(file), "x");
  EXPECT_EQ(folder.names(), Names{"file"});
}

}  // namespace
}  // namespace manymeans::test
