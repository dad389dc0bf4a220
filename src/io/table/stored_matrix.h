// A matrix of plain numbers inside a file: what every binary format comes down to.
#pragma once

#include <manymeans/io.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace manymeans {

/// Where the numbers of a matrix lie, N x D, whatever their order. All of them are inside the file's bytes: the
/// reader that fills this in has checked it.
struct StoredMatrix {
  const std::byte* data = nullptr;  ///< of row 0, column 0
  int64_t n = 0, d = 0;
  int64_t row_step = 0;     ///< bytes from a row to the next
  int64_t column_step = 0;  ///< bytes from a value of a row to the next
  std::string type;         ///< as .npy headers say it: <, > or |, then kind and bytes: "<f4", ">i8", "|u1"
  int64_t first = 0;        ///< row of the file that row 0 is

  /// Rows without gaps from `first_byte` on.
  static StoredMatrix dense(const std::byte* first_byte, int64_t n, int64_t d, int64_t item_size, std::string type) {
    return {first_byte, n, d, d * item_size, item_size, std::move(type)};
  }
  StoredMatrix rows_of(const RowPart& part) const;
};

/// The points: in place, with `owner` keeping the bytes alive, where they already are what the engine reads;
/// else one copy, converted by all threads. Columns, weights and types as `options` has it.
/// Throws Error(kBadData) naming `path`, row and column.
Dataset read_stored(const StoredMatrix& matrix, std::shared_ptr<const void> owner, const std::string& path,
                    const ReadOptions& options);

}  // namespace manymeans
