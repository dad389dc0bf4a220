// Labels, and the names of their rows.
#include <manymeans/label_table.h>

#include "core/data_type.h"
#include "io/files.h"

#include <string>
#include <vector>

namespace manymeans::test {
namespace {

using Texts = std::vector<std::string>;
using Numbers = std::vector<double>;

// Gaps are labels that a row has not.
const ReadOptions kGaps{.rules = {.missing = Missing::kValue, .missing_value = -1}};

Numbers numbers(const Dataset& table) {
  Numbers all;
  for (int64_t row = 0; row < table.view.n; ++row) {
    std::vector<double> values(static_cast<size_t>(table.view.d));
    widen_row(table.view, row, values.data());
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

class LabelTableTest : public testing::Test {
 protected:
  Dataset read(const std::string& text, const ReadOptions& options = {}, const std::string& name = "labels.csv") {
    LabelTable found = read_label_table(folder.file(name, text), options);
    beside = found.beside;
    classes = found.classes;
    return found.labels;
  }

  Folder folder;
  Texts beside, classes;
};

TEST_F(LabelTableTest, FindsTheNamesThatStandBeforeLabels) {
  for (const char* head : {"customer,label", "customer,labels", "customer,cluster", "customer,k12"}) {
    const Dataset table = read(std::string(head) + "\nb,0\n\"a, c\",1\n");
    EXPECT_EQ(table.ids, (Texts{"b", "a, c"})) << head;
    EXPECT_EQ(table.id_name, "customer");
    EXPECT_EQ(table.view.d, 1);
  }
  const Dataset several = read("7;k2;k3\nx;0;1\ny;1;2\n");
  EXPECT_EQ(several.ids, (Texts{"x", "y"}));
  EXPECT_EQ(several.view.d, 2);
  EXPECT_EQ(read("id,Label,k3_distance\nx,0,1\ny,1,2\n").ids, (Texts{"x", "y"}));
  EXPECT_EQ(read("id,k2,k3\nx,0,1\ny,1,2\n", {.columns = {"k3"}}).ids, (Texts{"x", "y"}));
  EXPECT_EQ(read(gzipped("id,label\nx,0\ny,1\n"), {}, "labels.csv.gz").ids, (Texts{"x", "y"}));
}

TEST_F(LabelTableTest, AnIndexWithoutANameIsOne) {
  const Dataset table = read(",label\n10,0\n11,1\n");
  EXPECT_EQ(table.ids, (Texts{"10", "11"}));
  EXPECT_EQ(table.id_name, "");
  EXPECT_EQ(table.view.d, 1);
}

TEST_F(LabelTableTest, WhatLabelsAreNamesNothing) {
  for (const char* text : {"label\n0\n1\n", "0\n1\n", "k2,k3\n0,1\n1,2\n", "label,k2\n0,1\n1,2\n", "1,0\n2,1\n",
                           "id,label,size\n1,0,3\n2,1,4\n", "id,k\n1,0\n2,1\n", "id,k2_distance\n1,0\n2,1\n"}) {
    EXPECT_TRUE(read(text).ids.empty()) << text;
  }
  EXPECT_TRUE(read("truth,label\n1,0\n2,1\n", {.columns = {"truth"}}).ids.empty()) << "it is asked for as labels";
  EXPECT_TRUE(read("truth,label\n1,0\n2,1\n", {.columns = {"1"}}).ids.empty());
  EXPECT_EQ(beside, (Texts{"truth", "label"}));
  read("k2,k3_distance\n0,1\n1,2\n");
  EXPECT_EQ(beside, Texts()) << "none of them can be names";
}

TEST_F(LabelTableTest, WhoNamesTheColumnIsHeard) {
  ReadOptions options{.columns = {"species"}};
  options.id = "id";
  const Dataset table = read("size,species,id\n1,0,a\n2,1,b\n", options);
  EXPECT_EQ(table.ids, (Texts{"a", "b"}));
  EXPECT_EQ(table.view.d, 1);
  options.id = "name";
  expect_error(ErrorCode::kUsage, {"id", "no column 'name'"}, [&] { read("size,species,id\n1,0,a\n", options); });
}

TEST_F(LabelTableTest, TextsAreClassesInTheOrderInWhichTheyFirstStand) {
  const Numbers expected{0, 0, 1, -1, 0, 2};
  const std::string rows = "setosa\nsetosa\n7\nNA\nsetosa\nbig\n";
  EXPECT_EQ(numbers(read("class\n" + rows, kGaps)), expected) << "what stands once before others names the column";
  EXPECT_EQ(numbers(read(rows, kGaps)), expected) << "and a text that stands there again is a class";
  EXPECT_EQ(classes, (Texts{"setosa", "7", "big"}));
  EXPECT_EQ(numbers(read("NA\na\na\n", kGaps)), (Numbers{-1, 0, 0})) << "a gap is no name";
  EXPECT_EQ(numbers(read("b\na\nb\n")), (Numbers{0, 1, 0}));
  EXPECT_EQ(numbers(read("size,class\n1,b\n2,a\n3,b\n", {.columns = {"class"}})), (Numbers{0, 1, 0}));
  EXPECT_EQ(numbers(read("1,b\n2,a\n3,b\n", {.columns = {"2"}})), (Numbers{0, 1, 0}));
  EXPECT_EQ(numbers(read("5\n3\n5\n")), (Numbers{5, 3, 5})) << "numbers stay what they are";
  EXPECT_EQ(classes, Texts());
}

TEST_F(LabelTableTest, AHeaderAboveNothingButTextIsOne) {
  const Dataset table = read("customer,label\nx,b\ny,b\nz,a\n");
  EXPECT_EQ(table.ids, (Texts{"x", "y", "z"}));
  EXPECT_EQ(table.id_name, "customer");
  EXPECT_EQ(numbers(table), (Numbers{0, 0, 1}));
  ReadOptions options{.columns = {"segment"}};
  options.id = "customer";
  const Dataset named = read("segment,customer\nb,x\na,y\n", options);
  EXPECT_EQ(named.ids, (Texts{"x", "y"}));
  EXPECT_EQ(numbers(named), (Numbers{0, 1}));
  EXPECT_EQ(named.first_line, 2);
  EXPECT_EQ(numbers(read(",class\n0,b\n1,a\n", {.columns = {"class"}})), (Numbers{0, 1})) << "an index of pandas";
}

TEST_F(LabelTableTest, TheOneColumnThatIsCalledLabelOrClusterHoldsTheLabels) {
  EXPECT_EQ(numbers(read("city,age,cluster\nOslo,4,1\nRome,5,0\n")), (Numbers{1, 0}));
  EXPECT_EQ(beside, (Texts{"city", "age", "cluster"}));
  EXPECT_EQ(numbers(read("age,Label,k\n4,1,8\n5,0,8\n")), (Numbers{1, 0}));
  EXPECT_EQ(read("label,cluster\n0,1\n1,2\n").view.d, 2) << "which one is not said";
  EXPECT_EQ(numbers(read("cluster,4\n0,1\n1,2\n", {.columns = {"4"}})), (Numbers{1, 2}));
}

TEST_F(LabelTableTest, WhatIsNoTableOfTextIsSaidByItsReader) {
  expect_error(ErrorCode::kBadData, {"labels.csv", "no rows"}, [&] { read("# nothing\n"); });
  expect_error(ErrorCode::kBadData, {"nowhere.csv", "no such file"}, [&] { read_label_table(folder / "nowhere.csv"); });
}

}  // namespace
}  // namespace manymeans::test
