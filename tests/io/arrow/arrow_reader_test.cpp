// arrow/* were written by pyarrow: seven rows in pieces of three.
#include <manymeans/comm.h>
#include <manymeans/info.h>

#include "io/files.h"
#include "io/table/reader.h"

#include <random>

namespace manymeans::test {
namespace {

Choice parquet() {
  for (const Choice& choice : reader_choices()) {
    if (choice.name == "parquet") return choice;
  }
  return {};
}

// A process for each of a thousand damaged files would take minutes: python_formats_test.cpp is about that.
bool is_built_in() {
  return parquet().description.find("by Arrow C++") != std::string::npos;
}

std::string stored(const std::string& name) {
  return MANYMEANS_TEST_DATA "/io/arrow/" + name;
}

Dataset read(const std::string& name, const std::vector<std::string>& columns, int threads = 2) {
  ReadOptions options;
  options.columns = columns;
  options.threads = threads;
  return read_points(stored(name), options);
}

const std::vector<std::string> kPlain = {"plain.parquet", "plain.feather", "stream.arrow"};

TEST(MissingArrow, SaysHowToGetIt) {
  if (parquet().available) GTEST_SKIP() << "there is a reader";
  const Folder folder;
  expect_error(ErrorCode::kUnavailable, {"plain.parquet", "build manymeans again with Arrow C++", "pyarrow"},
               [&] { read_points(stored("plain.parquet")); });
  expect_error(ErrorCode::kUnavailable, {"plain.feather", ".npy or .csv"},
               [&] { read_points(stored("plain.feather")); });
  expect_error(ErrorCode::kUnavailable, {"a.parquet", "cannot write", "Arrow C++"},
               [&] { check_points_path(folder / "a.parquet"); });
  expect_error(ErrorCode::kUnavailable, {"a.parquet", "cannot write", "Arrow C++"},
               [&] { check_table_path(folder / "a.parquet"); });
  EXPECT_TRUE(folder.names().empty());
}

class Arrow : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_built_in()) GTEST_SKIP() << "built without Arrow C++";
  }
};

// Labels and distances: a field for each column, nulls for rows that were left out, and names of the rows.
TEST_F(Arrow, ResultsOfRows) {
  const Folder folder;
  Labels labels(3, 300);
  for (const uint32_t i : {0, 1, 2}) {
    const uint32_t label = 100 * i;
    labels.write(i, 1, &label);
  }
  EXPECT_EQ(write_labels(folder / "plain.parquet", labels), "uint16");
  EXPECT_EQ(values_of(read_points(folder / "plain.parquet").view), (Values{0, 100, 200}));
  EXPECT_EQ(read_points(folder / "plain.parquet").column_names, std::vector<std::string>{"label"});

  const std::vector<int64_t> dropped = {1};
  const std::vector<std::string> ids = {"a", "b", "c", "d"};
  const FileRows rows{dropped, ids, "name"};
  ReadOptions options;
  options.rules.missing = Missing::kValue;
  options.rules.missing_value = -5;
  options.exclude = {"name"};
  write_labels(folder / "l.parquet", labels, self_comm(), rows);
  EXPECT_EQ(values_of(read_points(folder / "l.parquet", options).view), (Values{0, -5, 100, 200}));
  const Values distances = {0.5, 1.5, 2.5};
  write_values(folder / "d.parquet", distances, "distance", self_comm(), rows);
  EXPECT_EQ(values_of(read_points(folder / "d.parquet", options).view), (Values{0.5, -5, 1.5, 2.5}));
  const TableSummary table = describe_table(folder / "d.parquet");
  ASSERT_EQ(table.columns.size(), 2u);
  EXPECT_EQ(table.columns[0].name, "name");
  EXPECT_EQ(table.columns[0].text, 4);
  EXPECT_EQ(table.columns[1].empty, 1);
}

