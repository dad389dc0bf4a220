// Columns that decide a clustering without telling anything: numbers of rows, and one that spreads far beyond the rest.
#include <manymeans/fit.h>
#include <manymeans/io.h>

#include "comm/thread_ranks.h"
#include "data/shards.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

struct Columns {
  std::shared_ptr<std::vector<double>> values = std::make_shared<std::vector<double>>();  // where the view looks
  Dataset dataset;
};

// Rows of the numbers that each maker gives for a row.
template <class... Makers>
Columns table(int64_t n, std::vector<std::string> names, Makers... makers) {
  Columns result;
  for (int64_t i = 0; i < n; ++i) (result.values->push_back(makers(i)), ...);
  result.dataset.view = {result.values->data(), n, sizeof...(makers), DataType::kFloat64};
  result.dataset.column_names = std::move(names);
  return result;
}

auto normal(uint32_t seed, double deviation) {
  return [random = std::mt19937(seed), deviation](int64_t) mutable {
    return std::normal_distribution<double>(0, deviation)(random);
  };
}

std::vector<std::string> dominance(const Columns& columns) {
  return dominance_warnings(columns.dataset, columns.dataset.view);
}

TEST(ColumnWarnings, NumbersOfRows) {
  for (const double first : {0.0, 1.0, 1000.0}) {
    const Columns columns =
        table(200, {"id", "x"}, [&](int64_t i) { return first + static_cast<double>(i); }, normal(1, 1));
    const auto warnings = row_number_warnings(columns.dataset);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_TRUE(warnings[0].starts_with("column 1 ('id') only counts the rows")) << warnings[0];
  }
}

TEST(ColumnWarnings, NamesOfIds) {
  for (const char* name : {"id", "ID", "index", "customer_id", "Customer ID", "Unnamed: 0"}) {
    const auto warnings = row_number_warnings(table(5, {"x", name}, normal(1, 1), normal(2, 1)).dataset);
    ASSERT_EQ(warnings.size(), 1u) << name;
    EXPECT_TRUE(warnings[0].starts_with(std::string("column 2 ('") + name + "') is named like an id")) << warnings[0];
  }
  for (const char* name : {"width", "idea", "humid", "paid", ""}) {
    EXPECT_TRUE(row_number_warnings(table(5, {"x", name}, normal(1, 1), normal(2, 1)).dataset).empty()) << name;
  }
  EXPECT_TRUE(row_number_warnings(table(5, {"id"}, normal(1, 1)).dataset).empty()) << "the only column";
}

// The index that pandas, R and databases write, by the names that readers give it.
TEST(ColumnWarnings, NamesOfIndexes) {
  for (const char* name : {"level_0", "Unnamed: 0.1", "row.names", "rownames", "rowid", "...1", "__index_level_0__",
                           "row_names", "OBJECTID", "ogc_fid", "__null_dask_index__", "person.id"}) {
    const auto warnings = row_number_warnings(table(5, {"x", name}, normal(1, 1), normal(2, 1)).dataset);
    ASSERT_EQ(warnings.size(), 1u) << name;
    EXPECT_TRUE(warnings[0].starts_with(std::string("column 2 ('") + name + "') is named like an id")) << warnings[0];
  }
  const auto parts = [](int64_t i) { return static_cast<double>(i % 20); };  // anew in each of three files
  const auto warnings = row_number_warnings(table(60, {"", "x"}, parts, normal(1, 1)).dataset);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].starts_with("column 1 has no name, like the index that pandas and R write")) << warnings[0];
  const auto distinct = [](int64_t i) { return static_cast<double>(i * i + 4); };
  for (const char* name : {"row", "No.", "obs", "#", "serial"}) {
    EXPECT_EQ(row_number_warnings(table(8, {"x", name}, normal(1, 1), distinct).dataset).size(), 1u) << name;
    EXPECT_TRUE(row_number_warnings(table(8, {"x", name}, normal(1, 1), normal(2, 1)).dataset).empty()) << name;
  }
}

