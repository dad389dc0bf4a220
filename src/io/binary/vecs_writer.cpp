// .fvecs, .bvecs and .ivecs: before each row, how many values it has.
#include <manymeans/error.h>

#include "io/table/writer.h"

#include <limits>

namespace manymeans {
namespace {

Writer make_writer(std::string_view ending, const char* description, CellType type) {
  const auto write = [ending](const Table& table, OutputFile& file) {
    if (table.columns > std::numeric_limits<int32_t>::max()) {
      throw Error(ErrorCode::kBadData, std::string(ending), "this format holds at most 2^31 - 1 columns");
    }
    const auto count = static_cast<int32_t>(table.columns);
    const auto head = std::as_bytes(std::span(&count, 1));
    for_each_block(table, [&](int64_t, int64_t rows, std::span<const std::byte> cells) {
      for (int64_t row = 0; row < rows; ++row) {
        file.write(head);
        file.write(cells.subspan(static_cast<size_t>(row) * table.row_size(), table.row_size()));
      }
    });
  };
  return {description, {ending}, write, [type](CellType) { return type; }};
}

}  // namespace

Writer make_fvecs_writer() {
  return make_writer(".fvecs", "rows of a count and float32 values (.fvecs)", CellType::kFloat32);
}
Writer make_bvecs_writer() {
  return make_writer(".bvecs", "rows of a count and uint8 values (.bvecs)", CellType::kUInt8);
}
Writer make_ivecs_writer() {
  return make_writer(".ivecs", "rows of a count and int32 values (.ivecs)", CellType::kInt32);
}

}  // namespace manymeans
