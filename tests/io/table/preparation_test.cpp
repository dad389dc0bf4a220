#include <manymeans/comm.h>

#include "io/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

using Texts = std::vector<std::string>;

class Preparation : public testing::Test {
 protected:
  Dataset read(std::string_view text, const ReadOptions& options, const std::string& name = "data.csv") {
    return read_points(folder_.file(name, text), options);
  }
  void bad(std::string_view text, std::initializer_list<std::string> parts, const ReadOptions& options,
           ErrorCode code = ErrorCode::kBadData) {
    expect_error(code, parts, [&] { read(text, options); });
  }
  Folder folder_;
};

ReadOptions rules(Missing missing, bool one_hot = false, double value = 0) {
  ReadOptions options;
  options.rules = {.missing = missing, .missing_value = value, .one_hot = one_hot};
  return options;
}

ReadOptions like(const Dataset& fit) {
  ReadOptions options;
  options.like = PointsOfFit{fit.source, fit.column_names, fit.view.d, fit.view.type};
  return options;
}

constexpr const char* kCustomers =
    "id,city,age,income\n"
    "1,Paris,31,1000\n"
    "2,Rome,,3000\n"
    "3,NA,50,n/a\n"
    "4,Paris,40,2000.5\n";

TEST_F(Preparation, FillsGapsAndMakesCategoriesColumns) {
  ReadOptions options = rules(Missing::kMean, true);
  options.exclude = {"id"};
  const Dataset points = read(kCustomers, options);
  EXPECT_EQ(points.column_names, (Texts{"city=Paris", "city=Rome", "age", "income"}));
  const double age = (31.0 + 50 + 40) / 3, income = static_cast<float>((1000 + 3000 + 2000.5) / 3);
  EXPECT_EQ(values_of(points.view), (Values{1, 0, 31, 1000,                       //
                                            0, 1, static_cast<float>(age), 3000,  //
                                            0, 0, 50, income,                     //
                                            1, 0, 40, 2000.5}));
  EXPECT_EQ(points.source.numbers, (std::vector<int64_t>{2, 3, 4}));
  ASSERT_EQ(points.warnings.size(), 1U);
  EXPECT_NE(points.warnings[0].find("1 in column 2 ('city') by no category"), std::string::npos) << points.warnings[0];
}

