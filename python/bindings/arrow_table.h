// Tables in the structs of the Arrow C data interface: nothing of Arrow is linked, and nothing of Python.
#pragma once

#include <manymeans/points.h>

#include "arrow_abi.h"

#include <memory>
#include <string>
#include <vector>

namespace manymeans::python {

/// A table: its schema and its chunks, released together.
struct ArrowTable {
  ArrowSchema schema{};
  std::vector<ArrowArray> chunks;
  ArrowTable() = default;
  ArrowTable(const ArrowTable&) = delete;
  ArrowTable& operator=(const ArrowTable&) = delete;
  ~ArrowTable() {
    for (ArrowArray& chunk : chunks) {
      if (chunk.release != nullptr) chunk.release(&chunk);
    }
    if (schema.release != nullptr) schema.release(&schema);
  }
};

struct ArrowPoints {
  PointsView view;
  std::shared_ptr<const void> owner;
  std::vector<std::string> column_names;  ///< empty where the columns of the table are not those of the points
  bool copied = false;
};

/// Points of a table of number columns, or of one column of lists of one fixed length. Read in place: one such list
/// column, or one column of numbers, in one chunk, aligned, of a type that the library reads. All else is copied once,
/// row-major: float64, or float32 where it holds all values.
/// Throws Error(kBadData) that names the column: other types, nulls, structs that do not fit together.
ArrowPoints points_of(const std::shared_ptr<const ArrowTable>& table);

}  // namespace manymeans::python
