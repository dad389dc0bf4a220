#include "io/arrow/arrow_append.h"

#include <manymeans/error.h>

#include "io/arrow/arrow_sink.h"
#include "io/arrow/arrow_source.h"
#include "io/arrow/fields_to_text.h"
#include "io/arrow/text_kinds.h"
#include "io/table/column_selection.h"
#include "io/table/text_fields.h"

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/ipc/writer.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

// --- What is written
// -------------------------------------------------------------------------------------------------- A Parquet or an
// Arrow file that takes tables one after the other.
class FieldsFile {
 public:
  FieldsFile(const std::shared_ptr<arrow::Schema>& schema, const std::string& format, OutputFile& file)
      : sink_(std::make_shared<Sink>(file)) {
    if (format == "parquet") {
      const auto packed = parquet::WriterProperties::Builder().compression(parquet_compression())->build();
      const auto typed = parquet::ArrowWriterProperties::Builder().store_schema()->build();  // what Parquet cannot name
      parquet_ =
          sink_->check(parquet::arrow::FileWriter::Open(*schema, arrow::default_memory_pool(), sink_, packed, typed));
      return;
    }
    auto options = arrow::ipc::IpcWriteOptions::Defaults();
    options.use_threads = false;
    options.unify_dictionaries = true;  // a file has one of each; batches may have different ones
    arrow_ = sink_->check(arrow::ipc::MakeFileWriter(sink_, schema, options));
  }
  void write(const arrow::Table& table) {
    if (table.num_rows() == 0) return;
    sink_->check(parquet_ ? parquet_->WriteTable(table, table.num_rows()) : arrow_->WriteTable(table));
  }
  void close() { sink_->check(parquet_ ? parquet_->Close() : arrow_->Close()); }
  const Sink& sink() const { return *sink_; }

 private:
  std::shared_ptr<Sink> sink_;
  std::unique_ptr<parquet::arrow::FileWriter> parquet_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> arrow_;
};

// The rows of the file, in their order, each with its cells at the end.
class AppendingFile {
 public:
  AppendingFile(const RowsWithMore& rows, const std::shared_ptr<arrow::Schema>& schema, const std::string& format,
                OutputFile& file)
      : rows_(rows), schema_(with_columns(schema)), file_(schema_, format, file) {}
  // False where there are more rows than were read.
  bool write(const arrow::Table& table) {
    if (row_ + table.num_rows() > rows_.rows) return false;
    std::vector<bool> there(static_cast<size_t>(table.num_rows()), true);
    auto gap = std::ranges::lower_bound(rows_.dropped, row_);
    const int64_t point = row_ - (gap - rows_.dropped.begin());
    for (; gap != rows_.dropped.end() && *gap < row_ + table.num_rows(); ++gap) {
      there[static_cast<size_t>(*gap - row_)] = false;
    }
    arrow::ChunkedArrayVector columns = table.columns();
    for (const AppendedColumn& column : rows_.columns) {
      columns.push_back(std::make_shared<arrow::ChunkedArray>(cells_of(column, there, point)));
    }
    file_.write(*arrow::Table::Make(schema_, std::move(columns), table.num_rows()));
    row_ += table.num_rows();
    return true;
  }
  bool close() {
    file_.close();
    return row_ == rows_.rows;
  }
  const Sink& sink() const { return file_.sink(); }

 private:
  std::shared_ptr<arrow::Schema> with_columns(const std::shared_ptr<arrow::Schema>& schema) const {
    arrow::FieldVector fields = schema->fields();
    std::vector<std::string> names = schema->field_names();
    for (const AppendedColumn& column : rows_.columns) {
      names.push_back(free_name(names, column.name));
      const auto type = column.labels != nullptr ? arrow::int32() : arrow::float64();
      fields.push_back(arrow::field(names.back(), type, /*nullable=*/!rows_.dropped.empty()));
    }
    return arrow::schema(std::move(fields), schema->metadata());
  }
  // The cells of the rows that are there; `point` is the number of the first of them among the points.
  std::shared_ptr<arrow::Array> cells_of(const AppendedColumn& column, const std::vector<bool>& there,
                                         int64_t point) const {
    const auto fill = [&](auto builder, const auto& value) {
      sink().check(builder.Reserve(std::ssize(there)));
      for (const bool is_point : there) {
        if (is_point) {
          builder.UnsafeAppend(value(point++));
        } else {
          builder.UnsafeAppendNull();
        }
      }
      return sink().check(builder.Finish());
    };
    if (column.labels == nullptr) {
      return fill(arrow::DoubleBuilder(), [&](int64_t row) { return column.values[static_cast<size_t>(row)]; });
    }
    return fill(arrow::Int32Builder(), [&](int64_t row) { return static_cast<int32_t>((*column.labels)[row]); });
  }

