#include "io/column_selection.h"

#include <manymeans/error.h>

#include "io/row_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>
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

[[noreturn]] void unknown(const FileColumns& file, std::string_view text) {
  std::string known = fmt::format("columns are numbered from 1 to {}", file.count);
  constexpr size_t kMostNamed = 20;
  for (size_t i = 0; i < std::min(kMostNamed, file.names.size()); ++i) {
    known += (i == 0 ? " and named " : ", ") + file.names[i];
  }
  if (file.names.size() > kMostNamed) known += ", ...";
  if (file.names.empty()) known += " and have no names";
  throw Error(ErrorCode::kUsage, "columns", fmt::format("there is no column '{}'; {}", text, known));
}

using Range = std::pair<int64_t, int64_t>;

// A range "a-b" or "5-": tried at every dash, since names may hold dashes.
std::optional<Range> find_range(const FileColumns& file, const std::string& text) {
  for (size_t dash = text.find('-', 1); dash != std::string::npos; dash = text.find('-', dash + 1)) {
    const std::string last(trim(std::string_view(text).substr(dash + 1)));
    const auto from = find_column(file, std::string(trim(std::string_view(text).substr(0, dash))));
    if (!from) continue;
    if (last.empty()) return Range{*from, file.count - 1};
    const auto to = find_column(file, last);
    if (to && *to < *from) {
      throw Error(ErrorCode::kUsage, "columns", "the range '" + text + "' runs backwards; give the lower column first");
    }
    if (to) return Range{*from, *to};
  }
  return std::nullopt;
}

std::optional<Range> find_one_or_range(const FileColumns& file, std::string_view text) {
  const std::string trimmed(trim(text));
  if (const auto column = find_column(file, trimmed)) return Range{*column, *column};
  return find_range(file, trimmed);
}

class Selection {
 public:
  explicit Selection(const FileColumns& file) : file_(file), taken_(static_cast<size_t>(file.count)) {}

  void add(const std::string& specification) {
    // The whole first: a name may hold commas.
    if (const auto range = find_one_or_range(file_, specification)) return add(*range);
    if (specification.find(',') == std::string::npos) unknown(file_, trim(specification));
    for (size_t first = 0; first <= specification.size();) {
      const size_t end = std::min(specification.find(',', first), specification.size());
      const std::string_view part = std::string_view(specification).substr(first, end - first);
      const auto range = find_one_or_range(file_, part);
      if (!range) unknown(file_, trim(part));
      add(*range);
      first = end + 1;
    }
  }

  std::vector<int64_t> columns;

 private:
  void add(const Range& range) {
    for (int64_t column = range.first; column <= range.second; ++column) {
      if (taken_[static_cast<size_t>(column)]) {
        throw Error(ErrorCode::kUsage, "columns", file_.label(column) + " is asked for twice; name every column once");
      }
      taken_[static_cast<size_t>(column)] = true;
      columns.push_back(column);
    }
  }

  const FileColumns& file_;
  std::vector<bool> taken_;
};

}  // namespace

std::string FileColumns::label(int64_t column) const {
  return column_label(column + 1, name(column));
}

std::optional<int64_t> find_column(const FileColumns& file, const std::string& text) {
  const auto found = std::find(file.names.begin(), file.names.end(), text);
  if (found != file.names.end() && !text.empty()) {
    if (std::find(found + 1, file.names.end(), text) != file.names.end()) {
      throw Error(ErrorCode::kUsage, "columns",
                  "several columns have the name '" + text + "'; give the number instead");
    }
    return found - file.names.begin();
  }
  const auto number = as_number(text);
  if (number && *number >= 1 && *number <= file.count) return *number - 1;
  return std::nullopt;
}

std::vector<int64_t> select_columns(const FileColumns& file, std::span<const std::string> specifications) {
  Selection selection(file);
  for (const std::string& specification : specifications) selection.add(specification);
  if (specifications.empty()) {
    selection.columns.resize(static_cast<size_t>(file.count));
    std::iota(selection.columns.begin(), selection.columns.end(), 0);
  }
  return std::move(selection.columns);
}

}  // namespace manymeans
