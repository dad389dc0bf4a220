// An output file as what the Arrow library writes to. Only files that include Arrow's headers include this.
#pragma once

#include <manymeans/error.h>

#include "io/files/output_file.h"

#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/compression.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <utility>

namespace manymeans {

/// An output file that the library writes. An error of the file passes through the library as a status and is thrown
/// again behind it.
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

/// How pages of Parquet files are packed.
inline arrow::Compression::type parquet_compression() {
  const bool snappy = arrow::util::Codec::IsAvailable(arrow::Compression::SNAPPY);
  return snappy ? arrow::Compression::SNAPPY : arrow::Compression::UNCOMPRESSED;
}

}  // namespace manymeans
