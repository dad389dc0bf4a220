#include "io/arrow/python_formats.h"

#include "io/arrow/column_cells.h"
#include "io/arrow/fields_reader.h"
#include "io/arrow/fields_to_text.h"
#include "io/arrow/fields_writer.h"
#include "io/arrow/python_process.h"
#include "io/arrow/python_source.h"
#include "io/arrow/text_kinds.h"
#include "io/numpy/unicode.h"
#include "io/table/column_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

FoundFormat by_python() {
  const PythonFound found = find_python();
  if (found.program.empty()) return {false, found.reason};
  return {true, fmt::format("by pyarrow {} of {}", found.version, found.program)};
}

const char* name_of(FieldsFormat format) {
  return format == FieldsFormat::kParquet ? "parquet" : "arrow";
}

// --- What is sent
const char* name_in_arrow(CellType type) {
  switch (type) {
    case CellType::kUInt8: return "uint8";
    case CellType::kUInt16: return "uint16";
    case CellType::kUInt32: return "uint32";
    case CellType::kFloat64: return "double";
    case CellType::kFloat16: return "halffloat";
    case CellType::kInt8: return "int8";
    case CellType::kInt32: return "int32";
    case CellType::kFloat32:
    case CellType::kBFloat16: break;  // widened, see stored_type()
  }
  return "float";
}

const char* name_in_arrow(TextKind kind) {
  switch (kind) {
    case TextKind::kInteger: return "int64";
    case TextKind::kUnsigned: return "uint64";
    case TextKind::kNumber: return "double";
    case TextKind::kBytes: return "binary";
    case TextKind::kText: break;
  }
  return "string";
}

// The cells of one column, as arrow_process.py reads them.
class Column {
 public:
  explicit Column(bool is_text) : is_text_(is_text) { clear(); }
  template <class T>
  void add(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    values_.insert(values_.end(), bytes, bytes + sizeof value);
    valid_.push_back(std::byte{1});
  }
  void add(std::string_view text) {
    text_.append(text);
    add(std::ssize(text_));
  }
  template <class T>
  void add_null(T value) {
    add(value);
    valid_.back() = std::byte{0};
    has_nulls_ = true;
  }
  void send(PythonRequest& request) {
    request.add(has_nulls_ ? std::span<const std::byte>(valid_) : std::span<const std::byte>());
    request.add(std::span<const std::byte>(values_));
    if (is_text_) request.add(std::string_view(text_));
    clear();
  }

 private:
  void clear() {
    values_.clear();
    text_.clear();
    if (is_text_) add(int64_t{0});
    valid_.clear();
    has_nulls_ = false;
  }

  bool is_text_, has_nulls_ = false;
  std::vector<std::byte> valid_, values_;  // of text: where each begins, and where the last one ends
  std::string text_;
};

// Asks for something to be written, and writes it.
void write_answer(PythonProcess& process, const PythonRequest& request, OutputFile& file) {
  const PythonAnswer answer = process.ask(request, file.path());
  PythonItems items(answer);
  file.write(items.next());
}

// --- Tables
void write_batch(const Table& table, int64_t first, int64_t count, PythonRequest& request) {
  std::vector<std::byte> cells(static_cast<size_t>(count) * table.row_size());
  table.fill(first, count, cells.data());
  if (!table.ids.empty()) {
    Column ids(/*is_text=*/true);
    for (const std::string& id : table.ids.subspan(static_cast<size_t>(first), static_cast<size_t>(count))) {
      ids.add(std::string_view(id));
    }
    ids.send(request);
  }
  for (const NumberField& field : table.numbers) {
    Column numbers(/*is_text=*/false);
    for (const int64_t number : field.values.subspan(static_cast<size_t>(first), static_cast<size_t>(count))) {
      number == -1 ? numbers.add_null(number) : numbers.add(number);
    }
    numbers.send(request);
  }
  if (!table.list_name.empty()) {
    request.add(std::span<const std::byte>()).add(std::span<const std::byte>(cells));
    return;
  }
  const size_t size = size_of(table.type);
  std::vector<std::byte> column(static_cast<size_t>(count) * size), valid;
  for (int64_t j = 0; j < table.columns; ++j) {
    take_column({cells.data(), size, count, table.columns}, j, column.data());
    valid.clear();
    if (table.has_gaps) {
      for_each_gap(table.type, column.data(), count,
                   [&](int64_t, bool gap) { valid.push_back(std::byte{gap ? uint8_t{0} : uint8_t{1}}); });
    }
    request.add(std::span<const std::byte>(valid)).add(std::span<const std::byte>(column));
  }
}

