// Parts of files, put together again, are the whole file: whatever the format, and whatever decides the type.
#include "io/files.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>

namespace manymeans::test {
namespace {

std::vector<std::string> stored_files() {
  std::vector<std::string> paths;
  const std::string data = MANYMEANS_TEST_DATA;
  for (const char* folder : {"/io/arrow", "/io/hdf5", "/fuzz/corpus"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data + folder)) {
      if (entry.is_regular_file()) paths.push_back(entry.path().string());
    }
  }
  for (const char* name : {"plain", "group/packed", "half"}) {
    paths.push_back(data + "/io/hdf5/some_datasets.h5:/" + name);
  }
  return paths;
}

std::vector<ReadOptions> ways() {
  std::vector<ReadOptions> result(6);
  result[1].numeric_only = true;
  result[2].dtype = DataType::kFloat64;
  result[3].weights = "1";
  result[4].columns = {"1"};
  result[5].columns = {"2"};
  result[5].weights = "1";
  return result;
}

std::string bytes_of(const PointsView& points) {
  std::string bytes(points.bytes(), '\0');
  if (points.n > 0) std::memcpy(bytes.data(), points.data, bytes.size());
  return bytes;
}

// Whether there was something to compare.
bool compare(const std::string& path, ReadOptions options, int64_t count) {
  options.threads = 2;
  Dataset whole;
  try {
    whole = read_points(path, options);
  } catch (const Error&) {
    return false;
  }
  EXPECT_EQ(whole.file_rows, whole.view.n);
  options.part.count = count;
  std::string bytes;
  std::vector<double> weights;
  for (options.part.index = 0; options.part.index < count; ++options.part.index) {
    const Dataset part = read_points(path, options);
    EXPECT_EQ(part.file_rows, whole.view.n);
    EXPECT_EQ(part.view.n, options.part.end(whole.view.n) - options.part.begin(whole.view.n));
    EXPECT_EQ(part.view.d, whole.view.d);
    EXPECT_EQ(part.view.type, whole.view.type);
    EXPECT_EQ(part.column_names, whole.column_names);
    bytes += bytes_of(part.view);
    weights.insert(weights.end(), part.weights.begin(), part.weights.end());
  }
  EXPECT_EQ(bytes, bytes_of(whole.view));
  EXPECT_EQ(weights.size(), whole.weights.size());
  const auto bits = [](double weight) { return std::bit_cast<uint64_t>(weight); };  // NaN equals NaN
  EXPECT_TRUE(std::ranges::equal(weights, whole.weights, {}, bits, bits));
  return true;
}

TEST(Parts, OfEveryFormatAreTheWhole) {
  int compared = 0;
  for (const std::string& path : stored_files()) {
    for (ReadOptions options : ways()) {
      const std::string format = std::filesystem::path(path).parent_path().filename().string();
      if (path.find("/corpus/") != std::string::npos) {
        if (format == "options" || format == "model" || format == "checkpoint") continue;
        options.format = format;
      }
      for (const int64_t count : {2, 3, 9}) compared += compare(path, options, count);
      ASSERT_FALSE(HasFailure()) << path;
    }
  }
  EXPECT_GT(compared, 100);
}

// Some pieces of text, and a type that only the last rows decide.
TEST(Parts, OfLongTextHaveTheTypeOfAll) {
  const Folder folder;
  std::string text = "a,b,c\n";
  for (int i = 0; i < 150000; ++i) text += std::to_string(i) + "," + std::to_string(i % 10) + ",1\n";
  const std::string short_numbers = folder.file("short.csv", text);
  const std::string wide = folder.file("wide.csv", text + "16777217,1,1\n16777216,1,1\n");
  const std::string words = folder.file("words.csv", text + "1,word,1\n");
  for (const std::string& path : {short_numbers, wide, words}) {
    for (ReadOptions options : ways()) {
      for (const int64_t count : {2, 7}) compare(path, options, count);
    }
  }
  ReadOptions last;
  last.part = {1, 2};
  EXPECT_EQ(read_points(wide, last).view.type, DataType::kFloat64);
  last.part = {0, 2};
  EXPECT_EQ(read_points(wide, last).view.type, DataType::kFloat64);
  EXPECT_EQ(read_points(short_numbers, last).view.type, DataType::kFloat32);
}

TEST(Parts, ThatThereAreNotAreErrors) {
  const Folder folder;
  const std::string text = folder.file("a.csv", "1\n2\n3\n");
  for (const RowPart part : {RowPart{0, 0}, RowPart{-1, 2}, RowPart{2, 2}, RowPart{0, -3}}) {
    ReadOptions options;
    options.part = part;
    expect_error(ErrorCode::kUsage, {"[part] is " + std::to_string(part.index) + " of", "count from 0"},
                 [&] { read_points(text, options); });
    expect_error(ErrorCode::kUsage, {"[part] is"}, [&] { describe_table(text, options); });
    expect_error(ErrorCode::kUsage, {"[part] is"}, [&] { read_shards({text}, options); });
  }
  for (const RowPart part : {RowPart{.first = -1, .last = 2}, RowPart{.first = 3, .last = 2}}) {
    ReadOptions options;
    options.part = part;
    expect_error(ErrorCode::kUsage, {"[part] is rows"}, [&] { read_points(text, options); });
  }
}

// Rows keep their numbers.
TEST(Parts, NameTheRowsOfTheFile) {
  const Folder folder;
  ReadOptions options;
  options.dtype = DataType::kUInt8;
  options.part = {2, 3};
  const std::string text = folder.file("a.csv", "1\n2\n3\n4\n5\n600\n");
  expect_error(ErrorCode::kBadData, {"row 6 (line 6)", "600"}, [&] { read_points(text, options); });
  options.part.index = 0;
  EXPECT_EQ(read_points(text, options).view.n, 2);
  const std::string weights = folder.file("w.csv", "1\n2\n3\n4\n5\n");
  options.weights = "no_such_weights";
  expect_error(ErrorCode::kUsage, {"'no_such_weights' is neither", "a file of 6 numbers"},
               [&] { read_points(text, options); });
  options.weights = weights;
  expect_error(ErrorCode::kBadData, {"5 rows", "each of the 6 rows"}, [&] { read_points(text, options); });
}

// Of formats that say a row's length before each row, a part checks its own rows.
TEST(Parts, OfVecsCheckTheirOwnRows) {
  const Folder folder;
  std::string bytes;
  for (const char count : {'\1', '\1', '\1', '\1', '\2', '\1'}) bytes += std::string{count, 0, 0, 0, 'x'};
  const auto read_part = [](const std::string& path, int64_t index) {
    ReadOptions options;
    options.part = {index, 3};
    return read_points(path, options).view.n;
  };
  const std::string wrong = folder.file("wrong.bvecs", bytes);
  EXPECT_EQ(read_part(wrong, 0), 2);
  EXPECT_EQ(read_part(wrong, 1), 2);
  expect_error(ErrorCode::kBadData, {"row 5 (at byte 20) says it has 2 values"}, [&] { read_part(wrong, 2); });
  const std::string cut = folder.file("cut.bvecs", bytes.substr(0, 18));
  EXPECT_EQ(read_part(cut, 1), 1);
  expect_error(ErrorCode::kBadData, {"cut off in row 4: 5 bytes from byte 15 on are needed, 3 are there"},
               [&] { read_part(cut, 2); });
}

}  // namespace
}  // namespace manymeans::test
