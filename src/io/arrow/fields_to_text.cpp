#include "io/arrow/fields_to_text.h"

#include "io/table/column_selection.h"

#include <fmt/format.h>

#include <iterator>
#include <numeric>
#include <string>
#include <string_view>

namespace manymeans {
namespace {

class TextWriter {
 public:
  TextWriter(const RowsWithMore& rows, const std::vector<FieldInfo>& fields, char delimiter, OutputFile& file)
      : rows_(rows), fields_(fields), delimiter_(delimiter), file_(file) {}

  void write_names() {
    std::vector<std::string> names;
    for (const FieldInfo& field : fields_) names.push_back(field.name);
    for (const AppendedColumn& column : rows_.columns) names.push_back(free_name(names, column.name));
    for (const std::string& name : names) add_text(name);
    end_line();
  }
  // Returns false where there are more rows than were read.
  bool write(const FieldRows& batch) {
    if (row_ + batch.rows > rows_.rows) return false;
    for (int64_t i = 0; i < batch.rows; ++i) {
      for (size_t j = 0; j < fields_.size(); ++j) add_cell(fields_[j], *batch.fields[j], i);
      add_new_cells();
      end_line();
    }
    return true;
  }
  bool close() {
    file_.write(text_);
    return row_ == rows_.rows;
  }

 private:
  void begin_field() {
    if (!at_begin_) text_ += delimiter_;
    at_begin_ = false;
  }
  void add_text(std::string_view text) {
    begin_field();
    const char special[] = {delimiter_, '"', '\n', '\r'};
    const bool blank = text.empty() || text.front() == ' ' || text.back() == ' ';
    if (!blank && text.find_first_of({special, sizeof special}) == std::string_view::npos) {
      text_ += text;
      return;
    }
    text_ += '"';
    for (const char c : text) text_.append(c == '"' ? 2 : 1, c);
    text_ += '"';
  }
  void add_cell(const FieldInfo& field, const FieldCells& cells, int64_t at) {
    if (cells.is_null(at)) return begin_field();
    const bool digits = field.kind == FieldKind::kOther || field.type.starts_with("decimal");
    if (digits) return add_text(cells.text(at));
    begin_field();
    double value = 0;
    lost_.columns[0] = {};
    if (cells.copy(at, 1, {&value, 1, 1, DataType::kFloat64, &lost_, nullptr, 0, 1}))
      return;  // of a null that is coded
    if (lost_.seen(0)) {
      text_ += lost_.columns[0].value;
    } else if (field.stored == DataType::kFloat32) {
      fmt::format_to(std::back_inserter(text_), "{}", static_cast<float>(value));
    } else {
      fmt::format_to(std::back_inserter(text_), "{}", value);
    }
  }
  void add_new_cells() {
    const bool gap = next_gap_ < rows_.dropped.size() && rows_.dropped[next_gap_] == row_;
    for (const AppendedColumn& column : rows_.columns) {
      begin_field();
      if (gap) continue;
      if (column.labels != nullptr) {
        fmt::format_to(std::back_inserter(text_), "{}", (*column.labels)[point_]);
      } else {
        fmt::format_to(std::back_inserter(text_), "{}", column.values[static_cast<size_t>(point_)]);
      }
    }
    next_gap_ += gap ? 1 : 0;
    point_ += gap ? 0 : 1;
    ++row_;
  }
  void end_line() {
    constexpr size_t kBuffer = size_t{1} << 20;
    text_ += '\n';
    at_begin_ = true;
    if (text_.size() < kBuffer) return;
    file_.write(text_);
    text_.clear();
  }

  const RowsWithMore& rows_;
  const std::vector<FieldInfo>& fields_;
  char delimiter_;
  OutputFile& file_;
  std::string text_;
  bool at_begin_ = true;
  LostIntegers lost_{1};  // an integer that float64 rounds, with all its digits
  int64_t row_ = 0, point_ = 0;
  size_t next_gap_ = 0;
};

}  // namespace

bool append_as_text(const RowsWithMore& rows, FieldSource& source, char delimiter, OutputFile& file) {
  for (const FieldInfo& field : source.fields()) {
    if (field.kind != FieldKind::kFixedList && field.kind != FieldKind::kList) continue;
    throw Error(ErrorCode::kUsage, "append",
                fmt::format("column '{}' of '{}' holds lists, and a field of text holds one value; a .parquet, .arrow "
                            "or .feather file is right",
                            field.name, rows.path));
  }
  std::vector<int> fields(source.fields().size());
  std::iota(fields.begin(), fields.end(), 0);
  const int64_t pieces = std::ssize(source.piece_rows(fields));
  const auto reader = source.open(fields);
  TextWriter out(rows, source.fields(), delimiter, file);
  out.write_names();
  for (int64_t piece = 0; piece < pieces; ++piece) {
    reader->start(piece);
    while (const auto batch = reader->next()) {
      if (!out.write(*batch)) return false;
    }
  }
  return out.close();
}

}  // namespace manymeans
