#include "io/table/column_selection.h"

#include <manymeans/choose_columns.h>
#include <manymeans/error.h>

#include "io/table/row_store.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace manymeans {
namespace {

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<int64_t> as_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A list of at most 20 names.
std::string list_of(std::span<const std::string> names, const std::string& quote = "") {
  constexpr size_t kMaxNamed = 20;
  const auto first = names.first(std::min(kMaxNamed, names.size()));
  const std::string list = quote + fmt::format("{}", fmt::join(first, quote + ", " + quote)) + quote;
  return names.size() > kMaxNamed ? list + ", ..." : list;
}

// Advice about a pattern or a range that goes too far; empty for other texts.
std::string about_ranges(const FileColumns& file, std::string_view text) {
  if (const size_t star = text.find_first_of("*?"); star != std::string_view::npos) {
    const auto has_start = [&](const std::string& name) { return name.starts_with(text.substr(0, star)); };
    const auto first = std::ranges::find_if(file.names, has_start);
    const auto end = std::find_if_not(first, file.names.end(), has_start);
    const std::string range = end - first < 2 ? "2-5" : *first + "-" + *(end - 1);
    return "; patterns are not known, ranges are: " + range;
  }
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return {};
  const auto from = as_number(text.substr(0, dash)), to = as_number(text.substr(dash + 1));
  if (!from || !to || std::max(*from, *to) <= file.count) return {};
  return fmt::format("; {} is beyond the last, column {}", std::max(*from, *to), file.count);
}

[[noreturn]] void unknown(const FileColumns& file, const char* parameter, std::string_view text) {
  std::vector<std::string> known = file.names;
  std::erase(known, "");  // of columns whose names are not known
  // Quotes show the blanks of a name.
  if (file.of_points && known.size() < file.names.size()) {
    throw Error(ErrorCode::kUsage, parameter,
                fmt::format("'{}' is not a column of the points, which have {}; --columns and similar flags left out "
                            "the others",
                            text, list_of(known, "'")));
  }
  const std::string names = file.names.empty() ? "have no names" : "named " + list_of(known, "'");
  throw Error(ErrorCode::kUsage, parameter,
              fmt::format("there is no column '{}'; columns are numbered from 1 to {} and {}{}", text, file.count,
                          names, about_ranges(file, text)));
}

constexpr int64_t kSeveral = -1;
using Places = std::unordered_map<std::string_view, int64_t>;

// The column of each name; kSeveral where several share it.
Places places_of(const FileColumns& file) {
  Places places;
  for (size_t i = 0; i < file.names.size(); ++i) {
    const auto [at, is_new] = places.emplace(file.names[i], static_cast<int64_t>(i));
    if (!is_new) at->second = kSeveral;
  }
  return places;
}

std::optional<int64_t> find_one(const Places& places, int64_t count, const std::string& text) {
  const auto found = places.find(text);
  if (found != places.end() && !text.empty()) {
    if (found->second != kSeveral) return found->second;
    throw Error(ErrorCode::kUsage, "columns", "several columns have the name '" + text + "'; give the number instead");
  }
  const auto number = as_number(text);
  if (number && *number >= 1 && *number <= count) return *number - 1;
  return std::nullopt;
}

// The text as it is goes before the text without the blanks around it: blanks may be of the name.
std::optional<int64_t> find_trimmed(const Places& places, int64_t count, std::string_view text) {
  if (const auto column = find_one(places, count, std::string(text))) return column;
  return find_one(places, count, std::string(trim(text)));
}

using Range = std::pair<int64_t, int64_t>;

// A range "a-b" or "5-": tried at every dash, since names may hold dashes.
std::optional<Range> find_range(const Places& places, int64_t count, std::string_view text) {
  for (size_t dash = text.find('-', 1); dash != std::string::npos; dash = text.find('-', dash + 1)) {
    const std::string_view last = text.substr(dash + 1);
    const auto from = find_trimmed(places, count, text.substr(0, dash));
    if (!from) continue;
    if (trim(last).empty()) return Range{*from, count - 1};
    const auto to = find_trimmed(places, count, last);
    if (to && *to < *from) {
      throw Error(ErrorCode::kUsage, "columns",
                  fmt::format("the range '{}' runs backwards; give the lower column first", text));
    }
    if (to) return Range{*from, *to};
  }
  return std::nullopt;
}

std::optional<Range> find_one_or_range(const Places& places, int64_t count, std::string_view text) {
  if (const auto column = find_trimmed(places, count, text)) return Range{*column, *column};
  return find_range(places, count, text);
}

class Selection {
 public:
  Selection(const FileColumns& file, const char* parameter)
      : file_(file), places_(places_of(file)), parameter_(parameter), taken_(static_cast<size_t>(file.count)) {}

