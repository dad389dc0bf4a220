#include "io/arrow/arrow_source.h"

#include <manymeans/error.h>

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/util/config.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>

#include <algorithm>
#include <new>

namespace manymeans {
namespace {

using File = std::shared_ptr<const MappedFile>;

// Reads from the mapping; nothing is copied.
std::shared_ptr<arrow::io::BufferReader> reader_of(const File& file) {
  const std::span<const std::byte> bytes = file->bytes();
  return std::make_shared<arrow::io::BufferReader>(std::make_shared<arrow::Buffer>(
      reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int64_t>(bytes.size())));
}

// --- Parquet ---------------------------------------------------------------------------------------------------------
std::unique_ptr<parquet::arrow::FileReader> open_groups(const File& file,
                                                        std::shared_ptr<parquet::FileMetaData> metadata,
                                                        const std::string& path) {
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_pre_buffer(false);  // it would read with threads
  parquet::arrow::FileReaderBuilder builder;
  check_arrow(builder.Open(reader_of(file), parquet::default_reader_properties(), std::move(metadata)), path);
  std::unique_ptr<parquet::arrow::FileReader> reader;
  check_arrow(builder.properties(properties)->Build(&reader), path);
  return reader;
}

// The columns of the file below one field: several where it is nested.
void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.is_leaf()) leaves.push_back(field.column_index);
  for (const parquet::arrow::SchemaField& child : field.children) add_leaves(child, leaves);
}

// Each field has at least one column. Without one nothing would limit the rows that a damaged directory claims.
std::vector<int> leaves_of(const parquet::arrow::FileReader& reader, const std::vector<int>& fields,
                           const std::string& path) {
  std::vector<int> leaves;
  for (const int field : fields) {
    const size_t before = leaves.size();
    add_leaves(reader.manifest().schema_fields.at(static_cast<size_t>(field)), leaves);
    if (leaves.size() == before) fail_fields(path, "a structure has no members");
  }
  return leaves;
}

class ParquetPieces : public ArrowSource::Pieces {
 public:
  ParquetPieces(File file, std::shared_ptr<parquet::FileMetaData> metadata, const std::vector<int>& fields,
                const std::string& path)
      : file_(std::move(file)),
        path_(path),
        reader_(open_groups(file_, std::move(metadata), path_)),
        leaves_(leaves_of(*reader_, fields, path_)) {}
  std::shared_ptr<arrow::Table> read(int64_t piece) override {
    std::shared_ptr<arrow::Table> table;
    check_arrow(reader_->RowGroup(static_cast<int>(piece))->ReadTable(leaves_, &table), path_);
    check_arrow(table->Validate(), path_);
    return table;
  }

 private:
  File file_;
  std::string path_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::vector<int> leaves_;
};

class ParquetSource : public ArrowSource {
 public:
  ParquetSource(File file, const std::string& path)
      : file_(std::move(file)), path_(path), reader_(open_groups(file_, nullptr, path_)) {
    check_arrow(reader_->GetSchema(&schema_), path_);
    metadata_ = reader_->parquet_reader()->metadata();
  }
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  std::vector<int64_t> piece_rows(const std::vector<int>& fields) override {
    const std::vector<int> leaves = leaves_of(*reader_, fields, path_);
    std::vector<int64_t> rows;
    for (int i = 0; i < metadata_->num_row_groups(); ++i) {
      const auto group = metadata_->RowGroup(i);
      rows.push_back(group->num_rows());
      // A small file may well hold many rows, but never fewer values than these: memory for a damaged number of rows
      // would be taken before anything is read.
      for (const int column : leaves) {
        if (group->ColumnChunk(column)->num_values() < rows.back()) fail_fields(path_, "a column has too few values");
      }
    }
    return rows;
  }
  std::unique_ptr<Pieces> open(const std::vector<int>& fields) const override {
    return std::make_unique<ParquetPieces>(file_, metadata_, fields, path_);
  }

 private:
  File file_;
  std::string path_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
};

// --- Arrow files, which are Feather files of version 2 ---------------------------------------------------------------
// Values are read in place. A damaged file or another writer may not align them; such values are copied.
template <class Options>
void ask_for_aligned_values(Options& options) {
  if constexpr (requires { options.ensure_alignment; }) {  // not in old versions
    options.ensure_alignment = decltype(options.ensure_alignment)::kDataTypeSpecificAlignment;
  }
}

arrow::ipc::IpcReadOptions only(const std::vector<int>& fields) {
  arrow::ipc::IpcReadOptions options;
  ask_for_aligned_values(options);
  options.use_threads = false;
  options.included_fields = fields;
  return options;
}

