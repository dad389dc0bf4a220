// Two 32-bit numbers, N and D, then N rows of D values: .fbin and its kin, and the binary files of NU-MineBench.
#include <manymeans/error.h>

#include "io/table/writer.h"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace manymeans {
namespace {

Writer make_writer(std::string_view ending, const char* description, CellType type) {
  const auto write = [ending](const Table& table, OutputFile& file) {
    constexpr int64_t kMax = std::numeric_limits<int32_t>::max();  // some programs read them as signed
    if (table.rows > kMax || table.columns > kMax) {
      throw Error(ErrorCode::kBadData, std::string(ending),
                  fmt::format("{} rows of {} columns were found; this format holds at most 2^31 - 1 of each",
                              table.rows, table.columns));
    }
    const std::array<int32_t, 2> header = {static_cast<int32_t>(table.rows), static_cast<int32_t>(table.columns)};
    file.write(std::as_bytes(std::span(header)));
    write_cells(table, file);
  };
  return {description, {ending}, write, [type](CellType) { return type; }};
}

}  // namespace

Writer make_fbin_writer() {
  return make_writer(".fbin", "N, D and float32 rows (.fbin)", CellType::kFloat32);
}
Writer make_u8bin_writer() {
  return make_writer(".u8bin", "N, D and uint8 rows (.u8bin)", CellType::kUInt8);
}
Writer make_i8bin_writer() {
  return make_writer(".i8bin", "N, D and int8 rows (.i8bin)", CellType::kInt8);
}
Writer make_ibin_writer() {
  return make_writer(".ibin", "N, D and int32 rows (.ibin)", CellType::kInt32);
}
Writer make_minebench_writer() {
  return make_writer(".bin", "NU-MineBench binary: N, D and float32 rows (.bin)", CellType::kFloat32);
}

}  // namespace manymeans
