// The content of a file of points, column by column, also if it holds no points.
#include <manymeans/error.h>
#include <manymeans/io.h>

#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "data/id_names.h"
#include "io/table/reader.h"
#include "io/table/table_survey.h"

#include <algorithm>
#include <cmath>

namespace manymeans {
namespace {

// Until every column has more different values than are counted.
std::vector<DistinctCounter> count_distinct(const PointsView& points) {
  const auto d = static_cast<size_t>(points.d);
  std::vector<DistinctCounter> counters(d, DistinctCounter(DistinctCounter::limit_for(points.d)));
  std::vector<double> row(d);
  for (int64_t i = 0; i < points.n; ++i) {
    widen_row(points, i, row.data());
    bool all_full = true;
    for (size_t j = 0; j < d; ++j) {
      if (!std::isnan(row[j])) counters[j].add_number(row[j], {});
      all_full &= counters[j].more();
    }
    if (all_full) break;
  }
  check_mapped(points.data);
  return counters;
}

TableSummary survey_points(const Dataset& points, const ReadOptions& options) {
  TableSummary table;
  table.rows = points.view.n;
  table.type = points.view.type;
  table.warnings = points.warnings;
  if (table.rows == 0 || points.view.d == 0) return table;
  const std::vector<ColumnSummary> values = summarise_columns(points.view, options.threads);
  const std::vector<DistinctCounter> distinct = count_distinct(points.view);
  const bool one_each = static_cast<int64_t>(points.source.numbers.size()) == points.view.d;
  for (size_t j = 0; j < values.size(); ++j) {
    TableColumn column;
    column.number = one_each ? points.source.numbers[j] : static_cast<int64_t>(j) + 1;
    if (!points.column_names.empty()) column.name = points.column_names[j];
    column.numbers = table.rows;
    column.distinct = distinct[j].count();
    column.more_distinct = distinct[j].more();
    column.values = values[j];
    table.columns.push_back(std::move(column));
  }
  return table;
}

bool has_whole_range(const TableColumn& column) {
  return column.text == 0 && std::trunc(column.values.min) == column.values.min &&
         std::trunc(column.values.max) == column.values.max;
}

// Returns true for consecutive integers in any order. Range, mean and deviation tell them.
bool numbers_rows(const TableColumn& column, int64_t rows) {
  constexpr int64_t kMinRows = 10;  // below, numbers in order are nothing to wonder about
  constexpr double kRounding = 1e-6;
  const ColumnSummary& values = column.values;
  const auto n = static_cast<double>(rows);
  const double deviation = std::sqrt((n * n - 1) / 12);
  return rows >= kMinRows && has_whole_range(column) && values.max - values.min == n - 1 &&
         std::fabs(values.mean - (values.min + values.max) / 2) <= kRounding &&
         std::fabs(values.deviation - deviation) <= kRounding * deviation;
}

bool looks_like_id(const TableColumn& column, int64_t rows, bool others_named) {
  if (is_named_like_id(column.name)) return true;
  const bool one_each = column.more_distinct || column.distinct == rows;
  const bool unnamed_index = column.name.empty() && others_named;
  if (one_each && has_whole_range(column) && (unnamed_index || may_be_named_like_id(column.name))) return true;
  return one_each && numbers_rows(column, rows);
}

void mark_ids(TableSummary& table) {
  const bool named = std::ranges::any_of(table.columns, [](const TableColumn& column) { return !column.name.empty(); });
  for (TableColumn& column : table.columns) column.id = looks_like_id(column, table.rows, named);
}

}  // namespace

TableSummary describe_table(const std::string& path, const ReadOptions& options) {
  const FpEnvironmentGuard guard;
  return with_reader(path, options, [&](const Reader& reader) {
    TableSummary table =
        reader.survey ? reader.survey(path, options) : survey_points(reader.read(path, options), options);
    if (table.rows == 0 || table.columns.empty()) {
      throw Error(ErrorCode::kBadData, path, "no rows or no columns were found; at least one of each is needed");
    }
    mark_ids(table);
    return table;
  });
}

}  // namespace manymeans
