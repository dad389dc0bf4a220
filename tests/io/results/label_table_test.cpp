// Labels, and the names of their rows.
#include <manymeans/label_table.h>

#include "io/files.h"

#include <string>
#include <vector>

namespace manymeans::test {
namespace {

using Texts = std::vector<std::string>;

class LabelTableTest : public testing::Test {
 protected:
  Dataset read(const std::string& text, const ReadOptions& options = {}, const std::string& name = "labels.csv") {
    LabelTable found = read_label_table(folder.file(name, text), options);
    beside = found.beside;
    return found.labels;
  }

  Folder folder;
  Texts beside;
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

TEST_F(LabelTableTest, WhatIsNoTableOfTextIsSaidByItsReader) {
  expect_error(ErrorCode::kBadData, {"labels.csv", "no rows"}, [&] { read("# nothing\n"); });
  expect_error(ErrorCode::kBadData, {"nowhere.csv", "no such file"}, [&] { read_label_table(folder / "nowhere.csv"); });
}

}  // namespace
}  // namespace manymeans::test
