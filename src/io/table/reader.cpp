#include "io/table/reader.h"

#include <manymeans/error.h>
#include <manymeans/info.h>

#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/lower_case.h"
#include "io/files/file_watch.h"
#include "io/files/mapped_file.h"
#include "io/files/peeked_file.h"
#include "io/table/preparation.h"
#include "io/table/row_store.h"
#include "io/table/text_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

namespace manymeans {

// Makers are declared and then listed from the same generated lines.
#define MANYMEANS_REGISTER(name, maker) Reader maker();
#include "registry/reader.inc"
#undef MANYMEANS_REGISTER

namespace {

// For files whose ending no reader claims: text without an ending is common.
constexpr std::string_view kDefaultReader = "text";

bool claims(const Reader& reader, const std::string& path) {
  const std::string lower = lower_case(path);
  return std::ranges::any_of(reader.endings, [&](std::string_view ending) { return lower.ends_with(ending); });
}

// Returns nothing if no reader claims the ending.
std::optional<Reader> reader_by_ending(const std::string& path) {
  const MemberPath parts = split_member(path);
  for (const ReaderEntry& entry : readers()) {
    Reader reader = entry.make();
    if (!parts.member.empty() && reader.has_members && claims(reader, parts.file)) return reader;
  }
  for (const ReaderEntry& entry : readers()) {
    Reader reader = entry.make();
    if (claims(reader, path)) return reader;
  }
  return std::nullopt;
}

Reader make_reader(const std::string& path, const std::string& format) {
  if (format == "auto") {
    if (auto reader = reader_by_ending(path)) return std::move(*reader);
    return make_reader(path, std::string(kDefaultReader));
  }
  std::string known = "auto";
  for (const ReaderEntry& entry : readers()) {
    if (entry.name == format) return entry.make();
    known += ", " + std::string(entry.name);
  }
  throw Error(ErrorCode::kUsage, "format", "there is no reader '" + format + "'; known: " + known);
}

// The reader of a path. If no ending says the format, as for a pipe, it looks into the file: NumPy's arrays say what
// they are.
class FoundReader {
 public:
  FoundReader(const std::string& path, const ReadOptions& options) {
    const std::string& format = options.format;
    std::optional<Reader> by_ending = format == "auto" ? reader_by_ending(path) : std::nullopt;
    reader_ = by_ending ? std::move(*by_ending) : make_reader(path, format);
    if (format != "auto" || by_ending) return;
    auto file = MappedFile::open(path, Access::kOnce, options.memory);
    if (file->text().starts_with("\x93NUMPY")) reader_ = make_reader(path, "npy");
    if (!file->opens_again()) file_.emplace(path, std::move(file));
  }
  const Reader& reader() const { return reader_; }

