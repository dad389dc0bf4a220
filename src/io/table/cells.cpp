#include "io/table/cells.h"

#include <manymeans/error.h>

#include "io/table/row_store.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace manymeans {
namespace {

void widen_cells(CellType type, const std::byte* from, std::vector<double>& to) {
  with_cell_type(type, [&]<class T>(T) {
    const T* cells = reinterpret_cast<const T*>(from);
    for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<double>(cells[i]);
  });
}

// Returns whether the value is the same in the new type. NaN counts as one value.
template <class T>
bool put(double value, T& out) {
  if constexpr (std::numeric_limits<T>::is_integer) {
    constexpr double kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
    if (!(value >= kLow && value <= kHigh) || value != std::trunc(value)) return false;
    out = static_cast<T>(value);
    return value != 0 || !std::signbit(value);
  } else {
    out = static_cast<T>(value);
    return static_cast<double>(out) == value || std::isnan(value);
  }
}

// The first value that cannot be put, or -1.
template <class T>
int64_t put_cells(const std::vector<double>& values, std::byte* out) {
  T* cells = reinterpret_cast<T*>(out);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!put(values[i], cells[i])) return static_cast<int64_t>(i);
  }
  return -1;
}

int64_t put_cells(CellType type, const std::vector<double>& values, std::byte* out) {
  switch (type) {
    case CellType::kUInt8: return put_cells<uint8_t>(values, out);
    case CellType::kInt8: return put_cells<int8_t>(values, out);
    case CellType::kInt32: return put_cells<int32_t>(values, out);
    case CellType::kFloat32: return put_cells<float>(values, out);
    case CellType::kFloat64: return put_cells<double>(values, out);
    default: throw Error(ErrorCode::kInternal, "cells", "no format stores only " + std::string(name_of(type)));
  }
}

// With the digits that the type has.
std::string shown(double value, CellType type) {
  const bool narrow = type == CellType::kFloat32 || type == CellType::kFloat16 || type == CellType::kBFloat16;
  return narrow ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
}

}  // namespace

Table with_type(const Table& table, CellType type, const std::string& where) {
  if (table.type == type) return table;
  Table result = table;
  result.type = type;
  result.fill = [table, type, where](int64_t first, int64_t count, std::byte* out) {
    std::vector<std::byte> cells(static_cast<size_t>(count) * table.row_size());
    table.fill(first, count, cells.data());
    std::vector<double> values(static_cast<size_t>(count * table.columns));
    widen_cells(table.type, cells.data(), values);
    const int64_t bad = put_cells(type, values, out);
    if (bad < 0) return;
    const int64_t column = bad % table.columns;
    throw Error(
        ErrorCode::kBadData, where,
        fmt::format("row {}, {}: {} is not exact in {}, which is all that this format stores; choose another "
                    "format, or convert the values first (--dtype)",
                    first + bad / table.columns + 1,
                    column_label(column + 1, table.names.empty() ? "" : table.names[static_cast<size_t>(column)]),
                    shown(values[static_cast<size_t>(bad)], table.type), name_of(type)));
  };
  return result;
}

}  // namespace manymeans
