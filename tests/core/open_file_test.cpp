// Files are of the kind that their reader expects, or an error at once.
#include "core/open_file.h"

#include "io/files.h"

#include <sys/stat.h>

namespace manymeans::test {
namespace {

TEST(SmallFile, Whole) {
  const Folder folder;
  EXPECT_EQ(read_small_file(folder.file("empty", ""), 10), "");
  const std::string text(10000, 'x');
  EXPECT_TRUE(read_small_file(folder.file("long", text), 10000) == text);
  expect_error(ErrorCode::kBadData, {"long", "more than 9999 bytes"}, [&] { read_small_file(folder / "long", 9999); });
  EXPECT_FALSE(read_small_file("/proc/self/status", 1 << 20).empty());  // the system tells no size of it
}

// None of these is opened: a pipe would wait for a writer for ever, and a device need not end.
TEST(SmallFile, OtherKinds) {
  const Folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const auto refused = [](const std::string& path, const std::string& why) {
    expect_error(ErrorCode::kBadData, {path, why}, [&] { read_small_file(path, 100); });
    expect_error(ErrorCode::kBadData, {path, why}, [&] { check_kind(path, FileKind::kRegular); });
  };
  refused(folder / "pipe", "this is a pipe");
  refused("/dev/zero", "this is a device");
  refused(folder / "", "this is a folder");
  refused(folder / "missing", "no such file");
  refused(folder.file("file", "") + "/x", "cannot be opened");
  check_kind(folder / "pipe", FileKind::kRegularOrPipe);
  expect_error(ErrorCode::kBadData, {"a file or a pipe"}, [] { check_kind("/dev/zero", FileKind::kRegularOrPipe); });
  expect_error(ErrorCode::kUsage, {"[a]", "zero byte"}, [] { read_small_file(std::string("a\0", 2), 100); });
}

}  // namespace
}  // namespace manymeans::test