  void add(const std::string& specification) {
    // The whole first: a name may hold commas.
    if (const auto range = find_one_or_range(places_, file_.count, specification)) return add(*range);
    if (specification.find(',') == std::string::npos) unknown(file_, parameter_, specification);
    for (size_t first = 0; first <= specification.size();) {
      const size_t end = std::min(specification.find(',', first), specification.size());
      const std::string_view part = std::string_view(specification).substr(first, end - first);
      const auto range = find_one_or_range(places_, file_.count, part);
      if (!range) unknown(file_, parameter_, part);
      add(*range);
      first = end + 1;
    }
  }

  std::vector<int64_t> columns;

 private:
  void add(const Range& range) {
    for (int64_t column = range.first; column <= range.second; ++column) {
      if (taken_[static_cast<size_t>(column)]) {
        throw Error(ErrorCode::kUsage, parameter_, file_.label(column) + " is asked for twice; name every column once");
      }
      taken_[static_cast<size_t>(column)] = true;
      columns.push_back(column);
    }
  }

  const FileColumns& file_;
  const Places places_;
  const char* parameter_;
  std::vector<bool> taken_;
};

// Finds the column of each name; returns nothing if one is missing, or repeats in the file or in `names`.
std::optional<std::vector<int64_t>> find_all(const FileColumns& file, std::span<const std::string> names) {
  Places places = places_of(file);
  std::vector<int64_t> columns;
  for (const std::string& name : names) {
    const auto at = places.find(name);
    if (at == places.end() || at->second == kSeveral) return std::nullopt;
    columns.push_back(std::exchange(at->second, kSeveral));
  }
  if (columns.empty()) return std::nullopt;
  return columns;
}

std::vector<int64_t> all_columns(const FileColumns& file) {
  std::vector<int64_t> columns(static_cast<size_t>(file.count));
  std::iota(columns.begin(), columns.end(), 0);
  return columns;
}

std::vector<int64_t> at_numbers(const SourceColumns& source) {
  std::vector<int64_t> columns;
  for (const int64_t number : source.numbers) columns.push_back(number - 1);
  return columns;
}

[[noreturn]] void lacks(const FileColumns& file, const std::vector<std::string>& names, const std::string& path) {
  const std::unordered_set<std::string_view> known(file.names.begin(), file.names.end());
  const auto missing = std::ranges::find_if(names, [&](const std::string& name) { return !known.contains(name); });
  const std::string what =
      missing == names.end()
          ? "has columns that names do not tell: several columns of the model or of this file share one"
          : "has no column '" + *missing + "'";
  throw Error(ErrorCode::kBadData, path,
              fmt::format("{}; the model was fitted to the columns {}, this file has {}", what, list_of(names),
                          list_of(file.names)));
}

// Where both have names they say which; else the place in a file of as many columns; else the columns of the points
// themselves, cut out before.
std::vector<int64_t> columns_of_fit(const FileColumns& file, const PointsOfFit& fit, const std::string& path) {
  const std::vector<std::string>& names = fit.source.names.empty() ? fit.column_names : fit.source.names;
  const bool same_layout = fit.source.count == file.count;
  if (!names.empty() && !file.names.empty()) {
    if (file.names == names && fit.source.count == 0) return all_columns(file);  // also where some share a name
    if (const auto found = find_all(file, names)) return *found;
    if (const auto found = find_all(file, fit.column_names)) return *found;
    const auto places = at_numbers(fit.source);
    const auto has_name = [&](int64_t i) {
      return file.name(places[static_cast<size_t>(i)]) == names[static_cast<size_t>(i)];
    };
    bool same_names = same_layout;
    for (size_t i = 0; i < places.size() && same_names; ++i) same_names = has_name(static_cast<int64_t>(i));
    if (same_names) return places;  // several columns share a name
    lacks(file, names, path);
  }
  if (same_layout) return at_numbers(fit.source);
  const bool cut_out = fit.source.rules.empty() && file.count == fit.columns;
  if (fit.source.count == 0 || cut_out) return all_columns(file);
  throw Error(ErrorCode::kBadData, path,
              fmt::format("has {} columns, and names do not tell which of them the model needs: it was fitted to "
                          "column {} of a file with {}; give a file of these {}, or choose them with --columns",
                          file.count, fmt::join(fit.source.numbers, ", "), fit.source.count, fit.columns));
}

// As wanted_columns() without ReadOptions::id.
std::vector<int64_t> wanted_beside_id(const FileColumns& file, const ReadOptions& options, const std::string& path) {
  if (options.columns.empty() && options.like) return columns_of_fit(file, *options.like, path);
  std::vector<int64_t> columns = select_columns(file, options.columns);
  if (options.exclude.empty()) return columns;
  std::vector<bool> excluded(static_cast<size_t>(file.count));
  for (const int64_t column : select_columns(file, options.exclude, "exclude"))
    excluded[static_cast<size_t>(column)] = true;
  std::erase_if(columns, [&](int64_t column) { return excluded[static_cast<size_t>(column)]; });
  if (columns.empty()) {
    throw Error(ErrorCode::kUsage, "exclude", "no column of " + path + " is left; leave one in");
  }
  return columns;
}

}  // namespace

