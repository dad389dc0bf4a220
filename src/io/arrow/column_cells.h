// The cells of a table, row after row, as columns of cells. Includes nothing of Arrow.
#pragma once

#include "io/table/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace manymeans {

/// Rows of a batch: at most 32 MiB, what a thread of a reader takes at once.
inline int64_t batch_rows(const Table& table) {
  constexpr size_t kBatchBytes = size_t{32} << 20;
  return static_cast<int64_t>(std::max<size_t>(1, kBatchBytes / table.row_size()));
}

/// Every field needs a name. Those that are made up are no numbers, which mean places elsewhere.
inline std::string field_name(const Table& table, int64_t column) {
  return table.names.empty() ? fmt::format("c{}", column + 1) : table.names[static_cast<size_t>(column)];
}

/// Some rows of cells.
struct CellRows {
  const std::byte* cells;
  size_t size;  ///< of a cell
  int64_t rows, columns;
};

template <size_t kSize>
void take_cells(const CellRows& from, int64_t j, std::byte* to) {
  for (int64_t i = 0; i < from.rows; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * kSize, from.cells + static_cast<size_t>(i * from.columns + j) * kSize,
                kSize);
  }
}
/// Column `j`, cell after cell.
inline void take_column(const CellRows& from, int64_t j, std::byte* to) {
  switch (from.size) {
    case 1: return take_cells<1>(from, j, to);
    case 2: return take_cells<2>(from, j, to);
    case 4: return take_cells<4>(from, j, to);
    default: return take_cells<8>(from, j, to);
  }
}

/// Calls use(i, whether cell i is no value): -1 and NaN are none.
template <class Use>
void for_each_gap(CellType type, const std::byte* cells, int64_t count, Use&& use) {
  with_cell_type(type, [&]<class T>(T) {
    const T* values = reinterpret_cast<const T*>(cells);
    for (int64_t i = 0; i < count; ++i) {
      bool gap = false;
      if constexpr (std::is_same_v<T, double>) gap = std::isnan(values[i]);
      if constexpr (std::is_same_v<T, int32_t>) gap = values[i] < 0;
      use(i, gap);
    }
  });
}

}  // namespace manymeans