void write_by_python(const Table& table, FieldsFormat format, OutputFile& file) {
  PythonProcess process(file.path());
  PythonRequest create("create");
  create.add(name_of(format));
  if (!table.ids.empty()) {
    create.add(table.id_name).add(std::ranges::all_of(table.ids, is_utf8) ? "string" : "binary").add(int64_t{0});
  }
  for (const NumberField& field : table.numbers) create.add(field.name).add("int64").add(int64_t{field.has_gaps()});
  if (!table.list_name.empty()) {
    create.add(table.list_name).add(fmt::format("{}[{}]", name_in_arrow(table.type), table.columns)).add(int64_t{0});
  }
  for (int64_t j = 0; table.list_name.empty() && j < table.columns; ++j) {
    create.add(field_name(table, j)).add(name_in_arrow(table.type)).add(int64_t{table.has_gaps});
  }
  process.ask(create);
  const int64_t most = batch_rows(table);
  for (int64_t first = 0; first < table.rows; first += most) {
    const int64_t count = std::min(most, table.rows - first);
    PythonRequest request("write");
    request.add(count);
    write_batch(table, first, count, request);
    write_answer(process, request, file);
  }
  write_answer(process, PythonRequest("close"), file);
}

// --- Tables with more columns
// The rows of the file, in their order, each with its cells at the end.
class Appending {
 public:
  Appending(const RowsWithMore& rows, PythonProcess& process, OutputFile& file)
      : rows_(rows), process_(process), file_(file) {}
  // `names`: of the columns that are there; the request names those that are no file's.
  void begin(PythonRequest request, std::vector<std::string> names) {
    for (const AppendedColumn& column : rows_.columns) {
      names.push_back(free_name(names, column.name));
      request.add(names.back());
      request.add(column.labels != nullptr ? "int32" : "double").add(int64_t{!rows_.dropped.empty()});
    }
    process_.ask(request, file_.path());
  }
  // Writes the next `count` rows; `columns` are not in the file. False if there are more rows than were read.
  bool write(int64_t count, std::span<Column> columns) {
    if (count > rows_.rows - row_) return false;
    PythonRequest request("write");
    request.add(count);
    for (Column& column : columns) column.send(request);
    const auto gap = std::ranges::lower_bound(rows_.dropped, row_);
    for (const AppendedColumn& column : rows_.columns) {
      Column cells(/*is_text=*/false);
      fill(column, count, gap - rows_.dropped.begin(), cells);
      cells.send(request);
    }
    write_answer(process_, request, file_);
    row_ += count;
    return true;
  }
  bool close() {
    write_answer(process_, PythonRequest("close"), file_);
    return row_ == rows_.rows;
  }

 private:
  // `gaps`: how many of the rows before are no points.
  void fill(const AppendedColumn& column, int64_t count, int64_t gaps, Column& cells) const {
    int64_t point = row_ - gaps;
    for (int64_t i = 0; i < count; ++i) {
      const bool gap = gaps < std::ssize(rows_.dropped) && rows_.dropped[static_cast<size_t>(gaps)] == row_ + i;
      if (gap) {
        ++gaps;
        column.labels != nullptr ? cells.add_null(int32_t{0}) : cells.add_null(0.0);
      } else if (column.labels != nullptr) {
        cells.add(static_cast<int32_t>((*column.labels)[point++]));
      } else {
        cells.add(column.values[static_cast<size_t>(point++)]);
      }
    }
  }

