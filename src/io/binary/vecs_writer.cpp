// .fvecs, .bvecs and .ivecs: before each row, how many values it has.
#include <manymeans/error.h>

#include "io/table/writer.h"

#include <cstring>
#include <limits>

namespace manymeans {
namespace {

class VecsWriter : public Writer {
 public:
  VecsWriter(std::string_view ending, std::string_view description, CellType type)
      : ending_(ending), description_(description), type_(type) {}
  std::string_view description() const override { return description_; }
  std::vector<std::string_view> endings() const override { return {ending_}; }
  CellType stored_type(CellType) const override { return type_; }
  void write(const Table& table, OutputFile& file) const override {
    if (table.columns > std::numeric_limits<int32_t>::max()) {
      throw Error(ErrorCode::kBadData, std::string(ending_), "this format holds at most 2^31 - 1 columns");
    }
    const auto count = static_cast<int32_t>(table.columns);
    const auto head = std::as_bytes(std::span(&count, 1));
    for_each_block(table, [&](int64_t, int64_t rows, std::span<const std::byte> cells) {
      for (int64_t row = 0; row < rows; ++row) {
        file.write(head);
        file.write(cells.subspan(static_cast<size_t>(row) * table.row_size(), table.row_size()));
      }
    });
  }

 private:
  std::string_view ending_, description_;
  CellType type_;
};

}  // namespace

std::unique_ptr<Writer> make_fvecs_writer() {
  return std::make_unique<VecsWriter>(".fvecs", "rows of a count and float32 values (.fvecs)", CellType::kFloat32);
}
std::unique_ptr<Writer> make_bvecs_writer() {
  return std::make_unique<VecsWriter>(".bvecs", "rows of a count and uint8 values (.bvecs)", CellType::kUInt8);
}
std::unique_ptr<Writer> make_ivecs_writer() {
  return std::make_unique<VecsWriter>(".ivecs", "rows of a count and int32 values (.ivecs)", CellType::kInt32);
}

}  // namespace manymeans
