// Tables as Parquet and as Arrow files, one field a column.
#include "io/arrow/arrow_sink.h"
#include "io/arrow/arrow_source.h"
#include "io/arrow/column_cells.h"
#include "io/arrow/fields_writer.h"
#include "io/numpy/unicode.h"
#include "io/table/writer.h"

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/buffer.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <algorithm>
#include <utility>

namespace manymeans {
namespace {

std::shared_ptr<arrow::DataType> arrow_type(CellType type) {
  switch (type) {
    case CellType::kUInt8: return arrow::uint8();
    case CellType::kUInt16: return arrow::uint16();
    case CellType::kUInt32: return arrow::uint32();
    case CellType::kFloat64: return arrow::float64();
    case CellType::kFloat16: return arrow::float16();
    case CellType::kInt8: return arrow::int8();
    case CellType::kInt32: return arrow::int32();
    case CellType::kFloat32:
    case CellType::kBFloat16: break;  // widened, see stored_type()
  }
  return arrow::float32();
}

std::shared_ptr<arrow::DataType> list_type(const Table& table) {
  const auto cell = arrow::field("element", arrow_type(table.type), /*nullable=*/false);
  return arrow::fixed_size_list(cell, static_cast<int32_t>(table.columns));
}

// Names in other encodings are bytes: readers refuse a string that is no UTF-8.
std::shared_ptr<arrow::DataType> type_of_ids(const Table& table) {
  return std::ranges::all_of(table.ids, is_utf8) ? arrow::utf8() : arrow::binary();
}

std::shared_ptr<arrow::Schema> schema_of(const Table& table) {
  arrow::FieldVector fields;
  if (!table.ids.empty()) fields.push_back(arrow::field(table.id_name, type_of_ids(table), /*nullable=*/false));
  for (const NumberField& field : table.numbers) {
    fields.push_back(arrow::field(field.name, arrow::int64(), field.has_gaps()));
  }
  if (!table.list_name.empty()) fields.push_back(arrow::field(table.list_name, list_type(table), /*nullable=*/false));
  for (int64_t j = 0; table.list_name.empty() && j < table.columns; ++j) {
    fields.push_back(arrow::field(field_name(table, j), arrow_type(table.type), /*nullable=*/table.has_gaps));
  }
  return arrow::schema(std::move(fields));
}

// The bitmap of the cells that are values: -1 and NaN are none.
std::shared_ptr<arrow::Buffer> validity_of(CellType type, int64_t count, const arrow::Buffer& cells, const Sink& sink) {
  std::shared_ptr<arrow::Buffer> valid = sink.check(arrow::AllocateEmptyBitmap(count, arrow::default_memory_pool()));
  for_each_gap(type, reinterpret_cast<const std::byte*>(cells.data()), count,
               [&](int64_t i, bool gap) { arrow::bit_util::SetBitTo(valid->mutable_data(), i, !gap); });
  return valid;
}

std::shared_ptr<arrow::ArrayData> column_of_ids(std::span<const std::string> ids,
                                                const std::shared_ptr<arrow::DataType>& type, const Sink& sink) {
  arrow::StringBuilder builder;
  for (const std::string& id : ids) sink.check(builder.Append(id));
  std::shared_ptr<arrow::ArrayData> data = sink.check(builder.Finish())->data();
  data->type = type;
  return data;
}

std::shared_ptr<arrow::ArrayData> column_of_numbers(std::span<const int64_t> numbers, const Sink& sink) {
  arrow::Int64Builder builder;
  for (const int64_t number : numbers) sink.check(number == -1 ? builder.AppendNull() : builder.Append(number));
  return sink.check(builder.Finish())->data();
}

std::shared_ptr<arrow::ArrayData> column_of_lists(const Table& table, int64_t count, std::span<const std::byte> cells,
                                                  const Sink& sink) {
  std::shared_ptr<arrow::Buffer> values = sink.check(arrow::AllocateBuffer(std::ssize(cells)));
  std::ranges::copy(cells, reinterpret_cast<std::byte*>(values->mutable_data()));
  auto all = arrow::ArrayData::Make(arrow_type(table.type), count * table.columns, {nullptr, std::move(values)});
  return arrow::ArrayData::Make(list_type(table), count, {nullptr}, {std::move(all)});
}

// Calls use(batch) for all rows, in batches.
template <class Use>
void for_each_batch(const Table& table, const std::shared_ptr<arrow::Schema>& schema, const Sink& sink, Use&& use) {
  const int64_t most = batch_rows(table);
  std::vector<std::byte> cells(static_cast<size_t>(std::min(most, table.rows)) * table.row_size());
  for (int64_t first = 0; first < table.rows; first += most) {
    const int64_t count = std::min(most, table.rows - first);
    table.fill(first, count, cells.data());
    const size_t size = size_of(table.type);
    std::vector<std::shared_ptr<arrow::ArrayData>> columns;
    if (!table.ids.empty()) {
      const auto ids = table.ids.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
      columns.push_back(column_of_ids(ids, schema->field(0)->type(), sink));
    }
    for (const NumberField& field : table.numbers) {
      const auto some = field.values.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
      columns.push_back(column_of_numbers(some, sink));
    }
    if (!table.list_name.empty()) {
      const size_t bytes = static_cast<size_t>(count) * table.row_size();
      columns.push_back(column_of_lists(table, count, std::span(cells).first(bytes), sink));
    }
    for (int64_t j = 0; table.list_name.empty() && j < table.columns; ++j) {
      std::shared_ptr<arrow::Buffer> values =
          sink.check(arrow::AllocateBuffer(count * static_cast<int64_t>(size), arrow::default_memory_pool()));
      take_column({cells.data(), size, count, table.columns}, j, reinterpret_cast<std::byte*>(values->mutable_data()));
      std::shared_ptr<arrow::Buffer> valid;
      if (table.has_gaps) valid = validity_of(table.type, count, *values, sink);
      columns.push_back(arrow::ArrayData::Make(arrow_type(table.type), count, {std::move(valid), std::move(values)}));
    }
    use(*arrow::RecordBatch::Make(schema, count, std::move(columns)));
  }
}

void write_parquet(const Table& table, OutputFile& file) {
  const auto sink = std::make_shared<Sink>(file);
  const auto schema = schema_of(table);
  parquet::WriterProperties::Builder properties;
  // Measured numbers rarely repeat; dictionaries of them cost time and save nothing.
  properties.disable_dictionary()->compression(parquet_compression());
  const auto writer =
      sink->check(parquet::arrow::FileWriter::Open(*schema, arrow::default_memory_pool(), sink, properties.build()));
  for_each_batch(table, schema, *sink, [&](const arrow::RecordBatch& batch) {
    const auto rows = sink->check(arrow::Table::FromRecordBatches({batch.Slice(0)}));
    sink->check(writer->WriteTable(*rows, rows->num_rows()));
  });
  sink->check(writer->Close());
}

void write_arrow(const Table& table, OutputFile& file) {
  Sink sink(file);
  const auto schema = schema_of(table);
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.use_threads = false;
  const auto writer = sink.check(arrow::ipc::MakeFileWriter(&sink, schema, options));
  for_each_batch(table, schema, sink,
                 [&](const arrow::RecordBatch& batch) { sink.check(writer->WriteRecordBatch(batch)); });
  sink.check(writer->Close());
}

}  // namespace

Writer make_parquet_writer() {
  return make_fields_writer(FieldsFormat::kParquet, write_parquet, by_arrow);
}
Writer make_arrow_writer() {
  return make_fields_writer(FieldsFormat::kArrow, write_arrow, by_arrow);
}

}  // namespace manymeans