TEST_F(Preparation, MedianValueAndDrop) {
  const std::string text = "a;b\n1;5\n;6\n2;7\n9;null\n";
  EXPECT_EQ(values_of(read(text, rules(Missing::kMedian)).view), (Values{1, 5, 2, 6, 2, 7, 9, 6}));
  EXPECT_EQ(values_of(read(text, rules(Missing::kValue, false, -1)).view), (Values{1, 5, -1, 6, 2, 7, 9, -1}));
  const Dataset kept = read(text, rules(Missing::kDrop));
  EXPECT_EQ(values_of(kept.view), (Values{1, 5, 2, 7}));
  EXPECT_EQ(kept.dropped, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(row_label(kept, 2), "row 3 (line 4)");
  EXPECT_EQ(values_of(read("a\n1\n2\n\"\"\n4\n10\n", rules(Missing::kMedian)).view), (Values{1, 2, 3, 4, 10}));
}

TEST_F(Preparation, PredictFollowsTheFit) {
  const Dataset fit = read(kCustomers, rules(Missing::kMean, true));
  const Dataset other = read(
      "income,city,note,age,id\n"
      ",Rome,x,20,9\n"
      "7,Oslo,y,NaN,10\n",
      like(fit), "other.csv");
  EXPECT_EQ(other.column_names, fit.column_names);
  const double age = static_cast<float>((31.0 + 50 + 40) / 3);
  const double income = static_cast<float>((1000 + 3000 + 2000.5) / 3);
  EXPECT_EQ(values_of(other.view), (Values{9, 0, 1, 20, income, 10, 0, 0, age, 7}));
  ASSERT_EQ(other.warnings.size(), 2U);
  EXPECT_NE(other.warnings[1].find("not seen"), std::string::npos) << other.warnings[1];
}

TEST_F(Preparation, WhatNoRuleProvidesFor) {
  bad(kCustomers, {"row 2 (line 3)", "column 3 ('age')", "--missing"}, rules(Missing::kError, true));
  bad(kCustomers, {"row 1 (line 2)", "column 2 ('city')", "'Paris'", "onehot"}, rules(Missing::kMean));
  bad("when,x\n2024-02-29,1\n2024-03-01,2\n", {"date", "column 1 ('when')"}, rules(Missing::kError, true));
  bad("x,y\n,1\nNA,2\n", {"column 1 ('x')", "no finite number"}, rules(Missing::kMean));
  ReadOptions few = rules(Missing::kError, true);
  few.rules.max_categories = 2;
  bad("t,x\na,1\nb,2\nc,3\n", {"column 1 ('t')", "more than 2", "--most-categories"}, few);
  ReadOptions one = rules(Missing::kDrop);
  one.part = {.index = 0, .count = 2};
  bad("x\n1\n\"\"\n", {"missing", "one process"}, one, ErrorCode::kUsage);
  ReadOptions none = rules(Missing::kDrop);
  bad("x,y\n,1\n2,\n", {"0 rows"}, none);
}

TEST_F(Preparation, ColumnsOfTextThatAlsoHoldNumbers) {
  std::string text = "code,x\n";
  for (int i = 0; i < 200; ++i) text += fmt::format("{},{}\n", i % 2 == 0 ? "12" : "7", i);
  text += "A1,1\n";  // far behind the lines that the layout looks at
  const Dataset points = read(text, rules(Missing::kError, true));
  EXPECT_EQ(points.column_names, (Texts{"code=12", "code=7", "code=A1", "x"}));
  EXPECT_EQ(values_of(points.view).size(), 201U * 4);
}

TEST_F(Preparation, NumericOnlyLeavesTextOut) {
  ReadOptions options = rules(Missing::kMean);
  options.numeric_only = true;
  const Dataset points = read(kCustomers, options);
  EXPECT_EQ(points.column_names, (Texts{"id", "age", "income"}));
  EXPECT_NE(points.warnings[0].find("'city'"), std::string::npos) << points.warnings[0];
}

TEST_F(Preparation, NpyHasNaN) {
  const double values[] = {1, NAN, 3, 4, 5, 6};
  Dataset table;
  table.view = PointsView(values, 3, 2);
  write_points(folder_ / "gaps.npy", table);
  EXPECT_EQ(values_of(read_points(folder_ / "gaps.npy", rules(Missing::kMean)).view), (Values{1, 5, 3, 4, 5, 6}));
  EXPECT_EQ(read_points(folder_ / "gaps.npy", rules(Missing::kDrop)).dropped, (std::vector<int64_t>{0}));
}

TEST_F(Preparation, Shards) {
  const Texts paths = {folder_.file("a.csv", "t,x\nb,1\na,\n"), folder_.file("b.csv", "t,x\nc,3\na,5\n")};
  const Dataset points = read_shards(paths, rules(Missing::kMean, true));
  EXPECT_EQ(values_of(points.view), (Values{0, 1, 0, 1, 1, 0, 0, 3, 0, 0, 1, 3, 1, 0, 0, 5}));
  EXPECT_EQ(points.shards.size(), 2U);
  EXPECT_EQ(row_label(points, 3), "row 1 (line 2) of " + paths[1]);
}

TEST_F(Preparation, PartsOfRanksHaveTheRulesOfAllRows) {
  ReadOptions options = rules(Missing::kMean, true);
  const Values all = values_of(read(kCustomers, options).view);
  Values joined;
  for (int64_t index = 0; index < 3; ++index) {
    options.part = {.index = index, .count = 3};
    const Values part = values_of(read(kCustomers, options).view);
    joined.insert(joined.end(), part.begin(), part.end());
  }
  EXPECT_EQ(joined, all);
}

TEST_F(Preparation, DecimalCommas) {
  ReadOptions options;
  options.decimal = ',';
  const Dataset points = read("Preis;Menge\n1.234,5;2\n-0,25;1e3\n\"7,125\";1.000.000\n", options);
  EXPECT_EQ(points.column_names, (Texts{"Preis", "Menge"}));
  EXPECT_EQ(values_of(points.view), (Values{1234.5, 2, -0.25, 1000, 7.125, 1000000}));
  EXPECT_EQ(values_of(read("Preis;Menge\n1,5;2\n3;4,25\n", like(points), "more.csv").view), (Values{1.5, 2, 3, 4.25}));
  bad("a;b\n1,5;2\n3.14;4\n", {"row 2", "'3.14'"}, options);
  bad("a;b\n1,5;2\n3,25;4\n", {"'1,5'", "--decimal"}, {});
  bad("a;b\n1,5;2,5\n3,25;4\n", {"'1,5'", "--decimal"}, {});
}

TEST_F(Preparation, IdsNameTheRows) {
  ReadOptions options;
  options.id = "id";
  options.numeric_only = true;
  const Dataset points = read("x,id\n1,\"a \"\"b\"\"\"\n2,c\n", options);
  EXPECT_EQ(points.column_names, (Texts{"x"}));
  EXPECT_EQ(points.ids, (Texts{"a \"b\"", "c"}));
  const std::vector<double> distances = {0.5, 2};
  write_values(folder_ / "d.csv", distances, "distance", self_comm(), file_rows(points));
  EXPECT_EQ(content_of(folder_ / "d.csv"), "id,distance\n\"a \"\"b\"\"\",0.5\nc,2\n");
  options.id = "nobody";
  bad("x,id\n1,2\n", {"id", "nobody"}, options, ErrorCode::kUsage);
}

TEST_F(Preparation, LabelsOfRowsThatWereLeftOutAreEmpty) {
  Labels labels(3, 2);
  const uint32_t numbers[] = {1, 0, 1};
  labels.write(0, 3, numbers);
  const std::vector<int64_t> dropped = {0, 2, 3};
  const Texts ids = {"p", "q", "r", "s", "t", "u"};
  write_labels(folder_ / "l.csv", labels, self_comm(), {dropped, ids, "id"});
  EXPECT_EQ(content_of(folder_ / "l.csv"), "id,label\np,\nq,1\nr,\ns,\nt,0\nu,1\n");
  EXPECT_EQ(write_labels(folder_ / "l.npy", labels, self_comm(), {dropped, {}, "id"}), "int32");
}

// Tables of any kind against the plainest way to prepare them.
struct Cell {
  std::optional<double> number;
  std::string text;  // empty, with no number: a gap
};

class RandomTable {
 public:
  explicit RandomTable(unsigned seed) : random_(seed) {
    const size_t columns = 1 + random_() % 5;
    for (size_t j = 0; j < columns; ++j) is_text_.push_back(random_() % 3 == 0);
    is_text_[random_() % columns] = false;
    const size_t rows = 1 + random_() % 3000;
    for (size_t i = 0; i < rows; ++i) {
      auto& row = cells_.emplace_back();
      for (size_t j = 0; j < columns; ++j) row.push_back(cell(i, j));
    }
  }
  std::string text() {
    std::string out;
    for (size_t j = 0; j < is_text_.size(); ++j) out += fmt::format("{}c{}", j == 0 ? "" : ",", j);
    out += '\n';
    for (const auto& row : cells_) {
      for (size_t j = 0; j < row.size(); ++j) out += (j == 0 ? "" : ",") + spelled(row[j], row.size());
      out += '\n';
    }
    return out;
  }
  Values expected() const {
    Values values;
    std::vector<std::set<std::string>> categories(is_text_.size());
    for (const auto& row : cells_) {
      for (size_t j = 0; j < row.size(); ++j) {
        if (is_text_[j] && !row[j].text.empty()) categories[j].insert(row[j].text);
      }
    }
    for (const auto& row : cells_) {
      for (size_t j = 0; j < row.size(); ++j) {
        if (!is_text_[j]) values.push_back(row[j].number.value_or(median(j)));
        if (!is_text_[j]) continue;
        for (const std::string& category : categories[j]) values.push_back(category == row[j].text ? 1 : 0);
      }
    }
    return values;
  }

 private:
  Cell cell(size_t row, size_t column) {
    if (row > 0 && random_() % 10 == 0) return {};
    if (is_text_[column]) return {std::nullopt, fmt::format("t{}", random_() % 7)};
    return {static_cast<double>(random_() % 2000) / 8 - 100, ""};
  }
  std::string spelled(const Cell& cell, size_t columns) {
    constexpr const char* kGaps[] = {"", "NA", "NaN", "null", "None", " n/a "};
    if (cell.number) return fmt::format("{}", *cell.number);
    // A line of one empty field would be an empty line.
    return cell.text.empty() ? kGaps[columns == 1 ? 1 + random_() % 5 : random_() % 6] : cell.text;
  }
  double median(size_t column) const {
    Values values;
    for (const auto& row : cells_) {
      if (row[column].number) values.push_back(*row[column].number);
    }
    std::ranges::sort(values);
    const size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  }

  std::mt19937 random_;
  std::vector<bool> is_text_;
  std::vector<std::vector<Cell>> cells_;
};

TEST_F(Preparation, EqualsThePlainWayForAnyThreads) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    RandomTable table(seed);
    ReadOptions options = rules(Missing::kMedian, true);
    options.threads = 1 + static_cast<int>(seed % 4);
    ASSERT_EQ(values_of(read(table.text(), options).view), table.expected()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace manymeans::test
