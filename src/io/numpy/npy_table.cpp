#include "io/numpy/npy_table.h"

#include "io/numpy/npy_format.h"

#include <array>

namespace manymeans {

std::string npy_header_of(const Table& table) {
  // In the order of CellType. NumPy has no bfloat16: it stores two unnamed bytes.
  constexpr std::array<std::string_view, 9> kDescr = {"|u1", "<u2", "<u4", "<f8", "<f4", "<f2", "<V2", "|i1", "<i4"};
  std::vector<int64_t> shape{table.rows};
  if (table.columns > 1 || table.is_matrix) shape.push_back(table.columns);
  return make_npy_header(kDescr[static_cast<size_t>(table.type)], shape);
}

}  // namespace manymeans
