// The rows of a table with more columns at their ends, as a Parquet, an Arrow or a text file. Includes nothing of
// Arrow.
#pragma once

#include <manymeans/io.h>

#include "io/files/mapped_file.h"
#include "io/files/output_file.h"
#include "io/text/text_layout.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace manymeans {

/// The rows of a file as they are, and what is added to them.
struct RowsWithMore {
  std::string path;
  std::shared_ptr<const MappedFile> file;  ///< Parquet or Arrow; null: `layout` is there
  const TextLayout* layout = nullptr;
  std::span<const AppendedColumn> columns;
  std::span<const int64_t> dropped;  ///< rows of the file, rising, that are no points: there nothing is added
  int64_t rows = 0;                  ///< of the file, as it was when the points were read
  int64_t memory = 0;                ///< as in ReadOptions
};

/// Writes them: a field of Parquet or Arrow as it is, a column of text as integers, as numbers, or as text. `format` is
/// parquet or arrow; of files of fields also csv or tsv, which are lines of text. Returns false, having written
/// something, where the file does not have that many rows any more.
bool append_to_fields(const RowsWithMore& rows, const std::string& format, OutputFile& file);

}  // namespace manymeans