// Names that R, Spark and others give to a first column without one, where they give none to the next.
TEST(ColumnWarnings, NamesByPlace) {
  const auto distinct = [](int64_t i) { return static_cast<double>((i * 37) % 101 + 500); };
  const auto names = [&](const char* a, const char* b, auto values) {
    return row_number_warnings(table(50, {a, b}, values, normal(1, 1)).dataset).size();
  };
  const std::pair<const char*, const char*> pairs[] = {{"X", "Y"},
                                                       {"V1", "V2"},
                                                       {"_c0", "_c1"},
                                                       {"column00", "column01"},
                                                       {"Column1", "Column2"},
                                                       {"field_1", "field_2"}};
  for (const auto& [name, next] : pairs) {
    EXPECT_EQ(names(name, "mass", distinct), 1U) << name;
    EXPECT_EQ(names(name, next, distinct), 0U) << name;
    EXPECT_EQ(names(name, "mass", normal(2, 1)), 0U) << name;
    EXPECT_EQ(row_number_warnings(table(50, {"mass", name}, normal(1, 1), distinct).dataset).size(), 0U) << name;
  }
  EXPECT_EQ(row_number_warnings(table(50, {"mass", "X.1"}, normal(1, 1), distinct).dataset).size(), 1U);
  for (const char* name : {"rowNo", "S No", "S.No", "Sr No", "row_no", "Sl.No."}) {
    EXPECT_EQ(names(name, "mass", distinct), 1U) << name;
    EXPECT_EQ(names(name, "mass", normal(2, 1)), 0U) << name;
  }
}

// Scaling silences what is said of the variance, and keeps the index among the columns.
TEST(ColumnWarnings, AnIndexIsNotScaled) {
  const auto shuffled = [](int64_t i) { return static_cast<double>((i * 37) % 101); };
  const auto spread = [](int64_t i) { return static_cast<double>((i * 37) % 10) * 100; };
  for (const char* name : {"", "key", "Unnamed: 0"}) {
    const auto found = dominance(table(101, {"x", name}, normal(1, 0.1), shuffled));
    ASSERT_EQ(found.size(), 1u) << name;
    EXPECT_EQ(found[0].find("--scale"), std::string::npos) << found[0];
    EXPECT_NE(found[0].find("leave it out (--exclude)"), std::string::npos) << found[0];
  }
  EXPECT_NE(dominance(table(101, {"x", "key"}, normal(1, 0.1), spread))[0].find("--scale standard"), std::string::npos);
}

// Names that may end so for another reason: the values have to look like ids.
TEST(ColumnWarnings, NamesThatMayBeThoseOfIds) {
  const auto distinct = [](int64_t i) { return static_cast<double>((i * 37) % 101 + 500); };
  const auto huge = [](int64_t i) { return std::ldexp(1.0, 60) + 300.0 * static_cast<double>((i * 37) % 101); };
  const auto repeated = [](int64_t i) { return static_cast<double>((i * 37) % 100 + 500); };
  for (const char* name : {"objid", "custId", "ObjID", "row-id"}) {
    const auto warnings = row_number_warnings(table(101, {"x", name}, normal(1, 1), distinct).dataset);
    ASSERT_EQ(warnings.size(), 1u) << name;
    EXPECT_TRUE(warnings[0].starts_with(std::string("column 2 ('") + name + "') is named like an id")) << warnings[0];
  }
  EXPECT_EQ(row_number_warnings(table(101, {"x", "objid"}, normal(1, 1), huge).dataset).size(), 1u);
  for (const char* name : {"objid", "grid", "humid"}) {
    EXPECT_TRUE(row_number_warnings(table(101, {"x", name}, normal(1, 1), repeated).dataset).empty()) << name;
    EXPECT_TRUE(row_number_warnings(table(101, {"x", name}, normal(1, 1), normal(2, 1)).dataset).empty()) << name;
  }
  EXPECT_TRUE(row_number_warnings(table(101, {"x", "idea"}, normal(1, 1), distinct).dataset).empty());
}

