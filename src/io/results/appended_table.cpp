// Tables that are written again with more columns.
#include <manymeans/error.h>
#include <manymeans/io.h>

#include "core/lower_case.h"
#include "core/os/unnamed_file.h"
#include "core/out_of_memory.h"
#include "io/arrow/arrow_append.h"
#include "io/files/file_watch.h"
#include "io/files/mapped_file.h"
#include "io/files/output_file.h"
#include "io/files/text_pages.h"
#include "io/files/unpack.h"
#include "io/table/column_selection.h"
#include "io/table/reader.h"
#include "io/table/writer.h"
#include "io/text/text_layout.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

namespace manymeans {
namespace {

constexpr const char* kRight =
    "--append is for one file of text (packed, too), Parquet or Arrow, which is read twice; --labels is for others";

struct FileState {
  int64_t size = 0, changed = 0;
};

bool is_file_of_fields(const std::string& path) {
  const std::string lower = lower_case(path);
  return lower.ends_with(".parquet") || lower.ends_with(".arrow") || lower.ends_with(".feather");
}

// Commas where the name of the output asks for nothing else: a table of fields has no delimiter of its own.
std::string format_of_fields(const std::string& output) {
  const std::string lower = lower_case(output);
  if (is_file_of_fields(output)) return lower.ends_with(".parquet") ? "parquet" : "arrow";
  return lower.ends_with(".tsv") ? "tsv" : "csv";
}

// Only a file can be read a second time.
FileState state_of(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0 || S_ISDIR(found.st_mode)) return {};  // the reader says what is wrong
  if (!S_ISREG(found.st_mode)) {
    throw Error(ErrorCode::kUsage, "append", fmt::format("'{}' is no file, and is gone once read; {}", path, kRight));
  }
  constexpr int64_t kNanoseconds = 1'000'000'000;
  const timespec written = written_at(found);
  return {found.st_size, written.tv_sec * kNanoseconds + written.tv_nsec};
}

// The delimiter of the fields of this output. Where its name asks for nothing else, lines stay as they are. Commas and
// semicolons both make a .csv.
char delimiter_of(const std::string& output, const TextLayout& layout) {
  const std::string lower = lower_case(output);
  if (lower.ends_with(".tsv")) return '\t';
  if (!lower.ends_with(".csv") || layout.delimiter == ',' || layout.delimiter == ';') return layout.delimiter;
  return layout.decimal == ',' ? ';' : ',';
}

// Appends a field as its line has it; `raw` includes the blanks around it. These blanks are left out if the other
// delimiter requires quotes, or is among them.
void append_field(std::string_view raw, const Field& field, char delimiter, std::string& text) {
  const char special[] = {delimiter, '"'};
  if (field.quoted) {
    const std::string_view core(field.text.data() - 1, field.text.size() + 2);
    const std::string_view before(raw.data(), static_cast<size_t>(core.data() - raw.data()));
    const std::string_view after = raw.substr(before.size() + core.size());
    const bool parted =
        before.find(delimiter) != std::string_view::npos || after.find(delimiter) != std::string_view::npos;
    text += parted ? core : raw;
    return;
  }
  if (raw.find_first_of({special, 2}) == std::string_view::npos) {
    text += raw;
    return;
  }
  text += '"';
  for (const char c : field.text) text.append(c == '"' ? 2 : 1, c);
  text += '"';
}

// The fields of a line between other delimiters, with the blanks around them where blanks delimit nothing.
void append_fields(std::string_view line, char from, char to, std::string& text) {
  if (from == kBlanks) line = trim_line(line, from);
  const char* const end = line.data() + line.size();
  for (const char* at = line.data(); at != nullptr && !line.empty();) {
    Field field;
    const char* const begin = at;
    at = cut_field(at, end, from, field);
    if (begin != line.data()) text += to;
    std::string_view raw(begin, static_cast<size_t>((at == nullptr ? end : at - 1) - begin));
    if (from == kBlanks) {
      raw = field.quoted ? std::string_view(field.text.data() - 1, field.text.size() + 2) : field.text;
    }
    append_field(raw, field, to, text);
  }
}

// The cells of one row, each behind a delimiter.
class CellWriter {
 public:
  CellWriter(const TextLayout& layout, char delimiter, const Dataset& points, std::span<const AppendedColumn> columns)
      : layout_(layout),
        columns_(columns),
        dropped_(points.dropped),
        changes_(delimiter != layout.delimiter),
        blanks_(delimiter == kBlanks),
        delimiter_(delimiter) {
    if (!blanks_) return;
    const std::string_view line = layout.body.substr(0, layout.body.find('\n'));
    delimiter_ = line.find('\t') == std::string_view::npos ? ' ' : '\t';
  }

