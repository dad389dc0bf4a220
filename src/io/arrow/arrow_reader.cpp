// Parquet, Arrow and Feather files by Arrow C++.
#include "io/arrow/arrow_columns.h"
#include "io/arrow/arrow_source.h"
#include "io/arrow/fields_reader.h"

#include <arrow/record_batch.h>

#include <utility>

namespace manymeans {
namespace {

class ArrowPieces : public FieldSource::Pieces {
 public:
  ArrowPieces(std::unique_ptr<ArrowSource::Pieces> pieces, size_t fields, std::string path)
      : pieces_(std::move(pieces)), fields_(fields), path_(std::move(path)) {}
  void start(int64_t piece) override {
    batches_.reset();
    table_ = pieces_->read(piece);
    if (table_->num_columns() != static_cast<int>(fields_)) fail_fields(path_, "a part of it lacks columns");
    batches_ = std::make_unique<arrow::TableBatchReader>(*table_);
  }
  std::optional<FieldRows> next() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    check_arrow(batches_->ReadNext(&batch), path_);
    return batch ? std::optional(rows_of(*batch)) : std::nullopt;
  }

 private:
  std::unique_ptr<ArrowSource::Pieces> pieces_;
  size_t fields_;
  std::string path_;
  std::shared_ptr<arrow::Table> table_;
  std::unique_ptr<arrow::TableBatchReader> batches_;
};

class ArrowFields : public FieldSource {
 public:
  ArrowFields(std::unique_ptr<ArrowSource> source, std::string path)
      : source_(std::move(source)), path_(std::move(path)), fields_(fields_of(*source_->schema())) {}
  const std::vector<FieldInfo>& fields() const override { return fields_; }
  std::vector<int64_t> piece_rows(const std::vector<int>& fields) override { return source_->piece_rows(fields); }
  std::unique_ptr<Pieces> open(const std::vector<int>& fields) const override {
    return std::make_unique<ArrowPieces>(source_->open(fields), fields.size(), path_);
  }

 private:
  std::unique_ptr<ArrowSource> source_;
  std::string path_;
  std::vector<FieldInfo> fields_;
};

}  // namespace

std::unique_ptr<FieldSource> cells_of(std::unique_ptr<ArrowSource> source, const std::string& path) {
  return std::make_unique<ArrowFields>(std::move(source), path);
}

Reader make_parquet_reader() {
  const auto open = [](std::shared_ptr<const MappedFile> file, const std::string& path, int) {
    return cells_of(open_parquet(std::move(file), path), path);
  };
  return make_fields_reader(FieldsFormat::kParquet, open, by_arrow);
}
Reader make_arrow_reader() {
  const auto open = [](std::shared_ptr<const MappedFile> file, const std::string& path, int) {
    return cells_of(open_arrow(std::move(file), path), path);
  };
  return make_fields_reader(FieldsFormat::kArrow, open, by_arrow);
}

}  // namespace manymeans