std::shared_ptr<arrow::Table> as_table(const std::shared_ptr<arrow::RecordBatch>& batch, const std::string& path) {
  check_arrow(batch->ValidateFull(), path);  // offsets and codes are in the file
  return check_arrow(arrow::Table::FromRecordBatches({batch}), path);
}

std::shared_ptr<arrow::ipc::RecordBatchFileReader> open_batches(const File& file, const std::vector<int>& fields,
                                                                const std::string& path) {
  const std::shared_ptr<arrow::io::RandomAccessFile> input = reader_of(file);
  return check_arrow(arrow::ipc::RecordBatchFileReader::Open(input, only(fields)), path);
}

class BatchPieces : public ArrowSource::Pieces {
 public:
  BatchPieces(File file, const std::vector<int>& fields, const std::string& path)
      : file_(std::move(file)), path_(path), reader_(open_batches(file_, fields, path_)) {}
  std::shared_ptr<arrow::Table> read(int64_t piece) override {
    return as_table(check_arrow(reader_->ReadRecordBatch(static_cast<int>(piece)), path_), path_);
  }

 private:
  File file_;
  std::string path_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
};

class BatchSource : public ArrowSource {
 public:
  BatchSource(File file, const std::string& path)
      : file_(std::move(file)), path_(path), reader_(open_batches(file_, {}, path_)) {}
  std::shared_ptr<arrow::Schema> schema() const override { return reader_->schema(); }
  std::vector<int64_t> piece_rows(const std::vector<int>& fields) override {
    // A batch says its rows only when it is read: with one field, where all of it is compressed.
    const std::vector<int> one(fields.begin(), fields.begin() + (fields.empty() ? 0 : 1));
    const auto reader = open_batches(file_, one, path_);
    std::vector<int64_t> rows;
    for (int i = 0; i < reader->num_record_batches(); ++i) {
      rows.push_back(check_arrow(reader->ReadRecordBatch(i), path_)->num_rows());
    }
    return rows;
  }
  std::unique_ptr<Pieces> open(const std::vector<int>& fields) const override {
    return std::make_unique<BatchPieces>(file_, fields, path_);
  }

 private:
  File file_;
  std::string path_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
};

// --- Arrow streams: the same batches without a directory of them, so all are held ------------------------------------
class HeldPieces : public ArrowSource::Pieces {
 public:
  HeldPieces(const arrow::RecordBatchVector& batches, const std::string& path) : batches_(batches), path_(path) {}
  std::shared_ptr<arrow::Table> read(int64_t piece) override {
    return as_table(batches_[static_cast<size_t>(piece)], path_);
  }

 private:
  const arrow::RecordBatchVector& batches_;
  std::string path_;
};

class StreamSource : public ArrowSource {
 public:
  StreamSource(File file, const std::string& path)
      : file_(std::move(file)), path_(path), schema_(open_stream({})->schema()) {}
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  std::vector<int64_t> piece_rows(const std::vector<int>& fields) override {
    batches_ = check_arrow(open_stream(fields)->ToRecordBatches(), path_);
    std::vector<int64_t> rows;
    for (const auto& batch : batches_) rows.push_back(batch->num_rows());
    return rows;
  }
  std::unique_ptr<Pieces> open(const std::vector<int>&) const override {
    return std::make_unique<HeldPieces>(batches_, path_);
  }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> open_stream(const std::vector<int>& fields) const {
    const std::shared_ptr<arrow::io::InputStream> input = reader_of(file_);
    return check_arrow(arrow::ipc::RecordBatchStreamReader::Open(input, only(fields)), path_);
  }

  File file_;
  std::string path_;
  std::shared_ptr<arrow::Schema> schema_;
  arrow::RecordBatchVector batches_;
};

}  // namespace

FoundFormat by_arrow() {
  return {true, "by Arrow C++ " ARROW_VERSION_STRING};
}

void check_arrow(const arrow::Status& status, const std::string& path) {
  if (status.ok()) return;
  if (status.IsOutOfMemory()) throw std::bad_alloc();
  fail_fields(path, status.message());
}

std::unique_ptr<ArrowSource> open_parquet(std::shared_ptr<const MappedFile> file, const std::string& path) {
  check_beginning(*file, FieldsFormat::kParquet, path);
  return std::make_unique<ParquetSource>(std::move(file), path);
}

std::unique_ptr<ArrowSource> open_arrow(std::shared_ptr<const MappedFile> file, const std::string& path) {
  check_beginning(*file, FieldsFormat::kArrow, path);
  if (is_arrow_stream(*file)) return std::make_unique<StreamSource>(std::move(file), path);
  return std::make_unique<BatchSource>(std::move(file), path);
}

}  // namespace manymeans
