#include "io/files.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

namespace manymeans::test {
namespace {

class TextReader : public testing::Test {
 protected:
  Dataset read(std::string_view text, const ReadOptions& options = {}, const std::string& name = "data.csv") {
    return read_points(folder_.file(name, text), options);
  }
  Values values(std::string_view text, const ReadOptions& options = {}, const std::string& name = "data.csv") {
    return values_of(read(text, options, name).view);
  }
  void bad(std::string_view text, std::initializer_list<std::string> parts, const ReadOptions& options = {},
           ErrorCode code = ErrorCode::kBadData) {
    expect_error(code, parts, [&] { read(text, options); });
    if (code != ErrorCode::kBadData) return;
    expect_error(code, {folder_ / "data.csv"}, [&] { read(text, options); });
  }
  Folder folder_;
};

ReadOptions with_columns(std::vector<std::string> columns) {
  ReadOptions options;
  options.columns = std::move(columns);
  return options;
}
ReadOptions numeric_only() {
  ReadOptions options;
  options.numeric_only = true;
  return options;
}
ReadOptions with_type(DataType type) {
  ReadOptions options;
  options.dtype = type;
  return options;
}

TEST_F(TextReader, Delimiters) {
  const Values expected{1, 2.5, -3, 4};
  EXPECT_EQ(values("1,2.5\n-3,4\n"), expected);
  EXPECT_EQ(values("1\t2.5\n-3\t4\n"), expected);
  EXPECT_EQ(values("1;2.5\n-3;4\n"), expected);
  EXPECT_EQ(values("1 2.5\n-3 4\n"), expected);
  EXPECT_EQ(values("    1 \t  2.5  \n  -3 4", {}, "noending"), expected);
  EXPECT_EQ(values(" 1 , 2.5 \n+-3,4\n", with_columns({"2"})), (Values{2.5, 4}));
  EXPECT_EQ(values("1, +2.5\r\n\"-3\", \"4\" \r\n"), expected);
  EXPECT_EQ(values("7\n8\n9\n"), (Values{7, 8, 9}));
}

// A column of numbers may name the rows, too, and weigh them.
TEST_F(TextReader, NamesOfRowsThatAreNumbersOfThePoints) {
  const std::string text = "a,b,w\n1,2,3\n0.50,5,6\n";
  const Dataset named = read(text, {.columns = {"a", "b"}, .id = "a"});
  EXPECT_EQ(named.ids, (std::vector<std::string>{"1", "0.50"}));
  EXPECT_EQ(values_of(named.view), (Values{1, 2, 0.5, 5}));
  const Dataset weighted = read(text, {.id = "w", .weights = "w"});
  EXPECT_EQ(weighted.weights, (std::vector<double>{3, 6}));
  EXPECT_EQ(weighted.ids, (std::vector<std::string>{"3", "6"}));
}

// Runs of tabs are one delimiter only if no field between them is empty.
TEST_F(TextReader, GapsBetweenTabs) {
  ReadOptions fill;
  fill.rules = {.missing = Missing::kValue, .missing_value = 0};
  const auto filled = [&](std::string_view text) { return values(text, fill, "data.txt"); };
  EXPECT_EQ(filled("1\t\t3\n1\t5\t\n"), (Values{1, 0, 3, 1, 5, 0}));
  EXPECT_EQ(filled("\t1\t2\n3\t\t4\n"), (Values{0, 1, 2, 3, 0, 4}));
  EXPECT_EQ(filled("1\t\n\t2\n3\t\n"), (Values{1, 0, 0, 2, 3, 0}));
  EXPECT_EQ(filled("x\ty\tz\r\n1\t\t3\r\n4\t\t6\r\n"), (Values{1, 0, 3, 4, 0, 6}));
  EXPECT_EQ(filled("1;;3\n1;5;\n"), (Values{1, 0, 3, 1, 5, 0}));
  EXPECT_EQ(filled("1 ; ; 3\n1 ; 5 ; \n"), (Values{1, 0, 3, 1, 5, 0}));
  EXPECT_EQ(filled("1, , 3\n , 5, \n"), (Values{1, 0, 3, 0, 5, 0}));
  // Tabs that end every line, or are two between all fields, are no gaps.
  EXPECT_EQ(filled("1\t2\t\n3\t4\t\n"), (Values{1, 2, 3, 4}));
  EXPECT_EQ(filled("1\t\t2\n3\t\t4\n"), (Values{1, 2, 3, 4}));
  EXPECT_EQ(filled("  1 \t  2\n3  \t4\n"), (Values{1, 2, 3, 4}));
  expect_error(ErrorCode::kBadData, {"row 1 (line 1), column 2: the field is empty"},
               [&] { read("1\t\t3\n1\t5\t\n", {}, "data.txt"); });
}

// A line break inside quotes makes two lines of one row, also in a column that is not used.
TEST_F(TextReader, QuotesThatDoNotClose) {
  ReadOptions rest;
  rest.exclude = {"1"};
  for (const ReadOptions& options : {ReadOptions(), rest, numeric_only()}) {
    bad("note,v,w\n\"a,1,2\nb\",3,4\nc,5,6\n", {"line 2", "column 1", "line breaks", "double"}, options);
    bad("\"height\n(cm)\",\"mass\n(kg)\"\n170,60\n180,75\n", {"line 1", "column 1", "line breaks"}, options);
  }
  bad("\"mass\n(kg)\"\n170\n180\n", {"line 1, column 1"});
  std::string text = "note,v\n";
  for (int i = 0; i < 300; ++i) text += "a,1\n";
  for (const ReadOptions& options : {rest, numeric_only()})
    bad(text + "\"b,2\nc\",3\n", {"row 301 (line 302), column 1 ('note'): the quote"}, options);
  ReadOptions id = with_columns({"v"});
  id.id = "note";
  bad(text + "\"b,2\nc\",3\n", {"line 302"}, id);
  EXPECT_EQ(values("note,v\n5\" pipe,1\n\"a\"b,2\n\"c \"\"d\"\"\",3\n", rest), (Values{1, 2, 3}));
}

TEST_F(TextReader, OtherLineEnds) {
  for (const char* text : {"x,y\r1,2\r3,4\r", "1,2\r3,4", "x\r1\r2", "# c\r1,2\r", "x,y\r\r\n1,2\r\r\n"})
    bad(text, {"line 1 has a carriage return (CR)", "tr -s"});
  bad("1,2\n3,4\r5,6\n", {"line 2", "tr -s"});
  EXPECT_EQ(values("1,2\r"), (Values{1, 2}));
}

// Excel writes and reads the delimiter so.
TEST_F(TextReader, LineThatNamesTheDelimiter) {
  const Dataset data = read("sep=;\na;b\n1;2\n3;4\n");
  EXPECT_EQ(data.column_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(data.first_line, 3);
  EXPECT_EQ(values("\xef\xbb\xbf\"SEP=,\"\r\n1,2\r\n3,4\r\n"), (Values{1, 2, 3, 4}));
  EXPECT_EQ(values("sep=,\na\n1\n2\n"), (Values{1, 2}));
  EXPECT_EQ(values("sep=\t\n1\t2\n"), (Values{1, 2}));
  bad("sep=|\n1|2\n", {"line 1 ('sep=|')", "commas, semicolons or tabs"});
}

TEST_F(TextReader, TotalsInTheLastRow) {
  ReadOptions rest;
  rest.exclude = {"name"};
  for (const char* word : {"Total", "SUM", "average", "mean", "Grand total", "Total:"}) {
    const Dataset data = read("name,v\na,1\nb,2\n" + std::string(word) + ",3\n", rest);
    EXPECT_EQ(data.view.n, 3);
    ASSERT_EQ(data.warnings.size(), 1u) << word;
    EXPECT_NE(data.warnings[0].find("the last row"), std::string::npos);
    EXPECT_NE(data.warnings[0].find("column 1 ('name')"), std::string::npos);
  }
  EXPECT_TRUE(read("name,v\nmean,1\nsum,2\nmean,3\n", rest).warnings.empty()) << "a category";
  EXPECT_TRUE(read("name,v\nTotal,1\nb,2\n", rest).warnings.empty());
  bad("v,w\n1,2\n3,7\nTotal,9\n", {"line 4", "looks like a total"});
}

TEST_F(TextReader, AdviceAboutText) {
  bad("x,y\n1,2\n3,4\nx,y\n5,6\n", {"line 4", "repeats the names"});
  bad("height,mass\ncm,kg\n170,60\n180,75\n", {"line 2", "holds units"});
  bad("1 1:5 2:7\n0 1:6 2:8\n", {"libsvm"});
  bad("1 1:5 2:7\n0 1:6\n", {"line 2 has 2 fields", "libsvm"}, with_columns({"1"}));
  bad("a\tb\n1,5\t2,5\n3,5\t4,25\n", {"1 fields", "--decimal ,"});
  bad("x\n1,5\n2,5\n", {"1 fields", "--decimal ,"});
  bad("1,5\t2,5\n3,5\t4,25\n", {"--decimal ,"});
  bad("a b\n1,5 2,5\n3,5 4,25\n", {"--decimal ,"});
  for (const Missing missing : {Missing::kError, Missing::kMean}) {
    ReadOptions options;
    options.rules.missing = missing;
    bad("hp,mpg\n130,18\n165,15\n?,18\n", {"line 4", "sign for a gap"}, options);
    bad("a;b\n1;2,5\n", {"--decimal ,"}, options);
    const std::string path = folder_.file("few.csv", "x,y\n1,2\n2,4\n3,7\noops,4\n");
    try {
      read_points(path, options);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("onehot"), std::string::npos) << error.what();
    }
  }
}

// With decimal commas, 1.500 is 1500 only by a guess.
TEST_F(TextReader, ThousandsWithoutDecimalCommas) {
  ReadOptions options;
  options.decimal = ',';
  bad("a;b\n1,5;0.123\n2,5;0.456\n", {"'0.123' is not a number", "thousands"}, options);
  for (const Missing missing : {Missing::kError, Missing::kMean}) {
    options.rules.missing = missing;
    const Dataset data = read("a;b\n1,5;2\n2,5;1.500\n3,5;2.250\n", options);
    EXPECT_EQ(values_of(data.view)[3], 1500);
    ASSERT_EQ(data.warnings.size(), 1u);
    EXPECT_NE(data.warnings[0].find("points between thousands, and no decimal comma: column 2 ('b')"),
              std::string::npos)
        << data.warnings[0];
    EXPECT_NE(data.warnings[0].find("'1.500' in line 3 was read as 1500"), std::string::npos);
    EXPECT_TRUE(read("a;b\n1,5;1.500\n2,5;2.250,5\n", options).warnings.empty());
    EXPECT_TRUE(read("a;b\n1,5;1.500\n2,5;1.002.250\n", options).warnings.empty());
  }
}

TEST_F(TextReader, MarksCommentsAndEmptyEnds) {
  EXPECT_EQ(values("\xef\xbb\xbf# a comment\n\n# another\nx,y\n1,2\n\n \r\n\n"), (Values{1, 2}));
  EXPECT_EQ(read("\xef\xbb\xbfx,y\n1,2\n").column_names, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(read("\xef\xbb\xbf\xef\xbb\xbfx,y\n1,2\n").column_names, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(values("\xef\xbb\xbf\xef\xbb\xbf"
                   "1\n3\n"),
            (Values{1, 3}));
  bad("1,2\n\n3,4\n", {"line 2 is empty"});
}

TEST_F(TextReader, Headers) {
  EXPECT_TRUE(read("1,2\n3,4\n").column_names.empty());
  EXPECT_EQ(read("\"a \"\"b\"\"\", \"c,d\"\n1,2\n").column_names, (std::vector<std::string>{"a \"b\"", "c,d"}));
  const Dataset partly = read("id,1\n5,6\n7,8\n");
  EXPECT_EQ(partly.column_names, (std::vector<std::string>{"id", "1"}));
  ASSERT_EQ(partly.warnings.size(), 1u);
  EXPECT_NE(partly.warnings[0].find("line 1"), std::string::npos);
  bad("a,b\n1,2,3\n", {"line 1", "2 fields", "line 2", "3"});
  bad("a,b\n\n1,2\n", {"line 2"});
  // The same text in all rows is no header.
  bad("tcp,1\ntcp,2\n", {"line 1", "column 1", "'tcp'"});
}

TEST_F(TextReader, LineThatGivesTheSize) {
  const Dataset data = read("2 3\n1 2 3\n4 5 6\n");
  EXPECT_EQ(values_of(data.view), (Values{1, 2, 3, 4, 5, 6}));
  ASSERT_EQ(data.warnings.size(), 1u);
  EXPECT_NE(data.warnings[0].find("'2 3'"), std::string::npos);
  EXPECT_EQ(values("2 2\n1 2\n"), (Values{2, 2, 1, 2})) << "one row does not make two";
  EXPECT_EQ(values("1 2\n3 4\n"), (Values{1, 2, 3, 4})) << "could be a row, and is";
  std::string points = "150 2\n";
  for (int i = 0; i < 150; ++i) points += "0.5 7\n";
  EXPECT_EQ(read(points).view.n, 150);
}

TEST_F(TextReader, Columns) {
  const std::string text = "a,b,c-d,e\n1,2,3,4\n5,6,7,8\n";
  EXPECT_EQ(values(text, with_columns({"e,1"})), (Values{4, 1, 8, 5}));
  EXPECT_EQ(values(text, with_columns({"2-3"})), (Values{2, 3, 6, 7}));
  EXPECT_EQ(values(text, with_columns({"b-c-d", "4-"})), (Values{2, 3, 4, 6, 7, 8}));
  EXPECT_EQ(read(text, with_columns({"c-d", "a"})).column_names, (std::vector<std::string>{"c-d", "a"}));
  EXPECT_EQ(values("1,x\n2,y\n", with_columns({"1"})), (Values{1, 2})) << "text elsewhere is no matter";
  bad(text, {"no column 'f'", "1 to 4", "'a', 'b', 'c-d', 'e'"}, with_columns({"f"}), ErrorCode::kUsage);
  bad(text, {"no column '0'"}, with_columns({"0"}), ErrorCode::kUsage);
  bad(text, {"column 2 ('b')", "twice"}, with_columns({"2,a-b"}), ErrorCode::kUsage);
  bad(text, {"backwards"}, with_columns({"e-a"}), ErrorCode::kUsage);
}

TEST_F(TextReader, NumericOnly) {
  const Dataset data = read("n,s,t,v\n1,tcp,5,2\n3,udp,6,4\n", numeric_only());
  EXPECT_EQ(values_of(data.view), (Values{1, 5, 2, 3, 6, 4}));
  EXPECT_EQ(data.column_names, (std::vector<std::string>{"n", "t", "v"}));
  ASSERT_EQ(data.warnings.size(), 1u);
  EXPECT_NE(data.warnings[0].find("column 2 ('s') ('tcp' in line 2)"), std::string::npos) << data.warnings[0];
  bad("a,b\nc,d\n", {"no column is left"}, numeric_only());
}

TEST_F(TextReader, NumericOnlyLooksAtAllRows) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += i == 4321 ? "1,oops,3\n" : (i == 2000 ? "1,,3\n" : "1,2,3\n");
  const Dataset data = read(text, numeric_only());
  EXPECT_EQ(data.view.d, 2);
  EXPECT_EQ(data.view.n, 5000);
  ASSERT_EQ(data.warnings.size(), 1u);
  EXPECT_NE(data.warnings[0].find("column 2 ('oops' in line 4322)"), std::string::npos) << data.warnings[0];
  text += "1,2,\n";  // an empty field in a column that stays
  bad(text, {"line 5001", "column 3", "empty"}, numeric_only());
}

TEST_F(TextReader, Weights) {
  ReadOptions options;
  options.weights = "w";
  const Dataset data = read("x,w,y\n1,0.5,2\n3,0.25,4\n", options);
  EXPECT_EQ(values_of(data.view), (Values{1, 2, 3, 4}));
  EXPECT_EQ(data.weights, (Values{0.5, 0.25}));
  EXPECT_EQ(data.column_names, (std::vector<std::string>{"x", "y"}));
  options.weights = "2";
  EXPECT_EQ(read("1,0.5\n3,0.25\n", options).weights, (Values{0.5, 0.25}));
  options.weights = folder_.file("w.txt", "7\n8\n");
  EXPECT_EQ(read("1,0.5\n3,0.25\n", options).weights, (Values{7, 8}));
  expect_error(ErrorCode::kBadData, {"w.txt", "2 rows", "3 rows"}, [&] { read("1\n2\n3\n", options); });
  options.weights = "nosuch";
  bad("1\n2\n", {"'nosuch'", "neither"}, options, ErrorCode::kUsage);
  options.weights = "1";
  bad("1\n2\n", {"no column is left except the weights"}, options);
}

TEST_F(TextReader, WhatDoesNotFit) {
  bad("1,2\n3\n", {"line 2", "1 fields", "2;"});
  bad("1,2\n3,4,5\n", {"line 2", "3 fields"});
  bad("1,2\n3,\n", {"line 2", "column 2", "empty"});
  bad("a,b\n1,2\n3,x\x01y\n", {"row 2 (line 3), ", "column 2 ('b')", "'x\\x01y'", "--exclude", "--numeric-only"});
  bad("1,2\n0x10,4\n", {"line 2", "column 1", "'0x10'"});
  bad("1,2\n1 2,4\n", {"line 2", "column 1", "'1 2'"});
  bad("1,2\n\"3,4\n", {"line 2", "column 1"});
  bad("1,2\n3,1e400\n", {"line 2", "column 2", "1e400", "too large"});
  bad("1,2\n3,-1e39\n", {"row 2 (line 2)", "column 2", "-1e+39", "float32", "float64"}, with_type(DataType::kFloat32));
  EXPECT_EQ(values("1,2\n3,-1e39\n", with_type(DataType::kFloat64)), (Values{1, 2, 3, -1e39}));
  bad("", {"empty"});
  bad("# only this\n\n", {"no rows"});
  bad("x,y\n", {"0 rows of 2 columns"});
  bad(std::string_view("1,2\n\0\0\0", 7), {"not a text file", "byte 5"});
  bad("PK\x03\x04 something", {"zip archive"});
  bad("\xff\xfe\x80garbage", {"line 1", "column 1"});
  bad("1,2\n" + std::string(70000, 'x') + "\n", {"line 2"});
}

TEST_F(TextReader, NanAndInfinityAreLeftToTheFit) {
  const Values read_back = values("1,nan\n-inf,Infinity\n");
  EXPECT_TRUE(std::isnan(read_back[1]));
  EXPECT_EQ(read_back[2], -INFINITY);
  EXPECT_EQ(read_back[3], INFINITY);
}

TEST_F(TextReader, IntegersThatFloat32CannotHold) {
  const std::string text = "id,x\n16777216,0.1\n16777217,123456789.5\n";
  const Dataset data = read(text, with_type(DataType::kFloat32));
  ASSERT_EQ(data.warnings.size(), 1u);
  EXPECT_NE(data.warnings[0].find("column 1 ('id') (first: 16777217 in line 3)"), std::string::npos);
  EXPECT_EQ(data.warnings[0].find("column 2"), std::string::npos);
  const Dataset wide = read(text);
  EXPECT_TRUE(wide.warnings.empty());
  EXPECT_EQ(values_of(wide.view), (Values{16777216, 0.1, 16777217, 123456789.5}));
  EXPECT_EQ(read("9007199254740993\n1\n", with_type(DataType::kFloat64)).warnings.size(), 1u);
  EXPECT_EQ(read("-9007199254740993\n1\n").warnings.size(), 1u) << "lost on the way to binary64 already";
  EXPECT_EQ(read("9007199254740992\n-0016777216\n").warnings.size(), 0u);
}

TEST_F(TextReader, NarrowTypes) {
  EXPECT_EQ(values("0,255\n7,8\n", with_type(DataType::kUInt8)), (Values{0, 255, 7, 8}));
  bad("0,255\n7,8.5\n", {"line 2", "column 2", "8.5", "not exact in uint8"}, with_type(DataType::kUInt8));
  bad("0,255\n7,8\n", {"line 1", "column 2", "255", "int8"}, with_type(DataType::kInt8));
  EXPECT_EQ(values("1.5,-2\n", with_type(DataType::kFloat16)), (Values{0x3e00, 0xc000}));
  bad("1.5,2049\n", {"column 2", "2049"}, with_type(DataType::kFloat16));
  EXPECT_EQ(values("1.5,-2\n", with_type(DataType::kBFloat16)), (Values{0x3fc0, 0xc000}));
}

TEST_F(TextReader, Compressed) {
  const std::string first = gzipped("a,b\n1,2\n");
  const std::string second = gzipped("3,4\n");
  EXPECT_EQ(values(first + second + std::string(5, '\0'), {}, "data.csv.gz"), (Values{1, 2, 3, 4}));
  EXPECT_EQ(values(first, {}, "misnamed.txt"), (Values{1, 2}));
  const auto broken = [&](const std::string& content, const std::string& part) {
    const std::string path = folder_.file("broken.csv.gz", content);
    expect_error(ErrorCode::kBadData, {path, part}, [&] { read_points(path); });
  };
  broken(first.substr(0, first.size() - 3), "ends in the middle");
  broken(first + "trailing", "damaged");
  std::string flipped = first;
  flipped[flipped.size() - 6] = static_cast<char>(flipped[flipped.size() - 6] ^ 1);  // of the checksum
  broken(flipped, "damaged");
  broken(gzipped(""), "empty");
}

// The last bytes of a file say the size of its last member only.
TEST_F(TextReader, MembersOfManySizes) {
  std::string text, packed;
  std::mt19937 random(1);
  const auto add = [&](int rows) {
    std::string more;
    for (int i = 0; i < rows; ++i) more += std::to_string(random() % 1000) + "," + std::to_string(random() % 7) + "\n";
    text += more;
    packed += gzipped(more);
  };
  for (const int rows : {1, 200000, 3, 0, 50000, 1}) add(rows);
  for (int i = 0; i < 300; ++i) add(i % 5);
  packed += gzipped("");
  const Values expected = values(text);
  EXPECT_EQ(values(packed, {}, "data.csv.gz"), expected);
  // Of nothing but repeats: more than a thousand bytes for each that is stored.
  std::string same;
  for (int i = 0; i < 4000000; ++i) same += "7\n";
  EXPECT_EQ(values(gzipped(same) + gzipped("8\n"), {}, "same.csv.gz").size(), 4000001u);
  // Damage and cuts behind a whole member.
  for (size_t cut = 1; cut < 40; ++cut) {
    const std::string path = folder_.file("broken.csv.gz", packed.substr(0, packed.size() / 2 - cut * 1000));
    expect_error(ErrorCode::kBadData, {path, "gzip data ends in the middle"}, [&] { read_points(path); });
  }
  packed[packed.size() / 3] = static_cast<char>(packed[packed.size() / 3] ^ 1);
  const std::string path = folder_.file("broken.csv.gz", packed);
  expect_error(ErrorCode::kBadData, {path, "gzip data is damaged near byte"}, [&] { read_points(path); });
}

TEST_F(TextReader, LinesThatAreTooWide) {
  for (const char delimiter : {',', '\t', ';', ' '}) {
    std::string line;
    for (int i = 0; i < (1 << 20) + 1; ++i) line += {'1', delimiter};
    line.pop_back();
    const std::string wide = folder_.file("wide.csv", line + "\n");
    expect_error(ErrorCode::kBadData, {wide, "more than 1048576 fields", ".npy"}, [&] { read_points(wide); });
    line.resize(line.size() - 2);
    EXPECT_EQ(read_points(folder_.file("most.csv", line + "\n" + line + "\n")).view.d, 1 << 20);
  }
  const std::string commas = folder_.file("commas.csv", std::string(3 << 20, ','));
  expect_error(ErrorCode::kBadData, {commas, "more than 1048576 fields"}, [&] { read_points(commas); });
}

// The first line has many fields, and many lines follow: they are refused before there is a table of all of them.
TEST_F(TextReader, ManyRaggedLinesTakeNoMemory) {
  std::string line = "1";
  for (int i = 0; i < 99999; ++i) line += ",1";
  std::string text;
  for (int i = 0; i < 6; ++i) text += line + "\n";  // as many as are looked at before the rest is read
  for (int i = 0; i < 1000000; ++i) text += "1\n";  // 400 GB of points
  const std::string path = folder_.file("ragged.csv", text);
  expect_error(ErrorCode::kBadData, {path, "line 7 has 1 fields, the lines before have 100000"},
               [&] { read_points(path); });
}

// Lines that reach over many of the pieces that threads take.
TEST_F(TextReader, LinesLongerThanPieces) {
  const std::string zeros(3 << 20, '0');
  const std::string path = folder_.file("long.csv", "1,2\n" + zeros + "7,4\n5," + zeros + "8\n" + zeros + ",9");
  for (const int threads : {1, 3}) {
    EXPECT_EQ(values_of(read_points(path, {.threads = threads}).view), (Values{1, 2, 7, 4, 5, 8, 0, 9}));
  }
}

// Four groups a minute apart, in seconds since 1970: float32 tells two of them apart at most.
TEST_F(TextReader, TypeFollowsTheNumbers) {
  const std::string times = "t,x\n1700000000.123,1\n1700000060.123,2\n1700000120.123,3\n1700000180.123,4\n";
  const Dataset data = read(times);
  EXPECT_EQ(data.view.type, DataType::kFloat64);
  EXPECT_EQ(values_of(data.view)[2], 1700000060.123);
  EXPECT_EQ(read(times, with_columns({"x"})).view.type, DataType::kFloat32) << "a column that is not used";
  EXPECT_EQ(read(times, with_type(DataType::kFloat32)).view.type, DataType::kFloat32);
  EXPECT_EQ(read("0.1,2.25\n0.2,3.5\n").view.type, DataType::kFloat32);
  EXPECT_EQ(read("1e39\n1\n").view.type, DataType::kFloat64);
}

// What decides may stand in the last row, and a column of text decides nothing, wherever its text begins.
TEST_F(TextReader, TypeOfLongFiles) {
  std::string late = "a,b\n", text = "a,b\n";
  for (int i = 0; i < 200000; ++i) {
    late += fmt::format("{},{}\n", i % 100, i % 7);
    text += fmt::format("1700000{:03d}.5,{}\n", i % 1000, i % 7);
  }
  late += "16777217,1\n16777216,2\n";
  text += "oops,1\n";
  for (const int threads : {1, 3}) {
    ReadOptions options;
    options.threads = threads;
    const Dataset data = read(late, options);
    EXPECT_EQ(data.view.type, DataType::kFloat64);
    EXPECT_EQ(values_of(data.view)[400000], 16777217);
    options.numeric_only = true;
    EXPECT_EQ(read(text, options).view.type, DataType::kFloat32);
  }
}

TEST_F(TextReader, LikeTheFit) {
  PointsOfFit fit;
  fit.source = {3, {3, 1}, {"x", "y"}};
  fit.column_names = {"x", "y"};
  fit.columns = 2;
  fit.type = DataType::kFloat64;
  ReadOptions options;
  options.like = fit;
  const Dataset named = read("word,y,more,x\na,1,9,2\nb,3,9,4\n", options);
  EXPECT_EQ(values_of(named.view), (Values{2, 1, 4, 3}));
  EXPECT_EQ(named.view.type, DataType::kFloat64);
  EXPECT_EQ(values_of(read("1,text,2\n3,text,4\n", options).view), (Values{2, 1, 4, 3})) << "by their place";
  EXPECT_EQ(values_of(read("1,2\n3,4\n", options).view), (Values{1, 2, 3, 4})) << "cut out before";
  bad("word,y\na,1\nb,3\n", {"has no column 'x'", "fitted to the columns x, y", "has word, y"}, options);
  bad("1,2,3,4\n5,6,7,8\n", {"has 4 columns", "column 3, 1 of a file with 3", "--columns"}, options);
  options.columns = {"2", "1"};
  EXPECT_EQ(values_of(read("1,2,3,4\n5,6,7,8\n", options).view), (Values{2, 1, 6, 5})) << "the caller knows better";
}

// Names that several columns share tell nothing: one column would be read for all of them.
TEST_F(TextReader, LikeAFitWithOneNameTwice) {
  PointsOfFit fit;
  fit.source = {2, {1, 2}, {"a", "a"}};
  fit.column_names = {"a", "a"};
  fit.columns = 2;
  ReadOptions options;
  options.like = fit;
  EXPECT_EQ(values_of(read("a,a\n1,2\n3,4\n", options).view), (Values{1, 2, 3, 4}));
  EXPECT_EQ(values_of(read("1,2\n3,4\n", options).view), (Values{1, 2, 3, 4}));
  bad("a,b\n1,2\n3,4\n", {"several columns of the model", "share one", "a, a", "has a, b"}, options);
  bad("b,a\n1,2\n3,4\n", {"several columns of the model", "share one", "a, a", "has b, a"}, options);
  options.columns = {"1-2"};
  EXPECT_EQ(values_of(read("a,b\n1,2\n3,4\n", options).view), (Values{1, 2, 3, 4}));
}

// Between commas, numbers with decimal commas stand in quotes: reports 23157 and 18797 about polars, 6604 about
// data.table.
TEST_F(TextReader, DecimalCommasInQuotes) {
  ReadOptions options;
  options.decimal = ',';
  EXPECT_EQ(values("\"52,5\",\"13,4\"\n\"1,5\",\"2,25\"\n", options), (Values{52.5, 13.4F, 1.5, 2.25}));
  EXPECT_EQ(values("a,b\n\"1,25\",3\n", options), (Values{1.25, 3}));
  EXPECT_EQ(values("13800,10864,\"27,5\",\"3,25\"\n", options), (Values{13800, 10864, 27.5, 3.25}));
  EXPECT_EQ(values("a,b\n\"1.299,5\",7\n", options), (Values{1299.5, 7}));
  EXPECT_EQ(values("\"1,5\";\"2,5\"\n\"3,5\";4\n", options), (Values{1.5, 2.5, 3.5, 4}));
  EXPECT_EQ(values("\"1,5\"\t2\n3\t\"4,5\"\n", options), (Values{1.5, 2, 3, 4.5}));
  EXPECT_EQ(values("\"1,5\"\n\"2,5\"\n", options), (Values{1.5, 2.5}));
  EXPECT_EQ(values("3,5\n2,25\n", options), (Values{3.5, 2.25})) << "one column, and not two";
  bad("\"52,5\",\"13,4\"\n", {"'52,5' is not a number", "--decimal ,"});
}

// Reports 8357, 2857 and 10748 about xgboost, 7242 about scikit-learn: rows for a model have its columns in another
// order, or among others. So have initial prototypes for points.
TEST_F(TextReader, LikeOtherPoints) {
  ReadOptions options;
  options.like = points_of_fit(read("x,y\n1,2\n3,4\n"));
  EXPECT_EQ(values("y,x\n2,1\n", options), (Values{1, 2}));
  EXPECT_EQ(values("word,y,more,x\na,2,7,1\n", options), (Values{1, 2}));
  EXPECT_EQ(values("1,2\n", options), (Values{1, 2})) << "by their place";
  EXPECT_EQ(read("1,2,3\n", options).view.d, 3) << "the fit says that it has others";
  bad("x,z\n1,2\n", {"has no column 'y'", "has x, z"}, options);
  options.like = points_of_fit(read("1,2\n3,4\n"));
  EXPECT_EQ(values("y,x\n2,1\n", options), (Values{2, 1})) << "nothing tells";
  options.like = points_of_fit(read("x,x\n1,2\n3,4\n"));
  EXPECT_EQ(values("x,x\n2,1\n", options), (Values{2, 1}));
  bad("x,y\n1,2\n", {"several columns"}, options);
}

TEST_F(TextReader, AnyTableIsDescribed) {
  const std::string path = folder_.file("table.csv", "id,word,x\n1,a,\n2,b,0.5\n3,,nan\n4,a,-inf\n");
  for (const int threads : {1, 3}) {
    ReadOptions options;
    options.threads = threads;
    const TableSummary table = describe_table(path, options);
    ASSERT_EQ(table.columns.size(), 3u);
    EXPECT_EQ(table.rows, 4);
    EXPECT_EQ(table.type, DataType::kFloat32);
    EXPECT_EQ(table.columns[0].numbers, 4);
    EXPECT_EQ(table.columns[0].distinct, 4);
    const TableColumn& word = table.columns[1];
    EXPECT_EQ(word.name, "word");
    EXPECT_EQ(word.text, 3);
    EXPECT_EQ(word.empty, 1);
    EXPECT_EQ(word.distinct, 2);
    EXPECT_EQ(word.example, "a");
    EXPECT_TRUE(std::isnan(word.values.mean));
    const TableColumn& x = table.columns[2];
    EXPECT_EQ(x.numbers, 3);
    EXPECT_EQ(x.empty, 1);
    EXPECT_EQ(x.values.missing, 1) << "NaN; the empty field is counted as such";
    EXPECT_EQ(x.values.infinite, 1);
    EXPECT_EQ(x.values.mean, 0.5);
    EXPECT_EQ(x.distinct, 2);
  }
}

TEST_F(TextReader, DistinctValuesAreThoseOfTheFile) {
  const std::string path = folder_.file("ts.csv", "1700000000.1,9007199254740992\n1700000000.2,9007199254740993\n");
  const TableSummary table = describe_table(path);
  EXPECT_EQ(table.columns[0].distinct, 2);
  EXPECT_TRUE(table.columns[0].wide);
  EXPECT_EQ(table.columns[1].distinct, 2) << "also where binary64 is too narrow";
  EXPECT_EQ(table.type, DataType::kFloat64);
}

}  // namespace
}  // namespace manymeans::test
