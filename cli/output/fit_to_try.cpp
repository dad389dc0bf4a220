#include "output/fit_to_try.h"

#include "streams/printable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <iterator>
#include <string_view>
#include <vector>

namespace manymeans::cli {
namespace {

constexpr int64_t kMaxCategories = 20;     // more texts in a column are names, or comments
constexpr double kMaxGaps = 0.5;           // a column of more gaps is made of its fill value
constexpr double kMaxRatioOfSpreads = 2;   // of columns that may have one unit
constexpr double kSpreadOfCategory = 0.5;  // of a column of 0 and 1, at most
constexpr double kSpreadOfLog = 1;         // of the logarithm of a column that is_skewed()
constexpr size_t kMaxNames = 8;            // of columns to exclude; more are ranges of numbers

int64_t texts(const TableColumn& column) {
  return column.text - column.gap_words;
}

int64_t gaps(const TableColumn& column) {
  return column.empty + column.gap_words + column.values.missing;
}

// Returns true for a column that can be fitted and may say something.
bool is_fitted(const TableColumn& column, int64_t rows) {
  if (column.id || column.dates > 0 || column.values.constant || column.values.infinite > 0) return false;
  if (column.distinct < 2 || static_cast<double>(gaps(column)) > kMaxGaps * static_cast<double>(rows)) return false;
  return texts(column) == 0 || (column.distinct <= kMaxCategories && 2 * column.distinct <= rows);
}

// Returns whether a number may be the name of a column, which it then means.
bool has_numbers_for_names(const TableSummary& table) {
  return std::ranges::any_of(table.columns, [](const TableColumn& column) {
    const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    return !column.name.empty() && std::ranges::all_of(column.name, is_digit);
  });
}

// A name that --exclude cannot take for a number, a range or several names, else the number.
std::string name_or_number(const TableColumn& column, const TableSummary& table) {
  const auto same = [&](const TableColumn& other) { return other.name == column.name; };
  const bool plain = std::ranges::all_of(
      column.name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; });
  const bool word = !column.name.empty() && std::isdigit(static_cast<unsigned char>(column.name[0])) == 0;
  const bool unique = std::ranges::count_if(table.columns, same) == 1;
  const bool safe =
      has_numbers_for_names(table) ? !column.name.empty() && column.name.find(',') == column.name.npos : plain && word;
  return safe && unique ? column.name : std::to_string(column.number);
}

std::string ranges_of(const std::vector<const TableColumn*>& columns) {
  std::vector<std::string> ranges;
  for (size_t i = 0; i < columns.size();) {
    size_t end = i + 1;
    while (end < columns.size() && columns[end]->number - columns[end - 1]->number <= 1) ++end;
    const int64_t first = columns[i]->number, last = columns[end - 1]->number;
    ranges.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
    i = end;
  }
  return fmt::format("{}", fmt::join(ranges, ","));
}

// Names of few columns; ranges of numbers of many.
std::string list_of(const std::vector<const TableColumn*>& columns, const TableSummary& table) {
  if (columns.size() > kMaxNames && !has_numbers_for_names(table)) return ranges_of(columns);
  std::vector<std::string> names;
  for (const TableColumn* column : columns) names.push_back(name_or_number(*column, table));
  return fmt::format("{}", fmt::join(names, ","));
}

// A column of a long tail: a deviation above the mean, also without its max, which may be an error. The squares of the
// others bound the second largest value; a max ten times as large is no outlier any more after a logarithm. Few
// different values are codes, and the logarithm of 1 + x bends numbers of 10 and more.
bool is_skewed(const TableColumn* column) {
  constexpr int64_t kMinDistinct = 20;
  constexpr double kTimes = 10;
  const ColumnSummary& values = column->values;
  if (texts(*column) > 0 || !(values.min >= 0) || column->distinct < kMinDistinct) return false;
  const auto rows = static_cast<double>(column->numbers - values.missing);
  const double step = (values.max - values.mean) / (rows - 1);  // by which the mean is lower without the max
  const double mean = values.mean - step;
  const double variance = rows / (rows - 1) * values.deviation * values.deviation - rows * step * step;
  const double deviation = std::sqrt(std::max(0.0, variance));
  return values.deviation > values.mean && deviation > mean && values.max <= kTimes * std::sqrt(rows) * deviation &&
         values.max > kTimes * (values.min > 0 ? values.min : 1);
}

bool need_scaling(const std::vector<const TableColumn*>& columns) {
  std::vector<double> spreads;
  for (const TableColumn* column : columns) {
    spreads.push_back(texts(*column) > 0  ? kSpreadOfCategory
                      : is_skewed(column) ? kSpreadOfLog
                                          : column->values.deviation);
  }
  const auto [smallest, largest] = std::ranges::minmax(spreads);
  return largest > kMaxRatioOfSpreads * smallest;
}

// A value so far from the mean, in deviations, leaves the deviation to say little about the other rows.
bool has_outlier(const TableColumn* column) {
  constexpr double kFar = 10;
  const ColumnSummary& values = column->values;
  return texts(*column) == 0 && !is_skewed(column) &&
         std::max(values.max - values.mean, values.mean - values.min) > kFar * values.deviation;
}

// How the table was read.
std::string reading_flags(const ReadOptions& options) {
  std::string flags;
  const auto add = [&](const char* flag, const std::string& value) {
    flags += fmt::format(" {} {}", flag, quoted(value));
  };
  if (options.format != "auto") add("--format", options.format);
  if (options.dtype) add("--dtype", std::string(name_of(*options.dtype)));
  if (!options.columns.empty()) add("--columns", fmt::format("{}", fmt::join(options.columns, ",")));
  if (options.numeric_only) flags += " --numeric-only";
  if (options.header != Header::kAuto) add("--header", options.header == Header::kYes ? "yes" : "no");
  if (options.decimal == ',') add("--decimal", ",");
  return flags;
}

}  // namespace