 private:
  Reader reader_;
  std::optional<PeekedFile> file_;
};

// Bytes that one rank reads from a pipe are gone for the others.
void check_every_rank_can_read(const std::string& weights) {
  const std::string file = points_file(weights);
  if (weights != MappedFile::kStandardInput && !std::filesystem::is_fifo(file)) return;
  throw Error(ErrorCode::kUsage, "weights",
              fmt::format("'{}' is no file that several ranks can read; write a file first", weights));
}

void check_is_text(const Reader& reader, const ReadOptions& options, const std::string& path) {
  if (reader.names_rows || options.header == Header::kAuto) return;
  throw Error(ErrorCode::kUsage, "header", path + " is no text table, whose first line may hold names; leave it out");
}

RawTable read_raw_by(const Reader& reader, const std::string& path, const ReadOptions& options) {
  return reader.read_raw ? reader.read_raw(path, options) : raw_of_points(reader.read(path, options), path);
}

// The column that names the rows, alone.
RawTable read_id_column(const Reader& reader, const std::string& path, const ReadOptions& options) {
  ReadOptions alone{.columns = {options.id}, .names = options.names};
  alone.rules = {.one_hot = true, .max_categories = std::numeric_limits<int32_t>::max()};
  alone.threads = options.threads;
  alone.memory = options.memory;
  try {
    return read_raw_by(reader, path, alone);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUsage) throw;
    throw Error(
        ErrorCode::kUsage, "id",
        fmt::format("column '{}' of {} holds lists; a column of text or of numbers is right", options.id, path));
  }
}

// The texts of a table of one column in the rows of `part`.
std::vector<std::string> texts_of(const RawTable& table, const RowPart& part) {
  constexpr double kMaxExact = 0x1p53;
  const RawColumn& column = table.columns[0];
  std::vector<std::string> texts;
  for (int64_t row = part.begin(table.view.n); row < part.end(table.view.n); ++row) {
    double cell = 0;
    widen_row(table.view, row, &cell);
    if (std::isnan(cell)) {
      texts.emplace_back();
    } else if (column.categorical) {
      texts.push_back(column.categories[static_cast<size_t>(cell)]);
    } else if (std::abs(cell) < kMaxExact) {
      cell += 0.0;  // no negative zero
      texts.push_back(table.view.type == DataType::kFloat32 ? fmt::format("{}", static_cast<float>(cell))
                                                            : fmt::format("{}", cell));
    } else {
      throw Error(ErrorCode::kBadData, table.path,
                  fmt::format("row {}, {}: {} is too large to name a row as a number; store the names as text", row + 1,
                              column.label(), cell));
    }
  }
  return texts;
}

// Returns what `read` returns, with the names of the rows where the reader itself gives none.
template <class Read>
auto with_ids(const Reader& reader, const std::string& path, const ReadOptions& options, Read&& read) {
  if (options.id.empty() || reader.names_rows) return read();
  const std::string name = points_file(path);
  const auto file = MappedFile::open(name, Access::kOnce, options.memory);
  const auto opening_again = [&](auto&& use) {
    std::optional<PeekedFile> peeked;
    if (!file->opens_again()) peeked.emplace(name, file);
    return use();
  };
  auto table = opening_again(read);
  RawTable names = opening_again([&] { return read_id_column(reader, path, options); });
  names.path = path;
  table.ids = texts_of(names, options.part);
  table.id_name = names.columns[0].name;
  return table;
}

bool are_numbers(const std::vector<std::string>& texts, char decimal) {
  double value = 0;
  std::string digits;
  return std::ranges::all_of(texts, [&](const std::string& text) {
    return parse_number(text, decimal, value, digits) == NumberKind::kNumber;
  });
}

// Messages about "-" say what that is.
template <class Use>
auto naming_input(const std::string& path, Use&& use) {
  if (path != MappedFile::kStandardInput) return read_unchanged(use);
  constexpr std::string_view kStart = "[-";
  try {
    return read_unchanged(use);
  } catch (const Error& error) {
    const std::string_view what = error.what();
    const size_t end = what.find("] ");
    if (!what.starts_with(kStart) || end == std::string_view::npos) throw;
    const std::string where = "standard input" + std::string(what.substr(kStart.size(), end - kStart.size()));
    throw Error(error.code(), where, std::string(what.substr(end + 2)));
  }
}

template <class Use>
auto with_memory(const std::string& path, Use&& use) {
  return or_unavailable([&] { return path == MappedFile::kStandardInput ? "standard input" : path; },
                        [] { return "there is not enough memory to read this file; give it fewer rows or columns"; },
                        use);
}

}  // namespace

std::span<const ReaderEntry> readers() {
#define MANYMEANS_REGISTER(name, maker) ReaderEntry{name, maker},
  static constexpr std::array kEntries = {
#include "registry/reader.inc"
  };
#undef MANYMEANS_REGISTER
  return kEntries;
}

