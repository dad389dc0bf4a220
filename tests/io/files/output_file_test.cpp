#include "io/files/output_file.h"

#include "io/files.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

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

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST(OutputFile, NoSetUserIdBits) {
  const Folder folder;
  const auto replaced = [&](mode_t mode, uid_t owner, gid_t group) {
    const std::string path = folder.file("out", "before");
    EXPECT_EQ(::chown(path.c_str(), owner, group), 0);
    ::chmod(path.c_str(), mode);
    write_text(path, "after");
    EXPECT_EQ(content_of(path), "after");
    return mode_of(path);
  };
  for (const mode_t special : {04000, 02000, 01000, 07000}) {
    EXPECT_EQ(replaced(special | 0755, ::geteuid(), ::getegid()), 0755u);
  }
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const mode_t usual = mode_of(folder.file("new", ""));
  for (const mode_t mode : {04777, 06777, 0600}) EXPECT_EQ(replaced(mode, 1, 0), usual) << "another owner";
  EXPECT_EQ(replaced(02660, 0, 1), 0660u);
  struct stat status {};
  ::stat((folder / "out").c_str(), &status);
  EXPECT_EQ(status.st_gid, 1u) << "the permissions of a group stay with it";
}

// On this file system, links can be read but the system follows none: what follows them by itself would write.
TEST(OutputFile, OnlyTheSystemFollowsLinks) {
  constexpr unsigned long kNoLinks = 256;  // MS_NOSYMFOLLOW
  const Folder folder;
  const auto written = [&] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", (folder / "").c_str(), "tmpfs", kNoLinks, nullptr) != 0) {
      ::_exit(2);
    }
    folder.file("target", "before");
    int refused = 0;
    for (const char* to : {"target", "nowhere"}) {
      fs::remove(folder / "link");
      fs::create_symlink(to, folder / "link");
      for (const auto& use : {+[](const std::string& path) { check_writable(path); },
                              +[](const std::string& path) { write_text(path, "after"); }}) {
        try {
          use(folder / "link");
        } catch (const Error& error) {
          refused += error.code() == ErrorCode::kUnavailable;
        }
      }
    }
    ::_exit(refused == 4 && content_of(folder / "target") == "before" && !fs::exists(folder / "nowhere") ? 0 : 1);
  };
  if (::geteuid() != 0) GTEST_SKIP() << "only root can mount";
  EXPECT_EXIT(written(), testing::ExitedWithCode(0), "");
}

// The folder in which the result will be is the one that the system has found.
TEST(OutputFile, ChainsOfLinks) {
  const Folder folder;
  fs::create_directories(folder / "a/b");
  fs::create_directory_symlink("a/b", folder / "there");
  fs::create_symlink("../../last", folder / "a/b/second");
  fs::create_symlink("there/second", folder / "first");
  for (const char* text : {"made", "replaced"}) {
    check_writable(folder / "first");
    EXPECT_EQ(fs::exists(folder / "last"), std::string(text) == "replaced") << "a check leaves nothing";
    write_text(folder / "first", text);
    EXPECT_EQ(content_of(folder / "last"), text);
    EXPECT_TRUE(fs::is_symlink(folder / "first") && fs::is_symlink(folder / "a/b/second"));
  }
  EXPECT_EQ(folder.names().size(), 4u);
  fs::create_symlink("loop", folder / "loop");
  fs::create_symlink("missing/out", folder / "lost");
  for (const char* name : {"loop", "lost"}) {
    expect_error(ErrorCode::kUnavailable, {name}, [&] { check_writable(folder / name); });
  }
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