std::vector<std::string> earlier_clusters(const Columns& columns) {
  return earlier_cluster_warnings(columns.dataset, self_comm());
}

TEST(ColumnWarnings, ClustersOfAnEarlierFit) {
  const auto label = [](int64_t i) { return static_cast<double>(i % 3); };
  const auto from_one = [](int64_t i) { return static_cast<double>(i % 3 + 1); };
  const auto gap = [](int64_t i) { return static_cast<double>(i % 3 == 2 ? 5 : i % 3); };
  const auto half = [](int64_t i) { return static_cast<double>(i % 3) / 2; };
  for (const char* name : {"cluster", "Label"}) {
    const auto warnings = earlier_clusters(table(30, {"x", name}, normal(1, 1), label));
    ASSERT_EQ(warnings.size(), 1u) << name;
    EXPECT_TRUE(warnings[0].starts_with(std::string("column 2 ('") + name + "') holds the integers from 0 to 2"))
        << warnings[0];
    EXPECT_TRUE(warnings[0].ends_with(std::string("--exclude ") + name + " leaves it out")) << warnings[0];
    EXPECT_TRUE(earlier_clusters(table(30, {"x", name}, normal(1, 1), from_one)).empty());
    EXPECT_TRUE(earlier_clusters(table(30, {"x", name}, normal(1, 1), gap)).empty());
    EXPECT_TRUE(earlier_clusters(table(30, {"x", name}, normal(1, 1), half)).empty());
  }
  EXPECT_TRUE(earlier_clusters(table(30, {"x", "kind"}, normal(1, 1), label)).empty());
}

TEST(ColumnWarnings, WhatOnlyLooksLikeThem) {
  const auto rising = [](int64_t i) { return static_cast<double>(i); };
  EXPECT_TRUE(row_number_warnings(table(9, {}, rising, normal(1, 1)).dataset).empty()) << "so few rows may be anything";
  EXPECT_TRUE(row_number_warnings(table(200, {}, rising).dataset).empty()) << "the only column";
  const auto halves = [](int64_t i) { return static_cast<double>(i) / 2; };
  EXPECT_TRUE(row_number_warnings(table(200, {}, halves, normal(1, 1)).dataset).empty());
  const auto one_off = [](int64_t i) { return static_cast<double>(i == 199 ? 5 : i); };
  EXPECT_TRUE(row_number_warnings(table(200, {}, one_off, normal(1, 1)).dataset).empty());
}

// The warnings that all of some ranks have, whose rows are dealt out unevenly.
std::vector<std::string> of_ranks(const Columns& columns, int ranks) {
  const PointsView& all = columns.dataset.view;
  const std::vector<int64_t> ends = test::shard_ends(all.n, ranks, static_cast<uint64_t>(ranks));
  std::vector<std::vector<std::string>> found(static_cast<size_t>(ranks));
  const auto errors = test::run_ranks(ranks, [&](Comm& comm) {
    Dataset mine = columns.dataset;
    mine.view = test::part_of(all, {}, ends, comm.rank()).points;
    std::vector<std::string>& its = found[static_cast<size_t>(comm.rank())];
    its = row_number_warnings(mine, 0, comm);
    for (const std::string& text : earlier_cluster_warnings(mine, comm)) its.push_back(text);
    for (const std::string& text : dominance_warnings(mine, mine.view, 0, comm)) its.push_back(text);
  });
  for (int r = 0; r < ranks; ++r) {
    EXPECT_EQ(errors[static_cast<size_t>(r)], "");
    EXPECT_EQ(found[static_cast<size_t>(r)], found[0]);
  }
  return found[0];
}