std::string FileColumns::label(int64_t column) const {
  return column_label(column + 1, name(column));
}

std::optional<int64_t> find_column(const FileColumns& file, const std::string& text) {
  return find_one(places_of(file), file.count, text);
}

std::vector<int64_t> select_columns(const FileColumns& file, std::span<const std::string> specifications,
                                    const char* parameter) {
  if (specifications.empty()) return all_columns(file);
  Selection selection(file, parameter);
  for (const std::string& specification : specifications) selection.add(specification);
  return std::move(selection.columns);
}

std::vector<int64_t> wanted_columns(const FileColumns& file, const ReadOptions& options, const std::string& path) {
  std::vector<int64_t> columns = wanted_beside_id(file, options, path);
  if (options.id.empty()) return columns;
  const auto id = find_column(file, options.id);
  if (!id) {
    throw Error(ErrorCode::kUsage, "id",
                fmt::format("{} has no column '{}'; a name or a number is right", path, options.id));
  }
  if (options.columns.empty()) std::erase(columns, *id);  // a column that the caller names is both
  if (columns.empty()) {
    throw Error(ErrorCode::kUsage, "id", fmt::format("{} has no other column; points need one", path));
  }
  return columns;
}

void give_names(FileColumns& file, const std::vector<std::string>& names, const std::string& path) {
  if (names.empty()) return;
  if (!file.names.empty()) {
    throw Error(ErrorCode::kUsage, "names", path + " names its columns itself; leave it out");
  }
  if (const int64_t given = std::ssize(names); given != file.count) {
    throw Error(ErrorCode::kBadData, "names",
                fmt::format("name {} is {}: there are {}, and {} has {} columns; a name for each of them is needed",
                            std::min(given, file.count) + 1, given < file.count ? "missing" : "one too many", given,
                            path, file.count));
  }
  file.names = names;
}

SourceColumns source_columns(const FileColumns& file, std::span<const int64_t> columns) {
  SourceColumns source;
  source.count = file.count;
  for (const int64_t column : columns) {
    source.numbers.push_back(column + 1);
    if (!file.names.empty()) source.names.push_back(file.name(column));
  }
  return source;
}

std::vector<int64_t> columns_of_points(const Dataset& points, std::span<const std::string> specifications,
                                       const char* parameter) {
  const SourceColumns& source = points.source;
  const bool named_here = source.names.empty() && points.column_names.size() == source.numbers.size();
  const std::vector<std::string>& names = named_here ? points.column_names : source.names;
  FileColumns file{source.count, {}, true};
  constexpr int64_t kUnused = -1, kTexts = -2;
  std::vector<int64_t> places(static_cast<size_t>(source.count), kUnused);  // of columns of the file in the points
  if (!names.empty()) file.names.resize(places.size());
  int64_t next = 0;
  for (size_t i = 0; i < source.numbers.size(); ++i) {
    const auto at = static_cast<size_t>(source.numbers[i] - 1);
    if (!names.empty()) file.names[at] = names[i];
    const bool texts = !source.rules.empty() && source.rules[i].categorical;
    places[at] = texts ? kTexts : next;
    next += texts ? std::ssize(source.rules[i].categories) : 1;
  }
  // Fields of lists, and points of no file, have columns of their own.
  if (next != points.view.d) return select_columns({points.view.d, points.column_names}, specifications, parameter);
  std::vector<int64_t> columns;
  for (const int64_t column : select_columns(file, specifications, parameter)) {
    columns.push_back(places[static_cast<size_t>(column)]);
    if (columns.back() >= 0) continue;
    throw Error(ErrorCode::kUsage, parameter,
                file.label(column) + (columns.back() == kTexts ? " holds categories; a column of numbers is right"
                                                               : " is no column of the points; leave it out"));
  }
  return columns;
}

std::optional<DataType> wanted_type(const ReadOptions& options, std::optional<DataType> stored) {
  if (options.dtype || !options.like) return options.dtype;
  const bool widens = stored && *stored != DataType::kFloat64;  // exactly, when it is used
  return options.like->type == DataType::kFloat32 && widens ? stored : options.like->type;
}

std::string free_name(std::span<const std::string> taken, const std::string& name) {
  std::string candidate = name;
  for (int number = 2; std::ranges::find(taken, candidate) != taken.end(); ++number) {
    candidate = fmt::format("{}_{}", name, number);
  }
  return candidate;
}

ChosenColumns choose_columns(const std::vector<std::string>& names, const ReadOptions& options,
                             const std::string& path) {
  const FileColumns file{std::ssize(names), names};
  ChosenColumns chosen;
  chosen.columns = wanted_columns(file, options, path);
  if (!options.weights.empty()) chosen.weight = find_column(file, options.weights).value_or(-1);
  std::erase(chosen.columns, chosen.weight);
  if (chosen.columns.empty()) {
    throw Error(ErrorCode::kBadData, path, "no column is left except the weights; choose at least one");
  }
  return chosen;
}

}  // namespace manymeans
