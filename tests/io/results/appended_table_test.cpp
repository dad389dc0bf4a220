#include "io/files.h"

#include <sys/stat.h>

#include <memory>

namespace manymeans::test {
namespace {

// What becomes of a table when the labels 0, 1, 2, ... are appended to its rows.
class AppendedTableTest : public testing::Test {
 protected:
  std::string appended(const std::string& text, ReadOptions options = {}, const std::string& name = "table.csv") {
    const std::string path = folder_.file(name, text);
    const std::string output = folder_ / output_;
    const AppendedTable table(path, output, options);
    const Dataset points = read_points(path, options);
    Labels labels(points.view.n, 256);
    for (uint32_t i = 0; i < points.view.n; ++i) labels.write(i, 1, &i);
    std::vector<AppendedColumn> columns = {{"cluster", &labels, {}}};
    const std::vector<double> distances(static_cast<size_t>(points.view.n), 0.5);
    if (distances_) columns.push_back({"distance", nullptr, distances});
    table.write(points, columns);
    return content_of(output);
  }

  Folder folder_;
  std::string output_ = "out.csv";
  bool distances_ = false;
};

TEST_F(AppendedTableTest, KeepsEveryLine) {
  EXPECT_EQ(appended("x,y\n1,2\n 3 , 4.50\n"), "x,y,cluster\n1,2,0\n 3 , 4.50,1\n");
  EXPECT_EQ(appended("1,2\n3,4"), "1,2,0\n3,4,1") << "no names, and no end of the last line";
  EXPECT_EQ(appended("sep=;\n1;2\n3;4\n"), "sep=;\n1;2;0\n3;4;1\n");
  EXPECT_EQ(appended("x;y\r\n1;2\r\n3;4\r\n"), "x;y;cluster\r\n1;2;0\r\n3;4;1\r\n");
  EXPECT_EQ(appended("\xef\xbb\xbf# made by hand\n\nx,y\n1,2\n\n"),
            "\xef\xbb\xbf# made by hand\n\nx,y,cluster\n1,2,0\n\n");
  EXPECT_EQ(appended("\xef\xbb\xbf"
                     "1,2\n"),
            "\xef\xbb\xbf"
            "1,2,0\n");
}

TEST_F(AppendedTableTest, KeepsLinesWhoseDelimitersTheOutputMayHave) {
  for (const char* output : {"out.tsv", "out.txt"}) {
    output_ = output;
    EXPECT_EQ(appended("x\ty\n 1\t2 \n", {}, "table.tsv"), "x\ty\tcluster\n 1\t2 \t0\n");
  }
  EXPECT_EQ(appended("1 2\n3  4 \n"), "1 2 0\n3  4  1\n");
  EXPECT_EQ(appended("1,2\n3,4\n"), "1,2,0\n3,4,1\n");
}

// The ending of the output says what stands between the fields.
TEST_F(AppendedTableTest, ChangesDelimiters) {
  output_ = "out.tsv";
  EXPECT_EQ(appended("# made\nx,y\r\n1,2\r\n 3 , 4.50"), "# made\nx\ty\tcluster\r\n1\t2\t0\r\n 3 \t 4.50\t1");
  EXPECT_EQ(appended("x;y\n1;\n2;3\n", {.columns = {"x"}}), "x\ty\tcluster\n1\t\t0\n2\t3\t1\n");
  EXPECT_EQ(appended("1 2\n3  4 \n"), "1\t2\t0\n3\t4\t1\n");
  output_ = "OUT.CSV";
  EXPECT_EQ(appended("x\ty\n1\t2\n", {}, "table.tsv"), "x,y,cluster\n1,2,0\n");
  EXPECT_EQ(appended(" 1 2\n3  4 \n"), "1,2,0\n3,4,1\n");
  EXPECT_EQ(appended("x\n1\n2\n"), "x,cluster\n1,0\n2,1\n") << "one column, which no delimiter shows";
  EXPECT_EQ(appended("2 3\n1 2 3\n4 5 6\n"), "2,4\n1,2,3,0\n4,5,6,1\n");
  EXPECT_EQ(appended("# y x\n1 2\n3 4\n"), "y,x,cluster\n1,2,0\n3,4,1\n");
}

TEST_F(AppendedTableTest, QuotesWhatTheOtherDelimiterWouldCut) {
  const ReadOptions numbers{.columns = {"n"}};
  EXPECT_EQ(appended("a, b\tn\tc\n\"d,\t e\"\t1\t5\" wide\n", numbers, "table.tsv"),
            "\"a, b\",n,c,cluster\n\"d,\t e\",1,\"5\"\" wide\",0\n");
  output_ = "out.tsv";
  EXPECT_EQ(appended("n,a\tb\n1,\"c, d\"\n", numbers), "n\t\"a\tb\"\tcluster\n1\t\"c, d\"\t0\n");
  EXPECT_EQ(appended("n,a\n1, b \"q\" \n2,\t\"c\" \n3, \"d\" \n", numbers),
            "n\ta\tcluster\n1\t\"b \"\"q\"\"\"\t0\n2\t\"c\"\t1\n3\t \"d\" \t2\n")
      << "blanks around a field are none of it";
  output_ = "out.csv";
  EXPECT_EQ(appended("n 'a\n1 \"b c\"\n2 d,e\n", numbers), "n,'a,cluster\n1,\"b c\",0\n2,\"d,e\",1\n");
}

TEST_F(AppendedTableTest, DecimalCommasNeverStandBetweenCommas) {
  distances_ = true;
  const ReadOptions comma{.decimal = ','};
  EXPECT_EQ(appended("x;y\n1,5;2\n", comma), "x;y;cluster;distance\n1,5;2;0;0,5\n");
  EXPECT_EQ(appended("x\ty\n1,5\t2\n", comma, "table.tsv"), "x;y;cluster;distance\n1,5;2;0;0,5\n");
  output_ = "out.tsv";
  EXPECT_EQ(appended("x;y\n1,5;2\n", comma), "x\ty\tcluster\tdistance\n1,5\t2\t0\t0,5\n");
}

TEST_F(AppendedTableTest, KeepsTextAndQuotes) {
  EXPECT_EQ(appended("\"a, b\",x,\"\"\"q\"\"\"\n\"c, d\",1,\"\"\n", {.columns = {"x"}}),
            "\"a, b\",x,\"\"\"q\"\"\",cluster\n\"c, d\",1,\"\",0\n");
}

TEST_F(AppendedTableTest, NamesThatAreTaken) {
  EXPECT_EQ(appended("cluster,cluster_2\n1,2\n"), "cluster,cluster_2,cluster_3\n1,2,0\n");
}

TEST_F(AppendedTableTest, ASizeInTheFirstLineIsThatOfTheNewTable) {
  output_ = "out.txt";
  EXPECT_EQ(appended("2 3\n1 2 3\n4 5 6\n"), "2 4\n1 2 3 0\n4 5 6 1\n");
}

TEST_F(AppendedTableTest, RowsThatWereLeftOut) {
  ReadOptions drop;
  drop.rules.missing = Missing::kDrop;
  EXPECT_EQ(appended("x,y\n1,2\n,4\n5,6\nNA,1\n", drop), "x,y,cluster\n1,2,0\n,4,\n5,6,1\nNA,1,\n");
  EXPECT_EQ(appended("3 4\n1 NA\n", drop), "3,4,0\n1,NA,\n");
  output_ = "out.txt";
  EXPECT_EQ(appended("3 4\n1 NA\n", drop), "3 4 0\n1 NA \"\"\n") << "among blanks nothing is no field";
}

TEST_F(AppendedTableTest, Distances) {
  distances_ = true;
  EXPECT_EQ(appended("x,y\n1,2\n"), "x,y,cluster,distance\n1,2,0,0.5\n");
}

TEST_F(AppendedTableTest, PackedText) {
  EXPECT_EQ(appended(gzipped("x,y\n1,2\n"), {}, "table.csv.gz"), "x,y,cluster\n1,2,0\n");
}

TEST_F(AppendedTableTest, ManyLines) {
  std::string text = "x\n", expected = "x,cluster\n";
  for (int i = 0; i < 300000; ++i) {
    text += "12345.678,1\n";
    expected += "12345.678,1," + std::to_string(i % 256) + "\n";
  }
  text.insert(1, ",y");
  expected.insert(1, ",y");
  EXPECT_TRUE(appended(text) == expected);
}

TEST_F(AppendedTableTest, RefusesWhatCannotBeReadTwice) {
  expect_error(ErrorCode::kUsage, {"append", "standard input", "--append is for one file of text"},
               [&] { AppendedTable("-", "out.csv", {}); });
  expect_error(ErrorCode::kUsage, {"append", "a.npy", "no such table"},
               [&] { AppendedTable(folder_ / "a.npy", "out.csv", {}); });
  const std::string pipe = folder_ / "pipe.csv";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_error(ErrorCode::kUsage, {"append", "pipe.csv", "once read"}, [&] { AppendedTable(pipe, "out.csv", {}); });
}

TEST_F(AppendedTableTest, RefusesAFileThatChanged) {
  const std::string path = folder_.file("table.csv", "1,2\n3,4\n");
  const AppendedTable table(path, folder_ / "out.csv", {});
  const Dataset points = read_points(path);
  const Labels labels(2, 2);
  folder_.file("table.csv", "1,2\n3,4\n5,6\n");
  const std::vector<AppendedColumn> columns = {{"cluster", &labels, {}}};
  expect_error(ErrorCode::kBadData, {"table.csv", "written to"}, [&] { table.write(points, columns); });
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"table.csv"});
}

}  // namespace
}  // namespace manymeans::test