TEST(ColumnWarnings, CountersInStepsAndWithHoles) {
  const auto steps = [](int64_t i) { return static_cast<double>(10 * i); };
  const auto down = [](int64_t i) { return static_cast<double>(200 - i); };
  const auto holes = [](int64_t i) { return static_cast<double>(i + i / 13); };
  const auto counts = [](const char* name, auto values) {
    const Columns columns = table(200, {name, "x1"}, values, normal(1, 1));
    const auto warnings = row_number_warnings(columns.dataset);
    std::vector<std::string> all = warnings;
    for (const std::string& text : dominance(columns)) all.push_back(text);
    for (const int ranks : {2, 5}) EXPECT_EQ(of_ranks(columns, ranks), all) << name;
    return warnings.empty() ? "" : warnings[0];
  };
  EXPECT_TRUE(counts("key", steps).starts_with("column 1 ('key') only counts the rows (0, 10, 20, ...)"));
  EXPECT_TRUE(counts("key", down).starts_with("column 1 ('key') only counts the rows (200, 199, 198, ...)"));
  EXPECT_TRUE(counts("key", holes).starts_with("column 1 ('key') only counts the rows (from 0 on, with holes)"));
  EXPECT_EQ(counts("x", steps), "") << "a place along an axis";
  for (const int64_t every : {2, 10}) {
    EXPECT_EQ(counts("year", [&](int64_t i) { return static_cast<double>(1500 + every * i); }), "") << every;
  }
  EXPECT_EQ(counts("year", [](int64_t i) { return static_cast<double>(1950 + i + i / 13); }), "");
  EXPECT_EQ(counts("key", [](int64_t i) { return static_cast<double>(i % 20 * 10); }), "") << "the x of a grid";
  EXPECT_EQ(counts("key", [](int64_t i) { return static_cast<double>(i / 20 * 10); }), "") << "its y";
  EXPECT_EQ(counts("key", [](int64_t i) { return static_cast<double>(20 + i / 4); }), "") << "sorted ages";
  EXPECT_EQ(counts("key", [](int64_t i) { return static_cast<double>(2 * i + i % 2); }), "") << "too many holes";
  EXPECT_EQ(counts("key", [](int64_t i) { return 0.1 * static_cast<double>(i); }), "") << "a measured time";
  EXPECT_EQ(counts("key", [random = std::mt19937(2)](int64_t) mutable { return static_cast<double>(random() % 256); }),
            "")
      << "pixels";
}

TEST(ColumnWarnings, DatesAsIntegers) {
  const auto date = [](int64_t i) { return static_cast<double>(20240101 + i / 28 * 100 + i % 28); };
  const auto found = [](auto values) {
    const auto warnings = row_number_warnings(table(200, {"when", "x1"}, values, normal(1, 1)).dataset);
    return warnings.empty() ? "" : warnings[0];
  };
  EXPECT_TRUE(found(date).starts_with("column 1 ('when') holds dates as integers (YYYYMMDD)")) << found(date);
  EXPECT_EQ(found([&](int64_t i) { return date(i) + (i == 100 ? 40 : 0); }), "") << "one is none";
  EXPECT_EQ(found([&](int64_t i) { return date(i) + 0.5; }), "");
  EXPECT_EQ(found([](int64_t i) { return static_cast<double>(20150000 + (i * 7919) % 100000); }), "") << "prices";
}

TEST(ColumnWarnings, ShuffledNumbersOfRows) {
  for (const int64_t rows : {int64_t{10}, int64_t{101}, int64_t{40009}}) {  // 37 and these have no common divisor
    for (const int64_t first : {0, 1}) {
      const auto shuffled = [&](int64_t i) { return static_cast<double>((i * 37 + 5) % rows + first); };
      const Columns columns = table(rows, {"x", "key"}, normal(1, 1), shuffled);
      const auto warnings = row_number_warnings(columns.dataset);
      ASSERT_EQ(warnings.size(), 1u) << rows;
      EXPECT_TRUE(warnings[0].starts_with("column 2 ('key') holds a different number in each row")) << warnings[0];
      for (const int ranks : {2, 5}) EXPECT_EQ(of_ranks(columns, ranks)[0], warnings[0]) << ranks;
      const auto twice = [&](int64_t i) { return i == 0 ? shuffled(1) : shuffled(i); };
      if (rows > 1000) continue;  // a sample need not see both
      EXPECT_TRUE(row_number_warnings(table(rows, {"x", "key"}, normal(1, 1), twice).dataset).empty());
    }
  }
  const auto random = [random = std::mt19937(5)](int64_t) mutable { return static_cast<double>(random() % 40009); };
  EXPECT_TRUE(row_number_warnings(table(40009, {"x", "key"}, normal(1, 1), random).dataset).empty());
}

