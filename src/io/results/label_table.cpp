// Labels and the names of their rows.
#include <manymeans/error.h>
#include <manymeans/label_table.h>

#include "core/out_of_memory.h"
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

bool names_labels(std::string_view name) {
  if (name == "label" || name == "labels" || name == "cluster") return true;
  if (!name.starts_with('k') || name.size() == 1) return false;
  return name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

// Whether the first column names the rows, and is not the one that is asked for.
bool begins_with_ids(const std::vector<std::string>& names, const ReadOptions& options) {
  if (names.size() < 2 || names_labels(names[0])) return false;
  if (!std::all_of(names.begin() + 1, names.end(), names_labels)) return false;
  return options.columns.empty() || find_column({std::ssize(names), names}, options.columns[0]) != 0;
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

Dataset read_text_labels(const std::string& path, ReadOptions options) {
  if (!options.id.empty()) return read_points(path, options);
  auto file = MappedFile::open(path, Access::kOnce);
  if (begins_with_ids(names_in_text(file->text(), path, options), options)) options.id = kFirst;
  std::optional<PeekedFile> peeked;
  if (!file->opens_again()) peeked.emplace(path, std::move(file));
  return read_points(path, options);
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

Dataset read_field_labels(const std::string& path, ReadOptions options) {
  ReadOptions all;
  all.threads = options.threads;
  all.memory = options.memory;
  all.rules.one_hot = true;
  all.rules.most_categories = std::numeric_limits<int32_t>::max();
  const RawTable table = read_raw(path, all);
  FileColumns columns{table.file_columns, {}};
  for (const RawColumn& column : table.columns) columns.names.push_back(column.name);
  if (options.id.empty() && begins_with_ids(columns.names, options)) options.id = kFirst;
  if (options.id.empty()) return read_points(path, options);
  const std::optional<int64_t> id = find_column(columns, options.id);
  if (!id)
    throw Error(ErrorCode::kUsage, "id",
                fmt::format("{} has no column '{}'; a name or a number is right", path, options.id));
  if (options.columns.empty()) options.exclude.push_back(options.id);
  options.id.clear();
  Dataset labels = read_points(path, options);
  labels.ids = ids_of(table, static_cast<size_t>(*id));
  labels.id_name = columns.name(*id);
  return labels;
}

}  // namespace

Dataset read_label_table(const std::string& path, const ReadOptions& options) {
  return or_out_of_memory(path, "give it fewer rows", [&] {
    switch (table_kind(path, options)) {
      case TableKind::kLines: return read_text_labels(path, options);
      case TableKind::kFields: return read_field_labels(path, options);
      case TableKind::kOther: break;
    }
    return read_points(path, options);
  });
}

}  // namespace manymeans