std::vector<Choice> reader_choices(bool look) {
  std::vector<Choice> result;
  for (const ReaderEntry& entry : readers()) {
    Reader reader = entry.make();
    if (look && reader.find) {
      const FoundFormat found = reader.find();
      reader.available = found.available;
      reader.description = with_found(reader.description, found);
    }
    result.push_back({std::string(entry.name), reader.description, reader.available});
  }
  return result;
}

MemberPath split_member(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return {path, ""};
  for (size_t colon = path.find(':'); colon != std::string::npos; colon = path.find(':', colon + 1)) {
    const std::string file = path.substr(0, colon);
    if (std::filesystem::exists(file, ignored)) return {file, path.substr(colon + 1)};
  }
  return {path, ""};
}

std::string points_file(const std::string& path) {
  return split_member(path).file;  // whatever its ending: --format may say what it is
}

bool is_points_path(const std::string& path) {
  std::error_code ignored;
  return path == MappedFile::kStandardInput || std::filesystem::exists(points_file(path), ignored);
}

std::string row_label(const Dataset& points, int64_t row) {
  for (const int64_t gap : points.dropped) row += gap < row ? 1 : 0;  // gaps are rows of the file, too
  const auto label = [](int64_t number, int64_t first_line) {
    return first_line == 0 ? fmt::format("row {}", number)
                           : fmt::format("row {} (line {})", number, first_line + number - 1);
  };
  for (const ShardFile& shard : points.shards) {
    const int64_t number = row - shard.rows_before;
    if (number <= shard.rows) return fmt::format("{} of {}", label(number, shard.first_line), shard.path);
  }
  return label(row, points.first_line);
}

std::string column_label(const Dataset& points, int64_t column) {
  const auto at = static_cast<size_t>(column - 1);
  const bool one_each = static_cast<int64_t>(points.source.numbers.size()) == points.view.d;
  const std::string name = at < points.column_names.size() ? points.column_names[at] : "";
  return column_label(one_each ? points.source.numbers[at] : column, name);
}

FirstLine find_first_line(const std::string& path, const ReadOptions& options, int64_t rows) {
  std::error_code ignored;  // a pipe cannot be read twice
  if (table_kind(path, options) != TableKind::kLines || !std::filesystem::is_regular_file(path, ignored)) return {};
  ReadOptions first{.format = options.format, .dtype = DataType::kFloat64, .decimal = options.decimal};
  if (first.decimal == 0 && options.like) first.decimal = options.like->source.decimal;
  first.header = Header::kYes;
  first.memory = options.memory;
  first.part = {.first = 0, .last = 0};
  Dataset table;
  try {
    table = read_rows(path, first);
  } catch (const Error&) {
    return {};  // the reading of its rows says what is wrong
  }
  const std::vector<std::string>& names = table.column_names;
  const auto is_among_names = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  const bool known = options.like && !options.like->column_names.empty() &&
                     std::ranges::all_of(options.like->column_names, is_among_names);
  if (known || !are_numbers(names, table.source.decimal)) return {};
  FirstLine line{options.header, true};
  for (size_t j = 0; j < names.size(); ++j) line.may_name &= names[j] == fmt::format("{}", j);
  if (rows == 0) return line;
  const bool named = table.file_rows == rows && (line.may_name || options.header == Header::kYes);
  line.header = named ? Header::kYes : table.file_rows + 1 == rows ? Header::kNo : Header::kAuto;
  return line;
}