  /// Returns whether lines get another delimiter.
  bool changes() const { return changes_; }
  // A line of the table, without its end.
  void append_line(std::string_view line, std::string& text) const {
    if (changes_) {
      append_fields(line, layout_.delimiter, delimiter_, text);
    } else {
      text += line;
    }
  }

  // Appends the cells of the next row of the file.
  void append_row(std::string& text) {
    const bool gap = next_gap_ < dropped_.size() && dropped_[next_gap_] == row_;
    ++row_;
    if (gap) ++next_gap_;
    for (const AppendedColumn& column : columns_) {
      text += delimiter_;
      if (gap) {
        if (blanks_) text += "\"\"";  // or there would be no field
      } else if (column.labels != nullptr) {
        fmt::format_to(std::back_inserter(text), "{}", (*column.labels)[of_points_]);
      } else {
        append_value(column.values[static_cast<size_t>(of_points_)], text);
      }
    }
    of_points_ += gap ? 0 : 1;
  }
  void append_names(std::string& text) const {
    std::vector<std::string> names = layout_.columns.names;
    for (const AppendedColumn& column : columns_) {
      std::string name = free_name(names, column.name);
      text += delimiter_;
      text += name;
      names.push_back(std::move(name));
    }
  }

 private:
  void append_value(double value, std::string& text) const {
    std::string number = fmt::format("{}", value);
    if (layout_.decimal != '.') std::ranges::replace(number, '.', layout_.decimal);
    text += number.find(delimiter_) == std::string::npos ? number : '"' + number + '"';
  }

  const TextLayout& layout_;
  std::span<const AppendedColumn> columns_;
  std::span<const int64_t> dropped_;
  bool changes_;  // the delimiter is not the table's
  bool blanks_;
  char delimiter_;
  int64_t row_ = 0, of_points_ = 0;
  size_t next_gap_ = 0;
};

// The line without its end, which is '\n' or "\r\n" or nothing.
std::string_view before_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end == std::string_view::npos ? end : end + 1);
  text.remove_prefix(line.size());
  return line;
}

// Appends everything before the rows: a mark, comments and empty lines. The names of the columns or the size of the
// table come last, if there are any.
void append_head(std::string_view head, const CellWriter& cells, const TextLayout& layout, size_t added,
                 std::string& text) {
  if (head.starts_with(kByteOrderMark)) {
    text.append(kByteOrderMark);
    head.remove_prefix(kByteOrderMark.size());
  }
  const std::string_view all = head;
  std::string_view last;
  while (!head.empty()) last = take_line(head);
  std::string_view line = before_end(last);
  const size_t ending = line.size();
  text.append(all.substr(0, all.size() - last.size()));
  if (!layout.columns.names.empty()) {
    // Names in a comment are fields of a table with another delimiter.
    const bool commented = line.starts_with('#') && layout.columns.names[0] != "#";
    if (commented && cells.changes()) line.remove_prefix(line.find_first_not_of("# "));
    cells.append_line(line, text);
    cells.append_names(text);
  } else if (const std::string_view size = trim_line(line, kBlanks);
             !size.empty() && size.find_first_not_of("0123456789 \t,;") == std::string_view::npos) {
    std::string changed(line);  // "rows columns"
    const size_t begin = changed.find_last_of(" \t,;", changed.find_last_of("0123456789")) + 1;
    changed.replace(begin, std::string::npos, fmt::format("{}", layout.columns.count + static_cast<int64_t>(added)));
    cells.append_line(changed, text);
  } else {
    text.append(line);
  }
  text.append(last.substr(ending));
}

