#include "io/table/reader.h"

#include <manymeans/info.h>

#include "io/files.h"

#include <sys/stat.h>

#include <thread>

namespace manymeans::test {
namespace {

TEST(Reader, ChosenByEndingOrName) {
  const Folder folder;
  const Values values{1, 2};
  write_values(folder / "values.npy", values, "x");
  const std::string npy = content_of(folder / "values.npy");
  EXPECT_EQ(values_of(read_points(folder.file("a.NPY", npy)).view), values);
  expect_error(ErrorCode::kBadData, {"b.txt", "format npy"}, [&] { read_points(folder.file("b.txt", npy)); });
  ReadOptions options;
  options.format = "npy";
  EXPECT_EQ(values_of(read_points(folder / "b.txt", options).view), values);
  options.format = "text";
  EXPECT_EQ(values_of(read_points(folder.file("c.npy", "1\n2\n"), options).view), values);
  options.format = "excel";
  expect_error(ErrorCode::kUsage, {"'excel'", "auto, npy, text"}, [&] { read_points(folder / "c.npy", options); });
}

TEST(Reader, PathsThatCannotBeRead) {
  const Folder folder;
  for (const std::string name : {"missing.csv", "missing.npy"}) {
    expect_error(ErrorCode::kBadData, {folder / name, "no such file"}, [&] { read_points(folder / name); });
  }
  for (const std::string name : {"empty.csv", "empty.npy"}) {
    expect_error(ErrorCode::kBadData, {name, "empty"}, [&] { read_points(folder.file(name, "")); });
  }
  expect_error(ErrorCode::kBadData, {"this is a folder"}, [&] { read_points(folder / ""); });
  expect_error(ErrorCode::kBadData, {"/dev/zero", "device"}, [&] { read_points("/dev/zero"); });
  expect_error(ErrorCode::kBadData, {"Not a directory"}, [&] { read_points(folder / "empty.csv/x"); });
}

TEST(Reader, Pipes) {
  const Folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(folder / "pipe") << "1,2\n3,4\n"; });
  EXPECT_EQ(values_of(read_points(folder / "pipe").view), (Values{1, 2, 3, 4}));
  writer.join();
}

// Out of a pipe, and from a name that says nothing.
TEST(Reader, NumpyArraysAreRecognisedWithoutAnEnding) {
  const Folder folder;
  const Values values{1, 2, 3, 4};
  write_values(folder / "values.npy", values, "x");
  const std::string npy = content_of(folder / "values.npy");
  EXPECT_EQ(values_of(read_points(folder.file("values", npy)).view), values);
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const auto piped = [&](const std::string& content, auto&& read) {
    std::thread writer([&] { std::ofstream(folder / "pipe", std::ios::binary) << content; });
    const auto result = read(folder / "pipe");
    writer.join();
    return result;
  };
  EXPECT_EQ(values_of(piped(npy, [](const std::string& path) { return read_points(path); }).view), values);
  EXPECT_EQ(piped(npy, [](const std::string& path) { return describe_table(path); }).rows,
            describe_table(folder / "values.npy").rows);
  ReadOptions filled;
  filled.rules.missing = Missing::kMean;
  EXPECT_EQ(values_of(piped(npy, [&](const std::string& path) { return read_points(path, filled); }).view), values);
  EXPECT_EQ(values_of(piped("1\n2\n", [](const std::string& path) { return read_points(path); }).view), (Values{1, 2}));
  expect_error(ErrorCode::kBadData, {"cut", "the header promises"},
               [&] { read_points(folder.file("cut", npy.substr(0, npy.size() - 1))); });
}

TEST(Reader, PointsOutliveTheFile) {
  const Folder folder;
  write_values(folder / "values.npy", Values{1, 2}, "x");
  const Dataset data = read_points(folder / "values.npy");
  write_values(folder / "values.npy", Values{3, 4, 5}, "x");  // replaced, not written into
  EXPECT_EQ(values_of(data.view), (Values{1, 2}));
}

TEST(Reader, AllAreListed) {
  const std::vector<Choice> choices = reader_choices();
  ASSERT_EQ(choices.size(), readers().size());
  EXPECT_EQ(choices[0].name, "npy");
  EXPECT_FALSE(choices[0].description.empty());
}

}  // namespace
}  // namespace manymeans::test
