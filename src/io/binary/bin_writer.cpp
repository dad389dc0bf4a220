// Two 32-bit numbers, N and D, then N rows of D values: .fbin and its kin, and the binary files of NU-MineBench.
#include <manymeans/error.h>

#include "io/table/writer.h"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace manymeans {
namespace {

class BinWriter : public Writer {
 public:
  BinWriter(std::string_view ending, std::string_view description, CellType type)
      : ending_(ending), description_(description), type_(type) {}
  std::string_view description() const override { return description_; }
  std::vector<std::string_view> endings() const override { return {ending_}; }
  CellType stored_type(CellType) const override { return type_; }
  void write(const Table& table, OutputFile& file) const override {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // some programs read them as signed
    if (table.rows > kMost || table.columns > kMost) {
      throw Error(ErrorCode::kBadData, std::string(ending_),
                  fmt::format("{} rows of {} columns were found; this format holds at most 2^31 - 1 of each",
                              table.rows, table.columns));
    }
    const std::array<int32_t, 2> header = {static_cast<int32_t>(table.rows), static_cast<int32_t>(table.columns)};
    file.write(std::as_bytes(std::span(header)));
    for_each_block(table, [&](int64_t, int64_t, std::span<const std::byte> cells) { file.write(cells); });
  }

 private:
  std::string_view ending_, description_;
  CellType type_;
};

}  // namespace

std::unique_ptr<Writer> make_fbin_writer() {
  return std::make_unique<BinWriter>(".fbin", "N, D and float32 rows (.fbin)", CellType::kFloat32);
}
std::unique_ptr<Writer> make_u8bin_writer() {
  return std::make_unique<BinWriter>(".u8bin", "N, D and uint8 rows (.u8bin)", CellType::kUInt8);
}
std::unique_ptr<Writer> make_i8bin_writer() {
  return std::make_unique<BinWriter>(".i8bin", "N, D and int8 rows (.i8bin)", CellType::kInt8);
}
std::unique_ptr<Writer> make_ibin_writer() {
  return std::make_unique<BinWriter>(".ibin", "N, D and int32 rows (.ibin)", CellType::kInt32);
}
std::unique_ptr<Writer> make_minebench_writer() {
  return std::make_unique<BinWriter>(".bin", "NU-MineBench binary: N, D and float32 rows (.bin)", CellType::kFloat32);
}

}  // namespace manymeans
