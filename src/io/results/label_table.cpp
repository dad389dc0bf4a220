// Labels and the names of their rows.
#include <manymeans/error.h>
#include <manymeans/label_table.h>

#include "core/out_of_memory.h"
#include "io/files/file_name.h"
#include "io/files/mapped_file.h"
#include "io/files/peeked_file.h"
#include "io/files/unpack.h"
#include "io/table/column_selection.h"
#include "io/table/reader.h"
#include "io/text/text_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
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

// Whether the first column names the rows, and is not the one that is asked for.
bool begins_with_ids(const std::vector<std::string>& names, const ReadOptions& options) {
  if (names.size() < 2 || is_of_labels(names[0])) return false;
  if (!std::all_of(names.begin() + 1, names.end(), is_of_labels)) return false;
  if (std::none_of(names.begin() + 1, names.end(), names_labels)) return false;
  return options.columns.empty() || find_column({std::ssize(names), names}, options.columns[0]) != 0;
}

// Labels without names of their rows, which a column that nobody has pointed to may hold.
LabelTable without_names(Dataset labels, std::vector<std::string> names) {
  if (names.size() < 2 || std::ranges::all_of(names, is_of_labels)) names.clear();
  return {std::move(labels), std::move(names)};
}

// Those of the columns; none where this is no table of text: whoever reads it says what it is.
std::vector<std::string> names_in_text(std::string_view text, const std::string& path, const ReadOptions& options) {
  try {
    ByteBuffer unpacked;
    if (is_packed(text)) {
      unpacked = unpack(text, path, options.memory);
      text = unpacked.text();
    }
    return find_layout(text, path, options.decimal == 0 ? '.' : options.decimal).columns.names;
  } catch (const Error&) {
    return {};
  }
}

LabelTable read_text_labels(const std::string& path, ReadOptions options) {
  if (!options.id.empty()) return {read_points(path, options)};
  auto file = MappedFile::open(path, Access::kOnce);
  const std::vector<std::string> names = names_in_text(file->text(), path, options);
  if (begins_with_ids(names, options)) options.id = kFirst;
  std::optional<PeekedFile> peeked;
  if (!file->opens_again()) peeked.emplace(path, std::move(file));
  Dataset labels = read_points(path, options);
  if (!options.id.empty()) return {std::move(labels)};
  return without_names(std::move(labels), names);
}

// The names of the rows that this column holds.
std::vector<std::string> ids_of(const RawTable& table, size_t column) {
  constexpr double kMostExact = 0x1p53;
  const RawColumn& about = table.columns[column];
  const auto* cells = static_cast<const double*>(table.view.data) + column;
  std::vector<std::string> ids;
  ids.reserve(static_cast<size_t>(table.view.n));
  for (int64_t row = 0; row < table.view.n; ++row, cells += table.view.d) {
    if (std::isnan(*cells)) {
      ids.emplace_back();
    } else if (about.categorical) {
      ids.push_back(about.categories[static_cast<size_t>(*cells)]);
    } else if (std::abs(*cells) < kMostExact) {
      ids.push_back(fmt::format("{}", *cells));
    } else {
      throw Error(ErrorCode::kBadData, table.path,
                  fmt::format("row {}, {}: {} is too large to name a row as a number; store the names as text", row + 1,
                              about.label(), *cells));
    }
  }
  return ids;
}

LabelTable read_field_labels(const std::string& path, ReadOptions options) {
  ReadOptions all;
  all.threads = options.threads;
  all.memory = options.memory;
  all.rules.one_hot = true;
  all.rules.most_categories = std::numeric_limits<int32_t>::max();
  const RawTable table = read_raw(path, all);
  FileColumns columns{table.file_columns, {}};
  for (const RawColumn& column : table.columns) columns.names.push_back(column.name);
  if (options.id.empty() && begins_with_ids(columns.names, options)) options.id = kFirst;
  if (options.id.empty()) return without_names(read_points(path, options), columns.names);
  const std::optional<int64_t> id = find_column(columns, options.id);
  if (!id)
    throw Error(ErrorCode::kUsage, "id",
                fmt::format("{} has no column '{}'; a name or a number is right", path, options.id));
  if (options.columns.empty()) options.exclude.push_back(options.id);
  options.id.clear();
  Dataset labels = read_points(path, options);
  labels.ids = ids_of(table, static_cast<size_t>(*id));
  labels.id_name = columns.name(*id);
  return {std::move(labels)};
}

}  // namespace

LabelTable read_label_table(const std::string& path, const ReadOptions& options) {
  return or_out_of_memory(path, "give it fewer rows", [&]() -> LabelTable {
    switch (table_kind(path, options)) {
      case TableKind::kLines: return read_text_labels(path, options);
      case TableKind::kFields: return read_field_labels(path, options);
      case TableKind::kOther: break;
    }
    return {read_points(path, options)};
  });
}

}  // namespace manymeans