TEST_F(Arrow, EveryTypeOfNumber) {
  const auto column = [](double start, double step) {
    Values values;
    for (int i = 0; i < 7; ++i) values.push_back(start + i * step);
    return values;
  };
  for (const std::string& file : kPlain) {
    SCOPED_TRACE(file);
    const auto expect = [&](const std::string& name, const Values& values, DataType type) {
      const Dataset points = read(file, {name});
      EXPECT_EQ(values_of(points.view), values) << name;
      EXPECT_EQ(points.view.type, type) << name;
      EXPECT_EQ(points.column_names, std::vector<std::string>{name});
      EXPECT_TRUE(points.warnings.empty());
    };
    expect("i", column(0, 1), DataType::kFloat32);
    expect("f", column(0, 0.25), DataType::kFloat32);
    expect("d", column(0, 0.125), DataType::kFloat64);
    expect("u", column(0, 1), DataType::kUInt8);
    expect("s", column(0, 1), DataType::kInt8);
    expect("b", {0, 1, 0, 1, 0, 1, 0}, DataType::kFloat32);
    expect("coded", {0, 10, 20, 0, 10, 20, 0}, DataType::kFloat32);
    EXPECT_EQ(read(file, {"h"}).view.type, DataType::kFloat16);
    ReadOptions options;
    options.columns = {"h,dec,long"};
    options.dtype = DataType::kFloat64;
    const Values values = values_of(read_points(stored(file), options).view);
    EXPECT_EQ(values[3 * 6], 6);
    EXPECT_EQ(values[3 * 6 + 1], 0.06) << "the nearest binary64 of the decimal";
    EXPECT_EQ(values[3 * 6 + 2], 16777223);
  }
}

TEST_F(Arrow, TypesOfSeveralColumns) {
  EXPECT_EQ(read("plain.parquet", {"u,i"}).view.type, DataType::kFloat32);
  EXPECT_EQ(read("plain.parquet", {"u,s"}).view.type, DataType::kFloat32);
  EXPECT_EQ(read("plain.parquet", {"f,d,u"}).view.type, DataType::kFloat64);
  EXPECT_EQ(read("plain.parquet", {"f,emb"}).view.type, DataType::kFloat32);
}

TEST_F(Arrow, ListsAreColumns) {
  for (const std::string& file : kPlain) {
    SCOPED_TRACE(file);
    const Dataset points = read(file, {"u,emb"});
    ASSERT_EQ(points.view.d, 4);
    EXPECT_EQ(points.column_names, (std::vector<std::string>{"u", "emb[1]", "emb[2]", "emb[3]"}));
    const Values values = values_of(points.view);
    for (size_t i = 0; i < 7; ++i) {
      EXPECT_EQ(values[4 * i], i);
      for (size_t j = 0; j < 3; ++j) EXPECT_EQ(values[4 * i + 1 + j], 0.5 * static_cast<double>(3 * i + j));
    }
    EXPECT_EQ(values_of(read(file, {"list"}).view), (Values{0, .5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5}));
    EXPECT_EQ(values_of(read(file, {"large"}).view)[3], 1.25);
    EXPECT_EQ(values_of(read(file, {"tensor"}).view)[13], 13);
  }
}

TEST_F(Arrow, ColumnsInTheOrderAskedFor) {
  for (const std::string& file : kPlain) {
    const Values values = values_of(read(file, {"d", "1", "2"}).view);
    EXPECT_EQ(values[3 * 5], 0.625) << file;
    EXPECT_EQ(values[3 * 5 + 1], 5) << file;
    EXPECT_EQ(values[3 * 5 + 2], 1.25) << file;
  }
  expect_error(ErrorCode::kUsage, {"no column 'x'", "named 'i', 'f', 'd'"}, [&] { read("plain.parquet", {"x"}); });
}

TEST_F(Arrow, CompressedBatches) {
  EXPECT_EQ(values_of(read("packed.feather", {"f", "i"}).view),
            (Values{0, 0, .25, 1, .5, 2, .75, 3, 1, 4, 1.25, 5, 1.5, 6}));
  EXPECT_EQ(read("packed.feather", {"emb"}).view.d, 3);
}

TEST_F(Arrow, WhatIsNoNumberIsLeftOut) {
  for (const std::string& file : kPlain) {
    ReadOptions options;
    options.numeric_only = true;
    const Dataset points = read_points(stored(file), options);
    EXPECT_EQ(points.view.d, 10 + 3 + 2 + 2 + 2);
    ASSERT_EQ(points.warnings.size(), 1u);
    const std::string expected =
        "columns that hold no numbers were left out: column 11 ('name') (string), column 12 ('city') "
        "(dictionary<values=string, indices=int32, ordered=0>), column 13 ('when') (timestamp[";
    EXPECT_TRUE(points.warnings[0].starts_with(expected)) << points.warnings[0];
    EXPECT_EQ(points.view.type, DataType::kFloat64);
    expect_error(ErrorCode::kBadData, {file, "column 11 ('name') (string) holds no numbers", "--numeric-only"},
                 [&] { read(file, {}); });
    options.columns = {"name-when"};
    expect_error(ErrorCode::kBadData, {"no column is left"}, [&] { read_points(stored(file), options); });
  }
}

