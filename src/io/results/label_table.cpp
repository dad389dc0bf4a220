// Labels and the names of their rows.
#include <manymeans/error.h>
#include <manymeans/label_table.h>

#include "core/lower_case.h"
#include "core/out_of_memory.h"
#include "io/files/mapped_file.h"
#include "io/files/peeked_file.h"
#include "io/files/unpack.h"
#include "io/table/column_selection.h"
#include "io/table/preparation.h"
#include "io/table/reader.h"
#include "io/text/text_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace manymeans {
namespace {

constexpr const char* kFirst = "1";

bool names_labels(const std::string& text) {
  const std::string name = lower_case(text);
  if (name == "label" || name == "labels" || name == "cluster") return true;
  return name.size() > 1 && name[0] == 'k' && name.find_first_not_of("0123456789", 1) == std::string::npos;
}

bool names_distances(const std::string& text) {
  constexpr std::string_view kEnding = "_distance";
  const std::string name = lower_case(text);
  return name == "distance" || (name.ends_with(kEnding) && names_labels(name.substr(0, name.size() - kEnding.size())));
}

bool is_of_labels(const std::string& name) {
  return names_labels(name) || names_distances(name);
}

// Returns true if the first column names the rows, and is not the one that the caller asked for.
bool begins_with_ids(const std::vector<std::string>& names, const ReadOptions& options) {
  if (names.size() < 2 || is_of_labels(names[0])) return false;
  if (!std::all_of(names.begin() + 1, names.end(), is_of_labels)) return false;
  if (std::none_of(names.begin() + 1, names.end(), names_labels)) return false;
  return options.columns.empty() || find_column({std::ssize(names), names}, options.columns[0]) != 0;
}

// Labels without names of their rows. A column that the caller did not choose may hold these names.
LabelTable without_names(LabelTable table, std::vector<std::string> names) {
  if (names.size() < 2 || std::ranges::all_of(names, is_of_labels)) names.clear();
  table.beside = std::move(names);
  return table;
}

// Takes the one column that is called label or cluster if the caller chose none. --append leaves it behind others.
void choose_labels(const std::vector<std::string>& names, ReadOptions& options) {
  const auto is_asked_for = [](const std::string& text) {
    const std::string name = lower_case(text);
    return name == "label" || name == "cluster";
  };
  if (!options.columns.empty() || std::ranges::count_if(names, is_asked_for) != 1) return;
  const auto place = std::ranges::find_if(names, is_asked_for) - names.begin();
  // A name goes before a number: a column may be called 4.
  options.columns = {names[static_cast<size_t>(place)]};
}

// The columns as the first line describes them.
struct FirstLine {
  std::vector<std::string> names;  // of the columns; empty: they have none
  bool may_be_row = false;         // the columns hold nothing but text, so that the first row may be one of names
};

// Of a line before lines of text its texts, and an empty one for an index without a name.
FirstLine texts_of(const TextLayout& layout) {
  FirstLine first{{}, true};
  for (const TextExample& example : layout.text) {
    const bool is_index = first.names.empty() && layout.text.size() > 1 && layout.body.front() == layout.delimiter;
    if (example.line != layout.first_line && !is_index) return {};
    first.names.push_back(is_index ? "" : example.text);
  }
  return first;
}

// Returns nothing if this is no table of text: the reader says what it is.
FirstLine first_line_in(std::string_view text, const std::string& path, const ReadOptions& options) {
  try {
    ByteBuffer unpacked;
    if (is_packed(text)) {
      unpacked = unpack(text, path, options.memory);
      text = unpacked.text();
    }
    const TextLayout layout = find_layout(text, path, form_of(options));
    if (!layout.columns.names.empty()) return {layout.columns.names};
    return options.header == Header::kNo ? FirstLine{} : texts_of(layout);
  } catch (const Error&) {
    return {};
  }
}

// Replaces names of columns by their numbers if the names are in a first row, which the reader takes for a row like
// others. Says whether a name was found there, so that it is no row.
bool number_columns(const std::vector<std::string>& names, ReadOptions& options) {
  bool named = false;
  const auto number = [&](std::string& column) {
    const auto found = std::ranges::find(names, column);
    if (found == names.end()) return;
    column = fmt::format("{}", found - names.begin() + 1);
    named = true;
  };
  for (std::string& column : options.columns) number(column);
  if (!options.id.empty()) number(options.id);
  return named;
}

// Makes each text of the text columns a class: numbers from 0, in the order of their first occurrence.
// The categories have this order then.
// `from`: the first row that is wanted.
void number_texts(RawTable& table, int64_t from) {
  const auto* cells = static_cast<const double*>(table.view.data) + from * table.view.d;
  table.view.n -= from;
  const auto values = std::make_shared<std::vector<double>>(cells, cells + table.view.n * table.view.d);
  for (size_t j = 0; j < table.columns.size(); ++j) {
    RawColumn& column = table.columns[j];
    if (!column.categorical) continue;
    std::vector<double> numbers(column.categories.size(), -1);
    std::vector<std::string> texts;
    for (size_t at = j; at < values->size(); at += table.columns.size()) {
      double& value = (*values)[at];
      if (std::isnan(value)) continue;
      const auto code = static_cast<size_t>(value);
      if (numbers[code] < 0) {
        numbers[code] = static_cast<double>(texts.size());
        texts.push_back(column.categories[code]);
      }
      value = numbers[code];
    }
    column.categorical = false;
    column.categories = std::move(texts);
    column.wide = column.categories.size() > (size_t{1} << 24);  // float32 does not tell all classes apart
  }
  table.view.data = values->data();
  table.owner = values;
}

// Returns true if no other row has a text of the first row.
bool first_row_is_unlike(const RawTable& table) {
  const auto* cells = static_cast<const double*>(table.view.data);
  for (size_t j = 0; j < table.columns.size(); ++j) {
    if (!table.columns[j].categorical || std::isnan(cells[j])) return false;
    for (int64_t row = 1; row < table.view.n; ++row) {
      if (cells[j] == cells[static_cast<size_t>(row * table.view.d) + j]) return false;
    }
  }
  return table.view.n > 1;
}

enum class FirstRow : uint8_t { kRow, kNames, kPerhapsNames };

// Reads as read_points() does, with numbers for the texts of columns that hold text. It opens the file once, since a
// pipe has no second time.
LabelTable read_classes(const std::string& path, const ReadOptions& options, FirstRow first = FirstRow::kRow) {
  ReadOptions with_text = options;
  with_text.rules.one_hot = true;
  with_text.rules.max_categories = std::numeric_limits<int32_t>::max();
  RawTable table = read_raw(path, with_text);
  const bool skips = first == FirstRow::kNames || (first == FirstRow::kPerhapsNames && first_row_is_unlike(table));
  if (skips || std::ranges::any_of(table.columns, &RawColumn::categorical)) number_texts(table, skips ? 1 : 0);
  if (skips && !table.ids.empty()) {
    table.id_name = std::move(table.ids.front());
    table.ids.erase(table.ids.begin());
  }
  table.first_line += skips ? 1 : 0;
  std::vector<std::string> classes;
  if (table.columns.size() == 1) classes = std::move(table.columns[0].categories);
  Dataset labels = prepare_points(std::move(table), options);
  labels.path = path;
  check_some_rows(labels);
  return {std::move(labels), {}, std::move(classes)};
}

LabelTable read_text_labels(const std::string& path, ReadOptions options) {
  auto file = MappedFile::open(path, Access::kOnce, options.memory);
  const FirstLine line = first_line_in(file->text(), path, options);
  const bool has_ids = options.id.empty() && begins_with_ids(line.names, options);
  if (has_ids) options.id = kFirst;
  choose_labels(line.names, options);
  std::optional<PeekedFile> peeked;
  if (!file->opens_again()) peeked.emplace(path, std::move(file));
  FirstRow first = FirstRow::kRow;
  if (line.may_be_row) {
    const bool named = number_columns(line.names, options);
    first = named || has_ids ? FirstRow::kNames : FirstRow::kPerhapsNames;
  }
  LabelTable found = read_classes(path, options, first);
  return options.id.empty() ? without_names(std::move(found), line.names) : found;
}

LabelTable read_field_labels(const std::string& path, ReadOptions options) {
  ReadOptions all;
  all.threads = options.threads;
  all.memory = options.memory;
  all.rules.one_hot = true;
  all.rules.max_categories = std::numeric_limits<int32_t>::max();
  const RawTable table = read_raw(path, all);
  std::vector<std::string> names;
  for (const RawColumn& column : table.columns) names.push_back(column.name);
  if (options.id.empty() && begins_with_ids(names, options)) options.id = kFirst;
  choose_labels(names, options);
  LabelTable found = read_classes(path, options);
  return options.id.empty() ? without_names(std::move(found), names) : found;
}

}  // namespace

LabelTable read_label_table(const std::string& path, const ReadOptions& options) {
  return or_out_of_memory(path, "give it fewer rows", [&]() -> LabelTable {
    switch (table_kind(path, options)) {
      case TableKind::kLines: return read_text_labels(path, options);
      case TableKind::kFields: return read_field_labels(path, options);
      case TableKind::kOther: break;
    }
    ReadOptions all = options;
    all.header = Header::kAuto;  // the other file of labels may be text
    return {read_points(path, all)};
  });
}

}  // namespace manymeans
