// Parquet and Arrow files as pieces of rows that threads can take, by Arrow C++. Only its own files include this.
#pragma once

#include "io/arrow/fields.h"
#include "io/files/mapped_file.h"
#include "io/table/found_format.h"

#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace manymeans {

/// Row groups (Parquet) or record batches (Arrow) of one file. This class does not use the threads of Arrow.
class ArrowSource {
 public:
  virtual ~ArrowSource() = default;
  virtual std::shared_ptr<arrow::Schema> schema() const = 0;
  /// The rows of each piece. `fields` are those that will be read, rising.
  virtual std::vector<int64_t> piece_rows(const std::vector<int>& fields) = 0;

  /// Reads pieces; each thread needs its own.
  class Pieces {
   public:
    virtual ~Pieces() = default;
    /// A table of the fields, in their order; checked as far as that takes no look at every value.
    virtual std::shared_ptr<arrow::Table> read(int64_t piece) = 0;
  };
  virtual std::unique_ptr<Pieces> open(const std::vector<int>& fields) const = 0;
};

/// The library that reads and writes here.
FoundFormat by_arrow();

/// All of them throw Error(kBadData) naming the path for a file that the library cannot read.
std::unique_ptr<ArrowSource> open_parquet(std::shared_ptr<const MappedFile> file, const std::string& path);
std::unique_ptr<ArrowSource> open_arrow(std::shared_ptr<const MappedFile> file, const std::string& path);

/// The rows of such a file as cells.
std::unique_ptr<FieldSource> cells_of(std::unique_ptr<ArrowSource> source, const std::string& path);

/// Throws what fail_fields() does, or std::bad_alloc where that was it.
void check_arrow(const arrow::Status& status, const std::string& path);
template <class T>
T check_arrow(arrow::Result<T> result, const std::string& path) {
  check_arrow(result.status(), path);
  return std::move(result).ValueUnsafe();
}

}  // namespace manymeans
