// Files are of the kind that their reader expects, or an error at once.
#include "core/open_file.h"

#include "io/files.h"

#include <sys/stat.h>

namespace manymeans::test {
namespace {

std::string all_of(const std::string& path) {
  const InputFile file(path, FileKind::kRegular);
  std::string text(1 << 20, ' ');
  text.resize(file.read(text.data(), text.size()));
  return text;
}

TEST(InputFile, Whole) {
  const Folder folder;
  EXPECT_EQ(all_of(folder.file("empty", "")), "");
  const std::string text(10000, 'x');
  EXPECT_TRUE(all_of(folder.file("long", text)) == text);
  EXPECT_FALSE(all_of("/proc/self/status").empty());  // the system tells no size of it
}

// None of these is opened: a pipe would wait for a writer for ever, and a device need not end.
TEST(InputFile, OtherKinds) {
  const Folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const auto refused = [](const std::string& path, const std::string& why) {
    expect_error(ErrorCode::kBadData, {path, why}, [&] { all_of(path); });
    expect_error(ErrorCode::kBadData, {path, why}, [&] { check_kind(path, FileKind::kRegular); });
  };
  refused(folder / "pipe", "this is a pipe");
  refused("/dev/zero", "this is a device");
  refused(folder / "", "this is a folder");
  refused(folder / "missing", "no such file");
  refused(folder.file("file", "") + "/x", "cannot be opened");
  check_kind(folder / "pipe", FileKind::kRegularOrPipe);
  expect_error(ErrorCode::kBadData, {"a file or a pipe"}, [] { check_kind("/dev/zero", FileKind::kRegularOrPipe); });
  expect_error(ErrorCode::kUsage, {"[a]", "zero byte"}, [] { all_of(std::string("a\0", 2)); });
}

}  // namespace
}  // namespace manymeans::test
