#include "io/table/raw_table.h"

#include <manymeans/error.h>

#include "core/data_type.h"
#include "io/table/preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace manymeans {
namespace {

[[noreturn]] void refuse(const RawTable& other, const std::string& what) {
  throw Error(ErrorCode::kBadData, other.path, what + "; files that are read together need the same columns");
}

void check_alike(const RawTable& first, const RawTable& other) {
  const auto name = [](const RawColumn& column) { return column.name; };
  if (!std::ranges::equal(first.columns, other.columns, {}, name, name)) {
    const bool text = other.first_line > 0 && first.columns.size() == other.columns.size();
    refuse(other, fmt::format("has other columns than {}{}", first.path,
                              text ? " (--header yes or no says for all whether the first line names them)" : ""));
  }
  for (size_t j = 0; j < first.columns.size(); ++j) {
    if (first.columns[j].categorical == other.columns[j].categorical) continue;
    refuse(other, fmt::format("{} holds {}, in {} it holds {}", other.columns[j].label(),
                              other.columns[j].categorical ? "text" : "numbers only", first.path,
                              other.columns[j].categorical ? "numbers only" : "text"));
  }
}

// Takes the texts of a column of one file in: for each of its codes that among all files.
std::vector<int64_t> take_categories(const RawColumn& column, int64_t most, RawColumn& all) {
  std::unordered_map<std::string, int64_t> places;
  for (const std::string& text : all.categories) places.emplace(text, std::ssize(places));
  std::vector<int64_t> codes;
  for (const std::string& text : column.categories) {
    const auto at = places.find(text);
    const bool is_new = at == places.end() && std::ssize(all.categories) < most;
    codes.push_back(at != places.end() ? at->second : is_new ? std::ssize(all.categories) : most);
    if (!is_new) continue;
    places.emplace(text, std::ssize(all.categories));
    all.categories.push_back(text);
  }
  codes.push_back(most);
  return codes;
}

RawColumn empty_like(const RawColumn& column) {
  RawColumn result;
  result.number = column.number;
  result.name = column.name;
  result.categorical = column.categorical;
  return result;
}

void take_rows(const RawTable& table, int64_t most, int64_t rows_before, RawTable& all, RowStore& store) {
  std::vector<std::vector<int64_t>> codes;
  for (size_t j = 0; j < table.columns.size(); ++j) {
    RawColumn& sum = all.columns[j];
    codes.push_back(take_categories(table.columns[j], most, sum));
    sum.wide |= table.columns[j].wide;
    sum.numbers += table.columns[j].numbers;
    sum.texts += table.columns[j].texts;
    if (table.columns[j].example_row <= 0 || sum.example_row > 0) continue;
    sum.example = table.columns[j].example;
    sum.example_row = rows_before + table.columns[j].example_row;
  }
  std::vector<double> row(table.columns.size());
  for (int64_t i = 0; i < table.view.n; ++i) {
    widen_row(table.view, i, row.data());
    for (size_t j = 0; j < row.size(); ++j) {
      const bool code = table.columns[j].categorical && !std::isnan(row[j]);
      if (code) row[j] = static_cast<double>(codes[j][static_cast<size_t>(row[j])]);
    }
    store.store(rows_before + i, row.data());
  }
}

void take_beside_rows(const RawTable& table, RawTable& all) {
  const auto append = [](const auto& from, auto& to) { to.insert(to.end(), from.begin(), from.end()); };
  append(table.weights, all.weights);
  append(table.ids, all.ids);
  for (const std::string& warning : table.warnings) {
    const bool named = warning.find(table.path) != std::string::npos;
    all.warnings.push_back(named ? warning : table.path + ": " + warning);
  }
}

}  // namespace

RawTable raw_of_points(Dataset points, const std::string& path) {
  if (std::ssize(points.source.numbers) != points.view.d) {
    throw Error(ErrorCode::kUsage, "missing",
                path + " has columns of lists, in which gaps are not filled; --columns can choose others");
  }
  RawTable table;
  table.path = path;
  table.view = points.view;
  table.owner = std::move(points.owner);
  table.file_columns = points.source.count;
  table.weights = std::move(points.weights);
  table.warnings = std::move(points.warnings);
  for (size_t j = 0; j < points.source.numbers.size(); ++j) {
    RawColumn& column = table.columns.emplace_back();
    column.number = points.source.numbers[j];
    if (!points.column_names.empty()) column.name = points.column_names[j];
    column.wide = points.view.type == DataType::kFloat64;
  }
  table.lost = LostIntegers(table.columns.size());
  return table;
}

RawTable put_together(std::vector<RawTable> tables, const ReadOptions& options) {
  std::erase_if(tables, [](const RawTable& table) { return table.view.n == 0; });
  if (tables.empty()) throw Error(ErrorCode::kBadData, "points", "no rows were found; at least one is needed");
  RawTable all;
  all.columns = tables[0].columns;
  for (RawColumn& column : all.columns) column = empty_like(column);
  all.file_columns = tables[0].file_columns;
  all.decimal = tables[0].decimal;
  all.id_name = tables[0].id_name;
  all.lost = LostIntegers(all.columns.size());
  int64_t rows = 0;
  for (const RawTable& table : tables) {
    check_alike(tables[0], table);
    all.shards.push_back({table.path, rows, table.view.n, table.first_line});
    rows += table.view.n;
  }
  RowStore store(rows, std::ssize(all.columns), DataType::kFloat64, tables[0].path, options.memory);
  const auto most = static_cast<int64_t>(categories_to_remember(options));
  for (size_t i = 0; i < tables.size(); ++i) {
    take_rows(tables[i], most, all.shards[i].rows_before, all, store);
    take_beside_rows(tables[i], all);
    tables[i].owner.reset();
  }
  if (!all.weights.empty() && std::ssize(all.weights) != rows) {
    throw Error(ErrorCode::kBadData, tables[0].path,
                fmt::format("'{}' is a column of weights in some of the files that are read together; all need it",
                            options.weights));
  }
  all.view = store.view();
  all.owner = store.owner();
  return all;
}

}  // namespace manymeans