TEST(ColumnWarnings, OfRanksAreThoseOfOne) {
  const auto rising = [](int64_t i) { return static_cast<double>(i + 7); };
  const auto no_more = [](int64_t i) { return static_cast<double>(i == 299 ? 5 : i); };
  const auto at_first = [](int64_t i) { return static_cast<double>(i < 100 ? i : 0); };
  const auto in_turn = [](int64_t i) { return static_cast<double>(i / 60); };
  const auto later = [](int64_t i) { return i < 280 ? 1.0 : static_cast<double>(i); };
  const std::vector<Columns> tables = {table(300, {"id", "x"}, rising, normal(1, 1)),
                                       table(300, {"id", "x"}, no_more, normal(1, 1)),
                                       table(300, {"objid", "x"}, no_more, normal(1, 1)),
                                       table(300, {"cluster", "x"}, in_turn, normal(1, 1)),
                                       table(300, {"id", "x"}, at_first, normal(1, 1)),
                                       table(300, {"a", "async", "c"}, normal(1, 1), later, normal(2, 1)),
                                       table(300, {"a", "b", "c"}, normal(1, 1), normal(2, 30), normal(3, 1)),
                                       table(12, {"id", "x"}, rising, normal(1, 1)),
                                       table(9, {"id", "x"}, rising, normal(1, 1))};
  for (const Columns& columns : tables) {
    std::vector<std::string> wanted = row_number_warnings(columns.dataset);
    for (const std::string& text : earlier_cluster_warnings(columns.dataset, self_comm())) wanted.push_back(text);
    for (const std::string& text : dominance(columns)) wanted.push_back(text);
    for (const int ranks : {1, 2, 3, 5, 8}) EXPECT_EQ(of_ranks(columns, ranks), wanted) << ranks;
  }
}

// So many values that one row in some is looked at.
TEST(ColumnWarnings, OfManyRowsLookAtTheSameOnes) {
  constexpr int64_t kRows = 9'000'001;
  Dataset dataset;
  std::vector<uint8_t> values(2 * kRows);
  std::mt19937 random(3);
  for (int64_t i = 0; i < kRows; ++i) {
    values[static_cast<size_t>(2 * i)] = static_cast<uint8_t>(random() % 256);
    values[static_cast<size_t>(2 * i + 1)] = static_cast<uint8_t>(random() % 8);
  }
  dataset.view = {values.data(), kRows, 2, DataType::kUInt8};
  Columns columns;
  columns.dataset = dataset;
  const std::vector<std::string> wanted = dominance(columns);
  EXPECT_EQ(wanted.size(), 1u);
  for (const int ranks : {2, 5}) EXPECT_EQ(of_ranks(columns, ranks), wanted) << ranks;
}

// What alternates, as by the hours of a day, is not always met in the same state.
TEST(ColumnWarnings, OfManyRowsThatRepeat) {
  for (const int64_t period : {2, 3, 4, 12, 24, 60}) {
    const auto at_times = [period](int64_t i) { return i % period == 1 ? 100.0 : 0.0; };
    EXPECT_EQ(dominance(table(300'000, {}, normal(1, 1), at_times, normal(2, 1), normal(3, 1), normal(4, 1))).size(),
              1u)
        << period;
  }
}

// Zeros that take no memory before they are read.
class UnreadPages {
 public:
  static constexpr size_t kBytes = size_t{1} << 30;

  UnreadPages() : page_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))) { ::madvise(data_, kBytes, MADV_NOHUGEPAGE); }
  ~UnreadPages() { ::munmap(data_, kBytes); }
  UnreadPages(const UnreadPages&) = delete;
  UnreadPages& operator=(const UnreadPages&) = delete;

  const void* data() const { return data_; }
  size_t bytes_read() const {
    std::vector<unsigned char> read(kBytes / page_);
    EXPECT_EQ(::mincore(data_, kBytes, read.data()), 0);
    return static_cast<size_t>(std::ranges::count(read, 1)) * page_;
  }

 private:
  size_t page_;
  void* data_ = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
};

