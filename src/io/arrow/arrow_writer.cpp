// Tables as Parquet and as Arrow files, one field a column.
#include <manymeans/error.h>

#include "io/table/writer.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <fmt/format.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

namespace manymeans {
namespace {

// What the library writes goes to an output file. An error of that passes through the library as a status and is thrown
// again behind it.
class Sink : public arrow::io::OutputStream {
 public:
  explicit Sink(OutputFile& file) : file_(file) {}
  arrow::Status Write(const void* data, int64_t size) override {
    try {
      file_.write(std::span(static_cast<const std::byte*>(data), static_cast<size_t>(size)));
    } catch (...) {
      error_ = std::current_exception();
      return arrow::Status::IOError("the output cannot be written");
    }
    position_ += size;
    return arrow::Status::OK();
  }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return position_; }

  void check(const arrow::Status& status) const {
    if (error_) std::rethrow_exception(error_);
    if (status.ok()) return;
    if (status.IsOutOfMemory()) throw std::bad_alloc();
    throw Error(ErrorCode::kUnavailable, file_.path(), "the Arrow library cannot write this file: " + status.message());
  }
  template <class T>
  T check(arrow::Result<T> result) const {
    check(result.status());
    return std::move(result).ValueUnsafe();
  }

 private:
  OutputFile& file_;
  int64_t position_ = 0;
  bool closed_ = false;
  std::exception_ptr error_;
};

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

// Every field needs a name. Those that are made up are no numbers, which mean places elsewhere.
std::shared_ptr<arrow::Schema> schema_of(const Table& table) {
  arrow::FieldVector fields;
  for (int64_t j = 0; j < table.columns; ++j) {
    const std::string name = table.names.empty() ? fmt::format("c{}", j + 1) : table.names[static_cast<size_t>(j)];
    fields.push_back(arrow::field(name, arrow_type(table.type), /*nullable=*/false));
  }
  return arrow::schema(std::move(fields));
}

// Some rows of cells.
struct CellRows {
  const std::byte* cells;
  size_t size;  ///< of a cell
  int64_t rows, columns;
};

template <size_t kSize>
void take_column(const CellRows& from, int64_t j, uint8_t* to) {
  for (int64_t i = 0; i < from.rows; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * kSize, from.cells + static_cast<size_t>(i * from.columns + j) * kSize,
                kSize);
  }
}
void take_column(const CellRows& from, int64_t j, uint8_t* to) {
  switch (from.size) {
    case 1: return take_column<1>(from, j, to);
    case 2: return take_column<2>(from, j, to);
    case 4: return take_column<4>(from, j, to);
    default: return take_column<8>(from, j, to);
  }
}

// Calls use(batch) for all rows, in batches of at most 32 MiB: what a thread of a reader takes at once.
template <class Use>
void for_each_batch(const Table& table, const std::shared_ptr<arrow::Schema>& schema, const Sink& sink, Use&& use) {
  constexpr size_t kBatchBytes = size_t{32} << 20;
  const auto most = static_cast<int64_t>(std::max<size_t>(1, kBatchBytes / table.row_size()));
  std::vector<std::byte> cells(static_cast<size_t>(std::min(most, table.rows)) * table.row_size());
  for (int64_t first = 0; first < table.rows; first += most) {
    const int64_t count = std::min(most, table.rows - first);
    table.fill(first, count, cells.data());
    const size_t size = size_of(table.type);
    std::vector<std::shared_ptr<arrow::ArrayData>> columns;
    for (int64_t j = 0; j < table.columns; ++j) {
      std::shared_ptr<arrow::Buffer> values =
          sink.check(arrow::AllocateBuffer(count * static_cast<int64_t>(size), arrow::default_memory_pool()));
      take_column({cells.data(), size, count, table.columns}, j, values->mutable_data());
      columns.push_back(arrow::ArrayData::Make(arrow_type(table.type), count, {nullptr, std::move(values)}, 0));
    }
    use(*arrow::RecordBatch::Make(schema, count, std::move(columns)));
  }
}

class ParquetWriter : public Writer {
 public:
  std::string_view description() const override { return "Parquet, a field for each column (.parquet)"; }
  std::vector<std::string_view> endings() const override { return {".parquet"}; }
  CellType stored_type(CellType cells) const override {
    return cells == CellType::kBFloat16 ? CellType::kFloat32 : cells;  // Parquet has no bfloat16
  }
  void write(const Table& table, OutputFile& file) const override;
};

void ParquetWriter::write(const Table& table, OutputFile& file) const {
  const auto sink = std::make_shared<Sink>(file);
  const auto schema = schema_of(table);
  const bool snappy = arrow::util::Codec::IsAvailable(arrow::Compression::SNAPPY);
  parquet::WriterProperties::Builder properties;
  // Measured numbers rarely repeat; dictionaries of them cost time and save nothing.
  properties.disable_dictionary()->compression(snappy ? arrow::Compression::SNAPPY : arrow::Compression::UNCOMPRESSED);
  const auto writer =
      sink->check(parquet::arrow::FileWriter::Open(*schema, arrow::default_memory_pool(), sink, properties.build()));
  for_each_batch(table, schema, *sink, [&](const arrow::RecordBatch& batch) {
    const auto rows = sink->check(arrow::Table::FromRecordBatches({batch.Slice(0)}));
    sink->check(writer->WriteTable(*rows, rows->num_rows()));
  });
  sink->check(writer->Close());
}

class ArrowWriter : public Writer {
 public:
  std::string_view description() const override {
    return "Arrow file, which is Feather version 2, a field for each column (.arrow, .feather)";
  }
  std::vector<std::string_view> endings() const override { return {".arrow", ".feather"}; }
  CellType stored_type(CellType cells) const override {
    return cells == CellType::kBFloat16 ? CellType::kFloat32 : cells;  // Arrow has no bfloat16
  }
  void write(const Table& table, OutputFile& file) const override;
};

void ArrowWriter::write(const Table& table, OutputFile& file) const {
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

std::unique_ptr<Writer> make_parquet_writer() {
  return std::make_unique<ParquetWriter>();
}
std::unique_ptr<Writer> make_arrow_writer() {
  return std::make_unique<ArrowWriter>();
}

}  // namespace manymeans
