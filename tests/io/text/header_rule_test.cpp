// Whether the first line of a text table is taken as names, and what is said where it could be either.
#include "io/files.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace manymeans::test {
namespace {

struct Case {
  const char* what;
  std::string text;
  std::vector<std::string> names;  // empty: the first line is a row
  bool warns;
  int64_t rows;
};

// All columns as they are: text becomes a category, and a gap 0.
ReadOptions any_table() {
  ReadOptions options;
  options.rules = {.missing = Missing::kValue, .missing_value = 0, .one_hot = true, .max_categories = 1000};
  return options;
}

bool warns_of_header(const Dataset& data) {
  return std::ranges::any_of(data.warnings, [](const std::string& text) { return text.find("--header") != text.npos; });
}

void check(const std::vector<Case>& cases) {
  const Folder folder;
  for (const Case& one : cases) {
    for (const bool packed : {false, true}) {
      const std::string name = packed ? "table.csv.gz" : "table.csv";
      const Dataset data = read_points(folder.file(name, packed ? gzipped(one.text) : one.text), any_table());
      EXPECT_EQ(data.source.names, one.names) << one.what;
      EXPECT_EQ(data.view.n, one.rows) << one.what;
      EXPECT_EQ(warns_of_header(data), one.warns) << one.what;
    }
  }
}

Dataset read(const std::string& text, Header header, const std::string& name = "table.csv") {
  static const Folder folder;
  ReadOptions options;
  options.header = header;
  return read_points(folder.file(name, text), options);
}

using Names = std::vector<std::string>;
const std::string kFloats = "0.25,-1.5,2.75\n-1.25,0.5,0.125\n1.75,-0.5,1.5\n0.5,1.25,-2.25\n";
const std::string kCounts = "5,17,8\n6,19,3\n8,18,7\n9,11,4\n";

std::string with_delimiter(std::string text, char delimiter) {
  std::ranges::replace(text, ',', delimiter);
  return text;
}

TEST(HeaderRule, NumbersAsNames) {
  const Names three = {"0", "1", "2"};
  check({
      {"what pandas writes of an array", "0,1,2\n" + kFloats, three, true, 4},
      {"the same of integers", "0,1,2\n" + kCounts, three, true, 4},
      {"the same of rows that count", "0,1,2\n0,1,2\n3,4,5\n6,7,8\n9,10,11\n", three, true, 4},
      {"with the index", ",0,1\n0,1.5,2.5\n1,2.25,0.5\n2,7.5,9.25\n", {"", "0", "1"}, true, 3},
      {"between semicolons", with_delimiter("0,1,2\n" + kFloats, ';'), three, true, 4},
      {"between tabs", with_delimiter("0,1,2\n" + kFloats, '\t'), three, true, 4},
      {"between blanks", with_delimiter("0,1,2\n" + kFloats, ' '), three, true, 4},
      {"a mark and comments", "\xef\xbb\xbf# made by hand\n\n0,1,2\n" + kFloats, three, true, 4},
      {"line ends of Windows", "0,1,2\r\n1.5,2.5,0.5\r\n0.25,1.5,3.5\r\n2.5,3.5,0.75\r\n", three, true, 3},
      {"floats as names", "1.0,2.0,3.0\n" + kCounts, {"1.0", "2.0", "3.0"}, true, 4},
      {"years", "2019,2020,2021\n" + kFloats, {"2019", "2020", "2021"}, true, 4},
      {"years behind a text",
       "country,2019,2020\nPeru,1.5,2\nCuba,1.25,3.5\nChad,0.5,7.5\n",
       {"country", "2019", "2020"},
       true,
       3},
      {"years above counts",
       "country,2019,2020\nPeru,15,2\nCuba,12,35\nChad,5,75\n",
       {"country", "2019", "2020"},
       true,
       3},
      {"falling years", "2021,2020,2019\n" + kCounts, {"2021", "2020", "2019"}, true, 4},
      {"wavelengths",
       "400,402.5,405,407.5\n0.5,0.25,0.125,0.5\n0.25,0.5,0.75,0.5\n0.5,0.5,0.25,0.75\n",
       {"400", "402.5", "405", "407.5"},
       true,
       3},
      {"names in quotes above numbers without", "\"10\",\"7\"\n9,12\n11,5\n10,7\n", {"10", "7"}, true, 3},
      {"dates",
       "country,2024-01-01,2024-02-01\nPeru,1.5,2\nCuba,1.25,3.5\n",
       {"country", "2024-01-01", "2024-02-01"},
       false,
       2},
  });
}

TEST(HeaderRule, RowsOfNumbers) {
  check({
      {"rows that count", "0,1,2\n3,4,5\n6,7,8\n9,10,11\n", {}, false, 4},
      {"small integers", "1,2\n1,3\n9,8\n9,9\n", {}, false, 4},
      {"years in rows", "1950,2001\n1960,2010\n1955,2003\n", {}, false, 3},
      {"orders of preference", "0,1,2,3,4\n4,3,2,1,0\n1,0,2,3,4\n2,1,0,4,3\n", {}, false, 4},
      {"labels", "0\n1\n2\n0\n1\n", {}, false, 5},
      {"measurements", "5.1,3.5,1.4\n4.9,3.1,1.5\n4.7,3.2,1.25\n", {}, false, 3},
      {"a gap", "NA,5,6\n1,4,6\n9,8,7\n2,3,4\n", {}, false, 4},
      {"a gap among floats", "5.5,n/a,6.25\n1.5,4.5,6.5\n9.5,8.25,7.5\n2.5,3.5,4.5\n", {}, false, 4},
      {"an empty field", ",5,6\n1,4,6\n9,8,7\n2,3,4\n", {}, false, 4},
      {"a text that comes again", "tcp,1,2.5\nudp,2,3.5\ntcp,3,0.5\n", {}, false, 3},
      {"it could be names: a series from 0", "0\n0.1\n0.2\n0.3\n", {}, true, 4},
      {"it could be names: integers above fractions", "12,305\n1.5,2.5\n0.25,1.5\n2.5,3.5\n", {}, true, 4},
      {"it could be names: years that other numbers surround",
       "2019,2020\n1000,5000\n3000,1500\n2500,2700\n",
       {},
       true,
       4},
  });
}

// Names that are no numbers, and texts that are no names.
TEST(HeaderRule, Texts) {
  check({
      {"above numbers", "x,\"y \"\"z\"\"\"\n1,2\n3,4\n", {"x", "y \"z\""}, false, 2},
      {"above gaps", "name,score\na,NA\nb,NA\nc,\nd,5\n", {"name", "score"}, false, 4},
      {"one that says a gap", "NA,x\n1,5\n9,8\n", {"NA", "x"}, false, 2},
      {"alone", "NA\n1\n2\n3\n", {}, true, 4},
      {"a sign for a gap", "?,5,6\n1,4,6\n9,8,7\n2,3,4\n", {}, false, 4},
      {"signs", "$,%\n1,5\n9,8\n", {"$", "%"}, false, 2},
      {"text in each column", "color,size\nred,S\nblue,M\nred,M\n", {"color", "size"}, true, 3},
      {"one of them the index", ",color\n0,red\n1,blue\n2,red\n", {"", "color"}, true, 3},
      {"text in each column, and no names", "red,S\nblue,M\nred,M\n", {}, false, 3},
      {"one column of text", "color\nred\nblue\nred\n", {}, true, 4},
  });
}

// Numbers but for their signs may be a row as well as names.
TEST(HeaderRule, AlmostNumbers) {
  for (const char* text : {"<0.1",
                           "\xe2\x88\x92"
                           "5",
                           "5%", "1_000", "1D+03", "(5)", "5-", "1'234.5",
                           "\xe2\x89\xa4"
                           "3",
                           "7cm"}) {
    const std::string first(text);
    check({
        {text, first + "\n0.5\n0.7\n9\n", {first}, true, 3},
        {text, first + "," + first + "\n0.5,3\n0.7,4\n9,1\n", {first, first}, true, 3},
        {text, "id," + first + "\n5,3\n7,4\n9,1\n", {"id", first}, false, 3},
    });
  }
}

// np.savetxt(header="y x") writes the names into a comment.
TEST(HeaderRule, NamesInAComment) {
  const auto case_of = [](const char* text, Names names, int64_t rows) {
    const bool warns = !names.empty();
    return Case{text, text, std::move(names), warns, rows};
  };
  check({
      case_of("# y x\n2 1\n4 3\n6 5\n", {"y", "x"}, 3),
      case_of("# made by hand\n#y,x\r\n2,1\r\n4,3\r\n", {"y", "x"}, 2),
      case_of("##v1\n#CHROM\tPOS\n1\t5\n2\t7\n", {"CHROM", "POS"}, 2),
      case_of("#,x,y\n1,2.5,3.5\n2,7.5,8.5\n", {"#", "x", "y"}, 2),
      case_of("# color v\nred 5\nblue 7\nred 8\n", {"color", "v"}, 3),
      case_of("# y x\n0 1\n0.5 3\n0.25 5\n", {"y", "x"}, 3),
      case_of("# three words here\n2 1\n4 3\n", {}, 2),
      case_of("# x x\n2 1\n4 3\n", {}, 2),
      case_of("# y x\n\n2 1\n4 3\n", {}, 2),
      case_of("# names\n2\n4\n", {}, 2),
  });
  check({{"names below the comment", "# y x\na b\n2 1\n4 3\n", {"a", "b"}, false, 2}});
  EXPECT_TRUE(read("# y x\n2 1\n4 3\n", Header::kNo).column_names.empty());
  EXPECT_EQ(read("# y x\n2 1\n4 3\n", Header::kYes).column_names, (Names{"2", "1"}));
}

TEST(HeaderRule, NamesOfTheFitInAComment) {
  const Folder folder;
  ReadOptions options;
  options.like = points_of_fit(read_points(folder.file("fit.csv", "x,y\n1,2\n3,4\n")));
  EXPECT_EQ(values_of(read_points(folder.file("yx.txt", "# y x\n2 1\n"), options).view), (Values{1, 2}));
  EXPECT_EQ(values_of(read_points(folder.file("note.txt", "# two words\n1 2\n"), options).view), (Values{1, 2}));
}

TEST(HeaderRule, RowsInComments) {
  const auto warnings = [](const char* text) { return read(text, Header::kNo).warnings; };
  const auto hash = warnings("#5,255,0\n#7,0,255\n8,0,0\n9,255,255\n");
  ASSERT_EQ(hash.size(), 1u);
  EXPECT_NE(hash[0].find("2 of them look like rows ('#5,255,0')"), std::string::npos) << hash[0];
  EXPECT_EQ(warnings("#5\n7\n8\n").size(), 1u);
  EXPECT_EQ(warnings("# version 3\n1 2\n3 4\n").size(), 0u);
  EXPECT_EQ(warnings("# 1 2 3\n1 2\n3 4\n").size(), 0u);
  ReadOptions options;
  options.exclude = {"1"};
  const Folder folder;
  const Dataset colors = read_points(folder.file("c.csv", "#ff0000,255,0\nblack,0,0\nwhite,255,255\n"), options);
  EXPECT_EQ(colors.view.n, 2);
  ASSERT_EQ(colors.warnings.size(), 1u);
  EXPECT_NE(colors.warnings[0].find("'#ff0000,255,0'"), std::string::npos);
  EXPECT_EQ(read_points(folder.file("n.csv", "c,r,g\n#ff0000,255,0\nblack,0,0\n"), options).view.n, 2);
  EXPECT_EQ(read_points(folder.file("q.csv", "\"#ff0000\",255,0\nblack,0,0\n"), options).view.n, 2);
}

TEST(HeaderRule, DatesAreNoNames) {
  const Folder folder;
  const TableSummary table = describe_table(folder.file("d.csv", "2024-01-01,red\n2024-01-02,blue\n2024-01-03,red\n"));
  EXPECT_EQ(table.rows, 3);
  EXPECT_TRUE(table.warnings.empty());
}

// Of public reports about other readers; /* ... */ has the report.
TEST(HeaderRule, PublicReports) {
  check({
      /* pandas 33188 */
      {"the next row has the same texts",
       "1540,125205,SALE,04-JUN-18,-3,-.625\n1540,125205,SALE,29-JUN-18,-1.00,-0.62\n"
       "1540,125205,SALE,09-JUL-18,-3.00,-0.62\n",
       {},
       false,
       3},
      /* cpython 102386 */
      {"numbers and texts in one column", "col1,col2\n1,2\na,b\nA,B\n22,22\n", {"col1", "col2"}, true, 4},
      /* cpython 131043 */
      {"two rows of text",
       "filename,path\nc.txt,/tmp/c.txt\npython.txt,/tmp/python.txt\n",
       {"filename", "path"},
       true,
       2},
      /* cpython 104380 */
      {"a last column without values",
       "sample,is_nc,fastq\nU55,False,\nU42,False,\nU54,False,\n",
       {"sample", "is_nc", "fastq"},
       false,
       3},
      /* blaze 1254 */
      {"sentences",
       "x,tl,z\nBe careful driving.,hy,en\nBe careful.,hy,en\nChicago is far.,hy,en\n",
       {"x", "tl", "z"},
       true,
       3},
      /* qsv-sniffer 15 */
      {"a truth table", "a;whatever\n0;0\n1;1\n", {"a", "whatever"}, false, 2},
      /* arrow-rs 10361 */
      {"a sign before the first number", "+1\n2\n3\n", {}, false, 3},
      /* readr 1103: write.csv of R names the rows */
      {"row names of R", "\"\",\"x\"\n\"1\",3\n\"2\",4\n", {"", "x"}, false, 2},
      /* duckdb 6192 */
      {"one column of text", "continent\nAfrica\nAsia\nEurope\n", {}, true, 4},
      /* rill 2001 */
      {"no column of numbers", "code;name\nAF;Africa\nAS;Asia\nEU;Europe\n", {"code", "name"}, true, 3},
      /* csvkit 938 */
      {"a header of texts and numbers", "A,B,1,2018\nx,y,0.5,7.5\nx,z,1.5,2.5\nv,y,2.5,3.5\n", {}, true, 4},
  });
}

TEST(HeaderRule, TheCallerKnows) {
  for (const char* text : {"1,2\n3,4\n5,6\n", "\xef\xbb\xbf#c\n1,2\r\n3,4\r\n5,6\r\n", "1 2\n3 4\n5 6\n"}) {
    const Dataset named = read(text, Header::kYes);
    EXPECT_EQ(named.column_names, (Names{"1", "2"}));
    EXPECT_EQ(values_of(named.view), (Values{3, 4, 5, 6}));
    EXPECT_TRUE(named.warnings.empty());
    const Dataset rows = read(text, Header::kNo);
    EXPECT_TRUE(rows.column_names.empty());
    EXPECT_EQ(rows.view.n, 3);
  }
  const Dataset rows = read("0,1,2\n" + kFloats, Header::kNo);
  EXPECT_EQ(rows.view.n, 5);
  EXPECT_TRUE(rows.warnings.empty());
  // duckdb 6011, polars 1582: a first line of text that shall be a row.
  expect_error(ErrorCode::kBadData, {"row 1 (line 1), column 1: 'x' is not a number"},
               [&] { read("x,y\n1,2\n3,4\n", Header::kNo); });
  expect_error(ErrorCode::kBadData, {"line 1 (the names of the columns) has 2 fields, line 2 has 3"},
               [&] { read("1,2\n1,2,3\n", Header::kYes); });
  expect_error(ErrorCode::kBadData, {"0 rows of 2 columns"}, [&] { read("1,2\n", Header::kYes); });
  EXPECT_EQ(read("2 3\n1 2 3\n4 5 6\n", Header::kAuto).view.n, 2) << "the size of the table";
  expect_error(ErrorCode::kBadData, {"line 2 has 3 fields"}, [&] { read("2 3\n1 2 3\n4 5 6\n", Header::kNo); });
}

TEST(HeaderRule, OnlyTextHasOne) {
  const Folder folder;
  ReadOptions options;
  options.header = Header::kYes;
  const std::string path = folder.file("table.fvecs", std::string("\1\0\0\0\0\0\0\0", 8));
  expect_error(ErrorCode::kUsage, {"[header] ", "is no text table"}, [&] { read_points(path, options); });
  expect_error(ErrorCode::kUsage, {"[header] ", "is no text table"}, [&] { describe_table(path, options); });
}

// A model knows the names of its columns, so that a file of one row is read as well as one of many.
TEST(HeaderRule, NamesOfTheFit) {
  const Folder folder;
  const Dataset fitted = read_points(folder.file("fit.csv", "0,1,2\n" + kFloats));
  ReadOptions options;
  options.like = points_of_fit(fitted);
  const Dataset one = read_points(folder.file("one.csv", "2,0,1\n7,5,6\n"), options);
  EXPECT_EQ(values_of(one.view), (Values{5, 6, 7}));
  EXPECT_TRUE(one.warnings.empty());
  EXPECT_EQ(read_points(folder.file("rows.csv", "2,0,3\n7,5,6\n"), options).view.n, 2);
}

TEST(HeaderRule, SeveralFiles) {
  const Folder folder;
  std::vector<std::string> paths;
  for (const char* name : {"a.csv", "b.csv", "c.csv"}) {
    paths.push_back(folder.file(name, "country,2019,2020\nPeru,1.5,2\nCuba,1.25,3.5\nChad,0.5,7.5\n"));
  }
  ReadOptions options;
  options.numeric_only = true;
  EXPECT_EQ(read_shards(paths, options).view.n, 9);
  options.rules.missing = Missing::kMean;
  EXPECT_EQ(read_shards(paths, options).view.n, 9);
  paths[1] = folder.file("b.csv", "Peru,1.5,2\nCuba,1.25,3.5\nChad,0.5,7.5\n");
  expect_error(ErrorCode::kBadData, {"b.csv", "--header yes or no"}, [&] { read_shards(paths, options); });
  options.rules.missing = Missing::kError;
  expect_error(ErrorCode::kBadData, {"b.csv", "--header yes or no"}, [&] { read_shards(paths, options); });
}

}  // namespace
}  // namespace manymeans::test