// Of images or of wide rows: 4 MiB of a gibibyte.
TEST(ColumnWarnings, ReadFewValues) {
  for (const int64_t columns : {784, 20'000}) {
    const UnreadPages pages;
    Dataset dataset;
    dataset.view = {pages.data(), static_cast<int64_t>(UnreadPages::kBytes) / columns, columns, DataType::kUInt8};
    EXPECT_TRUE(dominance_warnings(dataset, dataset.view).empty());
    EXPECT_TRUE(row_number_warnings(dataset).empty());
    EXPECT_GT(pages.bytes_read(), size_t{1} << 20) << columns;
    EXPECT_LT(pages.bytes_read(), size_t{1} << 22) << columns;
  }
}

TEST(ColumnWarnings, OneColumnThatDecides) {
  const auto found = dominance(table(500, {"a", "b", "c"}, normal(1, 1), normal(2, 30), normal(3, 1)));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].starts_with("column 2 ('b') holds 99.")) << found[0];
  EXPECT_TRUE(dominance(table(500, {}, normal(1, 1), normal(2, 4), normal(3, 1))).empty());
  EXPECT_TRUE(dominance(table(500, {}, normal(1, 1), normal(2, 5))).empty()) << "two columns of an oblong cloud";
  EXPECT_EQ(dominance(table(500, {}, normal(1, 1), normal(2, 20))).size(), 1u);
  const auto constant = [](int64_t) { return 7.0; };
  EXPECT_TRUE(dominance(table(500, {}, normal(1, 1), constant, constant)).empty()) << "nothing to compare with";
}

// Like a table of observations with its index column: two kinds of events that four features tell apart well, and not
// at all where the index is among the features.
TEST(ColumnWarnings, TheIndexAloneDecides) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise;
  constexpr int64_t kRows = 2000;
  std::vector<double> with, without;
  std::vector<int> kind;
  for (int64_t i = 0; i < kRows; ++i) {
    kind.push_back(static_cast<int>(random() % 2));
    with.push_back(static_cast<double>(i + 1));
    for (int j = 0; j < 4; ++j) {
      without.push_back(6.0 * kind.back() + noise(random));
      with.push_back(without.back());
    }
  }
  const auto agreement = [&](const std::vector<double>& values, int64_t d) {  // of two clusters: 0.5 by chance, 1 all
    FitOptions options;
    options.k = {2};
    options.threads = 1;
    const FitResult result = fit({values.data(), kRows, d, DataType::kFloat64}, {}, options);
    double same = 0;
    for (int64_t i = 0; i < kRows; ++i) {
      same += result.models[0].labels[i] == static_cast<uint32_t>(kind[static_cast<size_t>(i)]) ? 1 : 0;
    }
    return std::max(same, kRows - same) / kRows;
  };
  EXPECT_GT(agreement(without, 4), 0.99);
  EXPECT_LT(agreement(with, 5), 0.6);
  Dataset table;
  table.view = {with.data(), kRows, 5, DataType::kFloat64};
  EXPECT_EQ(row_number_warnings(table).size(), 1u);
  EXPECT_EQ(dominance_warnings(table, table.view).size(), 1u);
  table.view = {without.data(), kRows, 4, DataType::kFloat64};
  EXPECT_TRUE(row_number_warnings(table).empty());
  EXPECT_TRUE(dominance_warnings(table, table.view).empty());
}

}  // namespace
}  // namespace manymeans