// Returns false, having written something, where there are not as many rows as `rows` says.
bool write_lines(std::string_view whole, const TextLayout& layout, CellWriter& cells, const RowsWithMore& rows,
                 OutputFile& file) {
  constexpr size_t kBuffer = size_t{1} << 20;
  const auto head = static_cast<size_t>(layout.body.data() - whole.data());
  std::string text;
  append_head(whole.substr(0, head), cells, layout, rows.columns.size(), text);
  TextPages pages(layout.body, rows.memory);
  int64_t count = 0;
  for (std::string_view left = layout.body; !left.empty(); ++count) {
    if (count == rows.rows) return false;
    const std::string_view line = take_line(left);
    const std::string_view content = before_end(line);
    cells.append_line(content, text);
    cells.append_row(text);
    text.append(line.substr(content.size()));
    if (text.size() < kBuffer) continue;
    file.write(text);
    text.clear();
    pages.release_to(layout.body.size() - left.size());
  }
  text.append(whole.substr(head + layout.body.size()));
  file.write(text);
  return count == rows.rows;
}

}  // namespace

AppendedTable::AppendedTable(const std::string& path, const std::string& output, const ReadOptions& options)
    : path_(path), output_(output), memory_(options.memory) {
  if (path == MappedFile::kStandardInput) {
    throw Error(ErrorCode::kUsage, "append", std::string("standard input is gone once read; ") + kRight);
  }
  check_file_names(std::array{NamedFile{"append", output}}, std::array{NamedFile{path, path}});
  const TableKind kind = table_kind(path, options);
  if (kind == TableKind::kOther) {
    throw Error(ErrorCode::kUsage, "append", fmt::format("'{}' is no such table; {}", path, kRight));
  }
  has_lines_ = kind == TableKind::kLines;
  if (is_file_of_fields(output)) {
    (void)writer_for(output);  // says what is missing
  }
  const FileState state = state_of(path);
  size_ = state.size;
  changed_ = state.changed;
}

// As text, line by line, or as fields.
bool AppendedTable::write_rows(const Dataset& points, std::span<const AppendedColumn> columns, OutputFile& out) const {
  RowsWithMore rows{path_,          MappedFile::open(path_, Access::kOnce),     nullptr, columns,
                    points.dropped, points.view.n + std::ssize(points.dropped), memory_};
  const std::string format = format_of_fields(output_);
  if (!has_lines_) return append_to_fields(rows, format, out);
  ByteBuffer unpacked;
  std::string_view text = rows.file->text();
  if (is_packed(text)) {
    unpacked = unpack(text, path_, memory_);
    text = unpacked.text();
  }
  TextForm form{points.source.decimal, Header::kAuto, points.source.names, memory_};
  TextLayout layout = find_layout(text, path_, form);
  if (layout.first_line != points.first_line) {  // the header was asked for, or known
    form.header = layout.first_line < points.first_line ? Header::kYes : Header::kNo;
    layout = find_layout(text, path_, form);
  }
  if (is_file_of_fields(output_)) {
    rows.layout = &layout;
    return append_to_fields(rows, format, out);
  }
  CellWriter cells(layout, delimiter_of(output_, layout), points, columns);
  return write_lines(text, layout, cells, rows, out);
}

void AppendedTable::write(const Dataset& points, std::span<const AppendedColumn> columns) const {
  const auto refuse_change = [&] {
    throw Error(ErrorCode::kBadData, path_,
                "was written to while it was used; nothing was appended to its rows: run it again");
  };
  load_unchanged(path_, [&] {
    const FileWatch watch;
    const FileState state = state_of(path_);
    if (state.size != size_ || state.changed != changed_) refuse_change();
    OutputFile out(output_);
    if (!write_rows(points, columns, out)) refuse_change();
    watch.check();
    out.commit();
    return 0;
  });
}

}  // namespace manymeans
