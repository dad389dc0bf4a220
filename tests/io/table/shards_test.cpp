// Several files as one set of points: the bytes of one file that has all the rows, whoever reads which part.
#include "io/files.h"

#include <cstring>
#include <filesystem>

namespace manymeans::test {
namespace {

std::string bytes_of(const PointsView& points) {
  std::string bytes(points.bytes(), '\0');
  if (points.n > 0) std::memcpy(bytes.data(), points.data, bytes.size());
  return bytes;
}

// Three columns of short decimals.
std::vector<float> numbers(int64_t rows) {
  std::vector<float> values;
  for (int64_t i = 0; i < 3 * rows; ++i) values.push_back(static_cast<float>(i * 37 % 101) / 4);
  return values;
}

// Writes rows as whole.ENDING and as parts of 4, 0, 1 and 5 rows; returns the parts' names.
std::vector<std::string> write_parts(const Folder& folder, const std::string& ending) {
  const std::vector<float> values = numbers(10);
  Dataset rows;
  rows.column_names = {"x", "y", "w"};
  const auto write = [&](const std::string& name, int64_t first, int64_t count) {
    rows.view = PointsView(values.data() + 3 * first, count, 3);
    write_points(folder / (name + ending), rows);
    return folder / (name + ending);
  };
  write("whole", 0, 10);
  return {write("part-0", 0, 4), folder.file("part-1" + ending, ""), write("part-2", 4, 1), write("part-3", 5, 5)};
}

void expect_equal(const Dataset& whole, const std::vector<std::string>& parts, ReadOptions options, int64_t count) {
  options.part.count = count;
  std::string bytes;
  std::vector<double> weights;
  for (options.part.index = 0; options.part.index < count; ++options.part.index) {
    const Dataset part = read_shards(parts, options);
    EXPECT_EQ(part.file_rows, whole.view.n);
    EXPECT_EQ(part.view.n, options.part.end(whole.view.n) - options.part.begin(whole.view.n));
    EXPECT_EQ(part.view.d, whole.view.d);
    EXPECT_EQ(part.view.type, whole.view.type);
    EXPECT_EQ(part.column_names, whole.column_names);
    EXPECT_EQ(part.source.names, whole.source.names);
    EXPECT_EQ(part.source.numbers, whole.source.numbers);
    bytes += bytes_of(part.view);
    weights.insert(weights.end(), part.weights.begin(), part.weights.end());
  }
  EXPECT_EQ(bytes, bytes_of(whole.view));
  EXPECT_EQ(weights, whole.weights);
}

TEST(Shards, AreOneFileWithAllRows) {
  for (const char* ending : {".npy", ".csv", ".fvecs", ".fbin", ".npz", ".h5", ".parquet", ".arrow"}) {
    const Folder folder;
    std::vector<std::string> parts;
    try {
      parts = write_parts(folder, ending);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << ending << ": " << error.what();  // not built in
      continue;
    }
    std::vector<ReadOptions> ways(4);
    ways[1].dtype = DataType::kFloat64;
    ways[2].weights = "3";
    ways[3].weights = folder.file("weights.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
    for (const ReadOptions& options : ways) {
      const Dataset whole = read_points(folder / (std::string("whole") + ending), options);
      for (const int64_t count : {1, 2, 3, 12}) expect_equal(whole, parts, options, count);
      ASSERT_FALSE(HasFailure()) << ending;
    }
  }
}

TEST(Shards, OneFileIsReadInPlace) {
  const Folder folder;
  const std::vector<std::string> parts = write_parts(folder, ".npy");
  ReadOptions options;
  options.part = {.first = 5, .last = 8};
  EXPECT_EQ(bytes_of(read_shards(parts, options).view), bytes_of(read_points(folder / "whole.npy", options).view));
}

TEST(Shards, FilesWithoutRowsAddNothing) {
  const Folder folder;
  const std::string rows = folder.file("b.csv", "x,y\n1,2\n");
  const std::string header = folder.file("a.csv", "x,y\n"), nothing = folder.file("c.csv", "");
  EXPECT_EQ(values_of(read_shards({header, rows, nothing}).view), (Values{1, 2}));
  expect_error(ErrorCode::kBadData, {"a.csv ... " + nothing + " (2 files)", "0 rows"},
               [&] { read_shards({header, nothing}); });
}

TEST(Shards, FilesThatDifferAreNamed) {
  const Folder folder;
  const std::string two = folder.file("two.csv", "x,y\n1,2\n"), three = folder.file("three.csv", "x,y,z\n1,2,3\n");
  const std::string other = folder.file("other.csv", "x,z\n1,2\n"), bare = folder.file("bare.csv", "1,2\n");
  expect_error(ErrorCode::kBadData, {three + "] has 3 columns, " + two + " has 2"}, [&] { read_shards({two, three}); });
  expect_error(ErrorCode::kBadData, {other + "] value 2 of its rows is of column 'z', in " + two + " it is of 'y'"},
               [&] { read_shards({two, other}); });
  expect_error(ErrorCode::kBadData, {bare + "] does not name its columns, " + two + " does"},
               [&] { read_shards({two, bare}); });
  expect_error(ErrorCode::kBadData, {two + "] names its columns, " + bare + " does not"},
               [&] { read_shards({bare, two}); });
  write_values(folder / "wide.npy", Values{1, 2}, "x");
  write_labels(folder / "narrow.npy", Labels(3, 2));
  expect_error(ErrorCode::kBadData,
               {folder / "wide.npy] has values of type float64, " + (folder / "narrow.npy of uint8")},
               [&] { read_shards({folder / "narrow.npy", folder / "wide.npy"}); });
  ReadOptions options;
  options.dtype = DataType::kFloat32;
  EXPECT_EQ(values_of(read_shards({folder / "narrow.npy", folder / "wide.npy"}, options).view),
            (Values{0, 0, 0, 1, 2}));
}

// What each file alone would take for enough may be too little for all of them.
TEST(Shards, ValuesThatDecideTheTypeNeedOne) {
  const Folder folder;
  const std::string shorts = folder.file("a.csv", "1.5\n2.5\n"), longs = folder.file("b.csv", "0.123456789\n1\n");
  expect_error(ErrorCode::kUsage, {"dtype", "float32 or float64", longs}, [&] { read_shards({shorts, longs}); });
  EXPECT_EQ(read_shards({longs}).view.type, read_points(longs).view.type);
  ReadOptions options;
  options.dtype = DataType::kFloat64;
  EXPECT_EQ(values_of(read_shards({shorts, longs}, options).view), (Values{1.5, 2.5, 0.123456789, 1}));
}

TEST(Shards, ARowIsOneOfItsFile) {
  const Folder folder;
  const std::string a = folder.file("a.csv", "x\n1\n2\n"), b = folder.file("b.csv", "# note\nx\n3\n4\n");
  const Dataset points = read_shards({a, b});
  EXPECT_EQ(row_label(points, 2), "row 2 (line 3) of " + a);
  EXPECT_EQ(row_label(points, 3), "row 1 (line 3) of " + b);
  EXPECT_EQ(points.path, a + " ... " + b + " (2 files)");
}

TEST(Shards, NamesAndPatterns) {
  const Folder folder;
  const std::string a = folder.file("a1", "1\n"), b = folder.file("b1", "1\n"), odd = folder.file("[ab]1", "1\n");
  EXPECT_EQ(find_shards({folder / "?1"}), (std::vector{a, b}));
  EXPECT_EQ(find_shards({b, a}), (std::vector{a, b}));
  EXPECT_EQ(find_shards({odd}), (std::vector{odd}));  // a name that is there
  std::filesystem::remove(odd);
  EXPECT_EQ(find_shards({folder / "[ab]1"}), (std::vector{a, b}));
  expect_error(ErrorCode::kUsage, {a, "named twice"}, [&] { find_shards({a, folder / "a*"}); });
  expect_error(ErrorCode::kBadData, {"c*", "no name that this pattern matches"}, [&] { find_shards({folder / "c*"}); });
  expect_error(ErrorCode::kUsage, {"standard input"}, [&] { find_shards({a, "-"}); });
  expect_error(ErrorCode::kUsage, {"at least one"}, [&] { find_shards({}); });
}

}  // namespace
}  // namespace manymeans::test