TEST_F(Arrow, IntegersThatFloat32CannotHold) {
  for (const std::string& file : kPlain) {
    const Dataset wide = read(file, {"i,long"});
    EXPECT_EQ(wide.view.type, DataType::kFloat64);
    EXPECT_EQ(values_of(wide.view)[1], 16777217);
    EXPECT_TRUE(wide.warnings.empty());
    ReadOptions options;
    options.columns = {"i,long"};
    options.dtype = DataType::kFloat32;
    const Dataset points = read_points(stored(file), options);
    ASSERT_EQ(points.warnings.size(), 1u);
    EXPECT_EQ(points.warnings[0],
              "integers that float32 cannot hold were rounded in column 8 ('long') (first: 16777217 in row 1); dtype "
              "float64 keeps integers up to 2^53");
  }
}

TEST_F(Arrow, AnyTableIsDescribed) {
  for (const std::string file : {"bad.parquet", "bad.feather"}) {
    const TableSummary table = describe_table(stored(file), {});
    const auto column = [&](const std::string& name) {
      for (const TableColumn& one : table.columns) {
        if (one.name == name) return one;
      }
      ADD_FAILURE() << name;
      return TableColumn{};
    };
    EXPECT_EQ(table.rows, 7) << file;
    EXPECT_EQ(column("ok").numbers, 7);
    EXPECT_EQ(column("hole").empty, 1);
    EXPECT_EQ(column("hole").numbers, 6);
    EXPECT_EQ(column("empty").empty, 7);
    EXPECT_EQ(column("coded").empty, 1);
    EXPECT_EQ(column("struct").text, 7);
  }
  const TableSummary plain = describe_table(stored("plain.parquet"), {});
  const auto text = std::find_if(plain.columns.begin(), plain.columns.end(), [](const auto& c) { return c.text > 0; });
  ASSERT_NE(text, plain.columns.end());
  EXPECT_EQ(text->name, "name");
  EXPECT_GE(text->distinct, 1);
}