  const RowsWithMore& rows_;
  std::shared_ptr<arrow::Schema> schema_;
  FieldsFile file_;
  int64_t row_ = 0;  // the next one of the file
};

// --- Parquet and Arrow
// ------------------------------------------------------------------------------------------------
bool append_to_file(const RowsWithMore& rows, const std::string& format, OutputFile& file) {
  const bool parquet = rows.file->text().starts_with("PAR1");
  auto source = parquet ? open_parquet(rows.file, rows.path) : open_arrow(rows.file, rows.path);
  if (format == "csv" || format == "tsv") {
    return append_as_text(rows, *cells_of(std::move(source), rows.path), format == "csv" ? ',' : '\t', file);
  }
  std::vector<int> fields(static_cast<size_t>(source->schema()->num_fields()));
  std::iota(fields.begin(), fields.end(), 0);
  const auto pieces = std::ssize(source->piece_rows(fields));
  const auto reader = source->open(fields);
  AppendingFile out(rows, source->schema(), format, file);
  for (int64_t i = 0; i < pieces; ++i) {
    if (!out.write(*reader->read(i))) return false;
  }
  return out.close();
}

// --- Text
// -------------------------------------------------------------------------------------------------------------
std::shared_ptr<arrow::DataType> type_of(TextKind kind) {
  switch (kind) {
    case TextKind::kInteger: return arrow::int64();
    case TextKind::kUnsigned: return arrow::uint64();
    case TextKind::kNumber: return arrow::float64();
    case TextKind::kBytes: return arrow::binary();
    case TextKind::kText: break;
  }
  return arrow::utf8();
}

template <class Integer, class Builder>
arrow::Status append_integer(const Field& field, arrow::ArrayBuilder& builder) {
  Integer value = 0;
  parse_integer(field.text, value);
  return static_cast<Builder&>(builder).Append(value);
}

arrow::Status append_cell(const Field& field, TextKind kind, char decimal, arrow::ArrayBuilder& builder) {
  if (is_null_cell(field, kind)) return builder.AppendNull();
  if (kind == TextKind::kNumber) return static_cast<arrow::DoubleBuilder&>(builder).Append(number_of(field, decimal));
  if (kind == TextKind::kInteger) return append_integer<int64_t, arrow::Int64Builder>(field, builder);
  if (kind == TextKind::kUnsigned) return append_integer<uint64_t, arrow::UInt64Builder>(field, builder);
  return static_cast<arrow::BinaryBuilder&>(builder).Append(text_of(field));
}

std::shared_ptr<arrow::Schema> schema_of(const TextLayout& layout, const std::vector<TextKind>& kinds) {
  arrow::FieldVector fields;
  for (size_t j = 0; j < kinds.size(); ++j) fields.push_back(arrow::field(name_of(layout, j), type_of(kinds[j])));
  return arrow::schema(std::move(fields));
}

bool append_to_text(const RowsWithMore& rows, const std::string& format, OutputFile& file) {
  constexpr int64_t kRowsAtOnce = int64_t{1} << 17;
  const TextLayout& layout = *rows.layout;
  const std::vector<TextKind> kinds = find_kinds(layout, rows.memory);
  const auto schema = schema_of(layout, kinds);
  AppendingFile out(rows, schema, format, file);
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders;
  for (const auto& field : schema->fields()) builders.push_back(out.sink().check(arrow::MakeBuilder(field->type())));
  TextRows text(layout, rows.memory);
  for (;;) {
    const int64_t count = text.next(kRowsAtOnce, [&](std::vector<Field> fields) {
      fields.resize(builders.size());
      for (size_t j = 0; j < builders.size(); ++j) {
        out.sink().check(append_cell(fields[j], kinds[j], layout.decimal, *builders[j]));
      }
    });
    if (count == 0) return out.close();
    arrow::ArrayVector columns;
    for (const auto& builder : builders) columns.push_back(out.sink().check(builder->Finish()));
    if (!out.write(*arrow::Table::Make(schema, columns, count))) return false;
  }
}

}  // namespace

bool append_to_fields(const RowsWithMore& rows, const std::string& format, OutputFile& file) {
  return reading_fields(rows.path, [&] {
    return rows.layout != nullptr ? append_to_text(rows, format, file) : append_to_file(rows, format, file);
  });
}

}  // namespace manymeans