  const RowsWithMore& rows_;
  PythonProcess& process_;
  OutputFile& file_;
  int64_t row_ = 0;  // the next one of the file
};

bool append_to_file(const RowsWithMore& rows, const std::string& format, OutputFile& file) {
  const bool parquet = rows.file->text().starts_with("PAR1");
  PythonSource source(parquet ? FieldsFormat::kParquet : FieldsFormat::kArrow, rows.file, rows.path, 0);
  if (format == "csv" || format == "tsv") return append_as_text(rows, source, format == "csv" ? ',' : '\t', file);
  std::vector<int> fields(source.fields().size());
  std::iota(fields.begin(), fields.end(), 0);
  const std::vector<int64_t> pieces = source.piece_rows(fields);
  std::vector<std::string> names;
  for (const FieldInfo& field : source.fields()) names.push_back(field.name);
  Appending out(rows, source.process(), file);
  out.begin(std::move(PythonRequest("extend").add(format)), std::move(names));
  for (int64_t piece = 0; piece < std::ssize(pieces); ++piece) {
    const PythonAnswer answer = source.process().ask(PythonRequest("take").add(piece));
    PythonItems items(answer);
    if (!out.write(items.number(), {})) return false;
  }
  return out.close();
}

template <class Integer>
void add_integer(const Field& field, bool null, Column& column) {
  Integer value = 0;
  if (null) return column.add_null(value);
  parse_integer(field.text, value);
  column.add(value);
}

void add_cell(const Field& field, TextKind kind, char decimal, Column& column) {
  const bool null = is_null_cell(field, kind);
  if (kind == TextKind::kInteger) return add_integer<int64_t>(field, null, column);
  if (kind == TextKind::kUnsigned) return add_integer<uint64_t>(field, null, column);
  if (kind == TextKind::kNumber) return null ? column.add_null(0.0) : column.add(number_of(field, decimal));
  null ? column.add_null(std::string_view()) : column.add(std::string_view(text_of(field)));
}

bool append_to_text(const RowsWithMore& rows, const std::string& format, OutputFile& file) {
  constexpr int64_t kRowsAtOnce = int64_t{1} << 17;
  const TextLayout& layout = *rows.layout;
  const std::vector<TextKind> kinds = find_kinds(layout, rows.memory);
  std::vector<std::string> names;
  std::vector<Column> columns;
  PythonRequest request("extend");
  request.add(format);
  for (size_t j = 0; j < kinds.size(); ++j) {
    names.push_back(name_of(layout, j));
    request.add(names.back()).add(name_in_arrow(kinds[j])).add(int64_t{1});
    columns.emplace_back(kinds[j] == TextKind::kText || kinds[j] == TextKind::kBytes);
  }
  PythonProcess process(rows.path);
  Appending out(rows, process, file);
  out.begin(std::move(request), std::move(names));
  TextRows text(layout, rows.memory);
  for (;;) {
    const int64_t count = text.next(kRowsAtOnce, [&](std::vector<Field> fields) {
      fields.resize(columns.size());
      for (size_t j = 0; j < columns.size(); ++j) add_cell(fields[j], kinds[j], layout.decimal, columns[j]);
    });
    if (count == 0) return out.close();
    if (!out.write(count, columns)) return false;
  }
}

}  // namespace

Reader python_reader(FieldsFormat format) {
  const auto open = [format](std::shared_ptr<const MappedFile> file, const std::string& path, int threads) {
    return std::make_unique<PythonSource>(format, std::move(file), path, threads);
  };
  return make_fields_reader(format, open, by_python);
}

Writer python_writer(FieldsFormat format) {
  return make_fields_writer(
      format, [format](const Table& table, OutputFile& file) { write_by_python(table, format, file); }, by_python);
}

bool append_by_python(const RowsWithMore& rows, const std::string& format, OutputFile& file) {
  return reading_fields(rows.path, [&] {
    return rows.layout != nullptr ? append_to_text(rows, format, file) : append_to_file(rows, format, file);
  });
}

}  // namespace manymeans