TEST_F(Arrow, Weights) {
  ReadOptions options;
  options.columns = {"f"};
  options.weights = "u";
  for (const std::string& file : kPlain) {
    const Dataset points = read_points(stored(file), options);
    EXPECT_EQ(points.weights, (Values{0, 1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(points.view.d, 1);
  }
  options.weights = "emb";
  expect_error(ErrorCode::kBadData, {"column 14 ('emb')", "a weight is one number"},
               [&] { read_points(stored("plain.parquet"), options); });
  options.columns = {"u"};
  options.weights = "u";
  expect_error(ErrorCode::kBadData, {"no column is left"}, [&] { read_points(stored("plain.parquet"), options); });
}

TEST_F(Arrow, AColumnNamesTheRows) {
  for (const std::string& file : kPlain) {
    SCOPED_TRACE(file);
    const auto read_beside = [&](const std::string& id, ReadOptions options = {}) {
      options.id = id;
      options.numeric_only = true;
      return read_points(stored(file), options);
    };
    const Dataset coded = read_beside("coded");
    EXPECT_EQ(coded.ids, (std::vector<std::string>{"0", "10", "20", "0", "10", "20", "0"}));
    EXPECT_EQ(coded.id_name, "coded");
    EXPECT_EQ(std::ranges::count(coded.column_names, "coded"), 0);
    EXPECT_EQ(read_beside("d").ids[3], "0.375");
    EXPECT_EQ(read_beside("long").ids[0], "16777217");
    EXPECT_EQ(read_beside("11").ids, read_beside("name").ids);
    EXPECT_EQ(read_beside("name").ids.size(), 7u);
    EXPECT_EQ(read_beside("name", {.columns = {"i"}, .part = {.index = 1, .count = 7}}).ids,
              std::vector<std::string>{read_beside("name").ids[1]});
    expect_error(ErrorCode::kUsage, {"[id] ", file, "no column 'none'"}, [&] { read_beside("none"); });
    expect_error(ErrorCode::kUsage, {"[id] column 'emb'", "holds lists"}, [&] { read_beside("emb"); });
  }
}

TEST_F(Arrow, WhatCannotBeRead) {
  for (const std::string file : {"bad.parquet", "bad.feather"}) {
    for (const int threads : {1, 3}) {
      const auto bad = [&](const std::string& name, const std::string& what) {
        expect_error(ErrorCode::kBadData, {file, what}, [&] { read(file, {"ok", name}, threads); });
      };
      bad("hole", "row 5, column 2 ('hole'): the value is missing (null)");
      bad("empty", "column 3 ('empty') (null) holds no numbers");
      bad("emb_hole", "row 6, column 4 ('emb_hole'), value 2: the value is missing");
      bad("emb_null", "row 4, column 5 ('emb_null'): the value is missing");
      bad("ragged", "row 7, column 6 ('ragged'): the list has 3 values, those of the rows before have 2");
      bad("first_null", "row 1, column 7 ('first_null'): the list is missing");
      bad("no_items", "column 8 ('no_items') holds empty lists");
      bad("coded", "row 3, column 9 ('coded'): the value is missing");
      bad("nested", "column 11 ('nested') (list<");
      bad("struct", "column 12 ('struct') (struct<a: double>) holds no numbers");
      bad("hole,emb_null,coded", "row 3, column 9");
    }
    ReadOptions options;
    options.columns = {"ok", "big", "half"};
    options.dtype = DataType::kFloat32;
    expect_error(ErrorCode::kBadData, {"row 6, column 13 ('big'): 1e+300 is too large for float32"},
                 [&] { read_points(stored(file), options); });
    options.dtype = DataType::kUInt8;
    expect_error(ErrorCode::kBadData, {"row 2, column 14 ('half'): 0.5 is not exact in uint8"},
                 [&] { read_points(stored(file), options); });
  }
  expect_error(ErrorCode::kBadData, {"no_rows.parquet", "0 rows of 5 columns"}, [&] { read("no_rows.parquet", {}); });
  expect_error(ErrorCode::kBadData, {"version1.feather", "version 1", "again as version 2"},
               [&] { read("version1.feather", {}); });
  const Folder folder;
  expect_error(ErrorCode::kBadData, {"a.parquet", "not a Parquet file"},
               [&] { read_points(folder.file("a.parquet", "no such thing")); });
  expect_error(ErrorCode::kBadData, {"a.arrow", "not an Arrow or Feather file"},
               [&] { read_points(folder.file("a.arrow", "no such thing")); });
}

// Points, or an Error of bad data or too little memory; anything else escapes and fails the test.
bool can_be_read(const std::string& path) {
  ReadOptions options;
  options.numeric_only = true;
  try {
    const Dataset points = read_points(path, options);
    double sum = 0;
    for (const double value : values_of(points.view)) sum += value;
    volatile double used = sum;
    (void)used;
    return true;
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == ErrorCode::kBadData || error.code() == ErrorCode::kUnavailable) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return false;
  }
}

TEST_F(Arrow, CutFiles) {
  const Folder folder;
  for (const std::string name : {"plain.parquet", "plain.feather", "packed.feather"}) {
    const std::string whole = content_of(stored(name));
    ASSERT_TRUE(can_be_read(folder.file("cut-" + name, whole)));
    for (size_t size = 1; size < whole.size(); size += 31) {
      EXPECT_FALSE(can_be_read(folder.file("cut-" + name, whole.substr(0, size)))) << name << ", " << size << " bytes";
    }
  }
  // A stream has no directory: one that ends behind a batch is taken for whole by everybody.
  const std::string stream = content_of(stored("stream.arrow"));
  for (size_t size = 4; size < stream.size(); size += 7) {
    (void)can_be_read(folder.file("cut.arrow", stream.substr(0, size)));
  }
}

// 380 bytes that say they hold 10^9 rows; found by a fuzzer.
TEST_F(Arrow, MoreRowsThanValuesTakeNoMemory) {
  expect_error(ErrorCode::kBadData, {"too_many_rows.parquet", "a column has too few values"},
               [] { read_points(stored("too_many_rows.parquet")); });
}

// 371 bytes that say they hold 402,653,155 rows of a structure without members; found by a fuzzer.
TEST_F(Arrow, StructuresWithoutMembersTakeNoMemory) {
  const std::string path = stored("no_members.parquet");
  ReadOptions options;
  options.columns = {"2-"};
  options.rules = {.missing = Missing::kMean, .one_hot = true};
  expect_error(ErrorCode::kBadData, {"no_members.parquet", "a structure has no members"},
               [&] { read_raw(path, options); });
}

// Values at an odd address; found by a fuzzer. Sanitizers see more here than others do.
TEST_F(Arrow, ValuesThatAreNotAligned) {
  (void)can_be_read(stored("not_aligned.arrow"));
}

TEST_F(Arrow, DamagedFiles) {
  const Folder folder;
  std::mt19937 random(1);
  for (const std::string name : {"plain.parquet", "plain.feather", "stream.arrow", "packed.feather"}) {
    const std::string whole = content_of(stored(name));
    for (int i = 0; i < 400; ++i) {
      std::string damaged = whole;
      for (int flips = 1 + i % 3; flips > 0; --flips) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      (void)can_be_read(folder.file("damaged-" + name, damaged));
    }
  }
}

}  // namespace
}  // namespace manymeans::test
