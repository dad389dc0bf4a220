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

TEST(Reader, AColumnOfNumbersNamesTheRows) {
  const Folder folder;
  const Values values{7, 0.5, 1, -2, 0.25, 3};
  Dataset table;
  table.view = {values.data(), 3, 2, DataType::kFloat64};
  ReadOptions options;
  options.id = "1";
  for (const std::string name : {"a.npy", "a.csv"}) {
    write_points(folder / name, table);
    const Dataset points = read_points(folder / name, options);
    EXPECT_EQ(points.ids, (std::vector<std::string>{"7", "1", "0.25"}));
    EXPECT_EQ(values_of(points.view), (Values{0.5, -2, 3}));
    EXPECT_EQ(points.source.numbers, std::vector<int64_t>{2});
  }
  const Values large{1e17, 1};
  table.view = {large.data(), 1, 2, DataType::kFloat64};
  write_points(folder / "b.npy", table);
  expect_error(ErrorCode::kBadData, {"b.npy", "row 1, column 1: 1e+17 is too large to name a row"},
               [&] { read_points(folder / "b.npy", options); });
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

// pandas writes 0 above a column without a name.
TEST(Reader, TheNumberOfRowsDecidesAboutAFirstLine) {
  const Folder folder;
  const auto header = [&](const std::string& text, int64_t rows, const ReadOptions& options = {}) {
    return find_first_line(folder.file("beside.csv", text), options, rows).header;
  };
  EXPECT_EQ(header("0\n5\n0\n", 2), Header::kYes);
  EXPECT_EQ(header("0\n5\n0\n", 3), Header::kNo);
  EXPECT_EQ(header("0\n5\n0\n", 4), Header::kAuto) << "neither";
  EXPECT_EQ(header("0,1\n5,6\n", 1), Header::kYes);
  EXPECT_EQ(header("2001\n0.5\n0.7\n0.9\n", 4), Header::kNo);
  EXPECT_EQ(header("7\n5\n0\n", 2), Header::kAuto) << "names nothing";
  EXPECT_EQ(header("7\n5\n0\n", 2, {.header = Header::kYes}), Header::kYes);
  EXPECT_EQ(header("7\n5\n0\n", 3, {.header = Header::kYes}), Header::kNo);
  EXPECT_EQ(header("weight\n5\n0\n", 2, {.header = Header::kNo}), Header::kAuto) << "text is recognised";
  EXPECT_EQ(header("0\n5\n0\n", 0), Header::kAuto);
  EXPECT_EQ(header("0\n5\n0\n", 0, {.header = Header::kNo}), Header::kNo);
  EXPECT_EQ(header("1,0\n5,6\n", 0, {.header = Header::kNo, .like = PointsOfFit{{}, {"0", "1"}, 2}}), Header::kAuto)
      << "the names of the points";
  EXPECT_TRUE(find_first_line(folder / "beside.csv", {}, 0).may_name == false) << "1,0";
  EXPECT_TRUE(find_first_line(folder.file("beside.csv", "0,1\n5,6\n"), {}, 0).may_name);
  EXPECT_EQ(find_first_line(folder / "nowhere.csv", {}, 2).header, Header::kAuto);
  const Values values{0, 1};
  write_values(folder / "values.npy", values, "x");
  EXPECT_EQ(find_first_line(folder / "values.npy", {.header = Header::kYes}, 1).header, Header::kAuto);
}

TEST(Reader, WeightsBelowANumberAsAName) {
  const Folder folder;
  ReadOptions options;
  options.weights = folder.file("weights.csv", "0\n1.5\n2\n0\n");
  const std::string points = folder.file("points.csv", "x,y\n1,2\n3,4\n5,7\n");
  EXPECT_EQ(read_points(points, options).weights, (Values{1.5, 2, 0}));
  EXPECT_TRUE(read_points(points, options).warnings.empty());
  folder.file("weights.csv", "2001\n0.5\n0.7\n");
  EXPECT_EQ(read_points(points, options).weights, (Values{2001, 0.5, 0.7})) << "the first lines look like a header";
  folder.file("weights.csv", "9\n1.5\n2\n1\n");
  expect_error(ErrorCode::kBadData, {"4 rows of 1 values found", "each of the 3 rows", "--header yes"},
               [&] { read_points(points, options); });
  options.header = Header::kYes;
  EXPECT_EQ(read_points(points, options).weights, (Values{1.5, 2, 1}));
  folder.file("weights.csv", "3 1\n5\n6\n7\n");
  options.header = Header::kAuto;
  EXPECT_EQ(read_points(points, options).weights, (Values{5, 6, 7}));
  EXPECT_EQ(read_points(points, options).warnings.size(), 1U) << "of the size that the first line gives";
}

}  // namespace
}  // namespace manymeans::test