void read_weight_file(Dataset& points, const ReadOptions& options) {
  if (!is_points_path(options.weights)) {
    throw Error(
        ErrorCode::kUsage, "weights",
        fmt::format("'{}' is neither a column of {} nor a file; give a column's name or number, or a file of {} "
                    "numbers",
                    options.weights, points.path, points.file_rows));
  }
  if (options.part.count > 1) check_every_rank_can_read(options.weights);
  ReadOptions plain;
  plain.dtype = DataType::kFloat64;
  plain.threads = options.threads;
  plain.part = options.part;
  plain.memory = options.memory;
  plain.header = options.header;
  const int64_t rows = points.file_rows + std::ssize(points.dropped);
  plain.header = find_first_line(options.weights, plain, rows).header;
  const Dataset file = read_points(options.weights, plain);
  if (file.view.d != 1 || file.file_rows != rows) {
    const bool one_more = file.first_line > 0 && file.file_rows == rows + 1 && file.column_names.empty();
    throw Error(ErrorCode::kBadData, options.weights,
                fmt::format("{} rows of {} values found; one weight for each of the {} rows of {} is needed{}",
                            file.file_rows, file.view.d, rows, points.path,
                            one_more ? "; if the first line is a name, --header yes says so" : ""));
  }
  points.warnings.insert(points.warnings.end(), file.warnings.begin(), file.warnings.end());
  const double* values = static_cast<const double*>(file.view.data);
  points.weights.clear();
  auto gap = points.dropped.begin();
  for (int64_t row = 0; row < file.view.n; ++row) {
    if (gap != points.dropped.end() && *gap == row) {
      ++gap;
    } else {
      points.weights.push_back(values[row]);
    }
  }
}

TableKind table_kind(const std::string& path, const ReadOptions& options) {
  const Reader reader = make_reader(path, options.format);
  if (reader.names_rows) return TableKind::kLines;
  return reader.has_fields ? TableKind::kFields : TableKind::kOther;
}

void check_part(const RowPart& part) {
  if (part.last >= 0) {
    if (part.first >= 0 && part.first <= part.last) return;
    throw Error(
        ErrorCode::kUsage, "part",
        fmt::format("is rows {} to {}; the first is never negative, nor behind the last", part.first, part.last));
  }
  if (part.count >= 1 && part.index >= 0 && part.index < part.count) return;
  throw Error(ErrorCode::kUsage, "part",
              fmt::format("is {} of {}; parts count from 0, so that 0 to their number less one are right", part.index,
                          part.count));
}

RawTable read_raw(const std::string& path, ReadOptions options) {
  options.part = {};  // all rows decide what replaces a gap
  return with_memory(path, [&] {
    RawTable table = naming_input(path, [&] {
      const FoundReader found(path, options);
      const Reader& reader = found.reader();
      check_is_text(reader, options, path);
      return with_ids(reader, path, options, [&] { return read_raw_by(reader, path, options); });
    });
    table.path = path;
    return table;
  });
}

Dataset read_rows(const std::string& path, const ReadOptions& options) {
  const FpEnvironmentGuard guard;
  check_part(options.part);
  if (needs_preparation(options))
    return with_memory(path, [&] { return prepare_points(read_raw(path, options), options); });
  return with_memory(path, [&] {
    Dataset result = naming_input(path, [&] {
      const FoundReader found(path, options);
      check_is_text(found.reader(), options, path);
      return with_ids(found.reader(), path, options, [&] { return found.reader().read(path, options); });
    });
    result.path = path;
    return result;
  });
}

void check_some_rows(const Dataset& points) {
  if (points.file_rows > 0 && points.view.d > 0) return;
  throw Error(
      ErrorCode::kBadData, points.path,
      fmt::format("{} rows of {} columns were found; at least one of each is needed", points.file_rows, points.view.d));
}

Dataset read_points(const std::string& path, const ReadOptions& options) {
  Dataset result = read_rows(path, options);
  check_some_rows(result);
  if (!options.weights.empty() && result.weights.empty() && result.view.n > 0) read_weight_file(result, options);
  return result;
}

TableSummary with_reader(const std::string& path, const ReadOptions& options,
                         const std::function<TableSummary(const Reader&)>& use) {
  check_part(options.part);
  return with_memory(path, [&] {
    return naming_input(path, [&] {
      const FoundReader found(path, options);
      check_is_text(found.reader(), options, path);
      return use(found.reader());
    });
  });
}

}  // namespace manymeans
