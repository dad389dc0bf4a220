#include "io/table/column_selection.h"

#include "io/files.h"

namespace manymeans::test {
namespace {

using Numbers = std::vector<int64_t>;

Numbers select(const FileColumns& file, std::vector<std::string> specifications) {
  return select_columns(file, specifications);
}

TEST(ColumnSelection, NumbersAndRanges) {
  const FileColumns file{6, {}};
  EXPECT_EQ(select(file, {}), (Numbers{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(select(file, {"3", "1"}), (Numbers{2, 0}));
  EXPECT_EQ(select(file, {"1, 4-6"}), (Numbers{0, 3, 4, 5}));
  EXPECT_EQ(select(file, {"5-"}), (Numbers{4, 5}));
  for (const char* wrong : {"0", "7", "1-7", "x", "", "1,", "-2", "1.5", "1-2-3", "99999999999999999999"}) {
    expect_error(ErrorCode::kUsage, {"there is no column", "1 to 6"}, [&] { select(file, {wrong}); });
  }
  expect_error(ErrorCode::kUsage, {"backwards"}, [&] { select(file, {"3-2"}); });
  expect_error(ErrorCode::kUsage, {"column 2", "twice"}, [&] { select(file, {"2", "1-3"}); });
}

TEST(ColumnSelection, NamesGoFirst) {
  const FileColumns file{5, {"a", "2", "b-c", "x,y", "a-z"}};
  EXPECT_EQ(select(file, {"2"}), (Numbers{1}));
  EXPECT_EQ(select(file, {"x,y"}), (Numbers{3}));
  EXPECT_EQ(select(file, {"a-z"}), (Numbers{4}));
  EXPECT_EQ(select(file, {"a-b-c"}), (Numbers{0, 1, 2}));
  EXPECT_EQ(select(file, {"b-c-x,y"}), (Numbers{2, 3}));
  EXPECT_EQ(select(file, {"4-5,a"}), (Numbers{3, 4, 0}));
}

// Column 2 of the file holds texts, column 5 is not used.
TEST(ColumnSelection, OfPoints) {
  Dataset points;
  points.source = {5, {1, 2, 4, 3}, {"a", "b", "d", "c"}};
  points.view.d = 4;
  const auto find = [&](std::vector<std::string> columns) { return columns_of_points(points, columns, "--log"); };
  EXPECT_EQ(find({"a", "c", "4"}), (Numbers{0, 3, 2}));
  points.source.rules = {{}, {true, {"x", "y", "z"}}, {}, {}};
  points.view.d = 6;
  EXPECT_EQ(find({"a", "c", "d"}), (Numbers{0, 5, 4}));
  expect_error(ErrorCode::kUsage, {"[--log]", "column 2 ('b')", "categories"}, [&] { find({"b"}); });
  expect_error(ErrorCode::kUsage, {"[--log]", "column 5", "no column of the points"}, [&] { find({"3-5"}); });
  expect_error(ErrorCode::kUsage, {"[--log]", "'e' is not a column of the points", "have 'a', 'b', 'c', 'd'"},
               [&] { find({"e"}); });
  expect_error(ErrorCode::kUsage, {"[--log]", "twice"}, [&] { find({"a", "1"}); });
  points.source = {1, {1}, {"list"}};  // of six values
  points.column_names = {"list[0]", "list[1]", "list[2]", "list[3]", "list[4]", "list[5]"};
  EXPECT_EQ(find({"list[3]", "2"}), (Numbers{3, 1}));
}

// In time that grows with their number, not with its square.
TEST(ColumnSelection, VeryManyColumns) {
  FileColumns file{100'000, {}};
  for (int64_t j = 0; j < file.count; ++j) file.names.push_back("a column of a long name " + std::to_string(j));
  EXPECT_EQ(select(file, file.names), select(file, {}));
  ReadOptions options;
  options.exclude = {file.names.begin() + 1, file.names.end()};
  EXPECT_EQ(wanted_columns(file, options, "x.csv"), (Numbers{0}));
}

TEST(ColumnSelection, BlanksOfNames) {
  const FileColumns file{4, {"x", " x", " only", "y "}};
  EXPECT_EQ(select(file, {" x"}), (Numbers{1}));
  EXPECT_EQ(select(file, {"x"}), (Numbers{0}));
  EXPECT_EQ(select(file, {" x ,y , only"}), (Numbers{0, 3, 2}));
  EXPECT_EQ(select(file, {" x-y "}), (Numbers{1, 2, 3}));
  EXPECT_EQ(select(file, {" 4 , 2-3 "}), (Numbers{3, 1, 2}));
  expect_error(ErrorCode::kUsage, {"no column 'y'", "named 'x', ' x', ' only', 'y '"}, [&] { select(file, {"y"}); });
}

TEST(ColumnSelection, DoubledNames) {
  const FileColumns file{3, {"a", "b", "a"}};
  expect_error(ErrorCode::kUsage, {"several columns", "'a'"}, [&] { select(file, {"a"}); });
  EXPECT_EQ(select(file, {"3"}), (Numbers{2}));
}

TEST(ColumnSelection, Labels) {
  EXPECT_EQ((FileColumns{2, {"a", "b"}}.label(1)), "column 2 ('b')");
  EXPECT_EQ((FileColumns{2, {}}.label(1)), "column 2");
}

}  // namespace
}  // namespace manymeans::test