std::string quoted(const std::string& text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./:,=+@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string fit_to_try(const std::string& path, const ReadOptions& options, const TableSummary& table) {
  std::vector<const TableColumn*> used, left_out;
  for (const TableColumn& column : table.columns) {
    (is_fitted(column, table.rows) ? used : left_out).push_back(&column);
  }
  if (used.empty()) return "";
  constexpr int64_t kClusters = 3;
  std::string command =
      fmt::format("manymeans fit {} -k {} --models 10", quoted(path), std::min(kClusters, table.rows)) +
      reading_flags(options);
  std::vector<std::string> excluded = options.exclude;
  if (!left_out.empty()) excluded.push_back(list_of(left_out, table));
  if (!excluded.empty()) command += " --exclude " + quoted(fmt::format("{}", fmt::join(excluded, ",")));
  if (std::ranges::any_of(used, [](const TableColumn* column) { return gaps(*column) > 0; }))
    command += " --missing median";
  if (std::ranges::any_of(used, [](const TableColumn* column) { return texts(*column) > 0; })) {
    command += " --categories onehot";
  }
  std::vector<const TableColumn*> skewed;
  std::ranges::copy_if(used, std::back_inserter(skewed), is_skewed);
  if (!skewed.empty()) command += " --log " + quoted(list_of(skewed, table));
  if (need_scaling(used)) command += std::ranges::any_of(used, has_outlier) ? " --scale robust" : " --scale standard";
  return command;
}

std::string problems_of(const ReadOptions& options, const TableSummary& table) {
  std::vector<std::string> kinds;
  size_t columns = 0;
  const auto add = [&](const char* what, bool stops, const std::function<bool(const TableColumn&)>& has) {
    std::vector<std::string> names;
    for (const TableColumn& column : table.columns) {
      if (!has(column)) continue;
      names.push_back(column.name.empty() ? fmt::format("column {}", column.number)
                                          : "'" + printable(column.name, Newlines::kEscaped) + "'");
    }
    const size_t count = names.size();
    if (stops) columns += count;
    names.resize(std::min(count, kMaxNames));
    const std::string more = count > kMaxNames ? fmt::format(" and {} more", count - kMaxNames) : "";
    if (count > 0) kinds.push_back(fmt::format("{} in {}{}", what, fmt::join(names, ", "), more));
  };
  if (!options.numeric_only) {
    add("dates", true, [](const TableColumn& column) { return column.dates > 0; });
    if (!options.rules.one_hot) {
      add("text", true, [](const TableColumn& column) { return column.dates == 0 && texts(column) > 0; });
    }
  }
  if (options.rules.missing == Missing::kError) {
    add("gaps", true, [](const TableColumn& column) { return gaps(column) > 0; });
  }
  add("row ids", false, [](const TableColumn& column) { return column.id; });
  return columns > 1 ? fmt::format("{}", fmt::join(kinds, "; ")) : "";
}

}  // namespace manymeans::cli
