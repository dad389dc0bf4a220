// Tables as .npy: one column as a vector, several as a matrix.
#include "io/npy_format.h"
#include "io/writer.h"

#include <fmt/format.h>

namespace manymeans {
namespace {

std::string descr_of(CellType type) {
  const size_t size = size_of(type);
  return fmt::format("{}{}{}", size == 1 ? '|' : '<', type == CellType::kFloat64 ? 'f' : 'u', size);
}

class NpyWriter : public Writer {
 public:
  std::string_view ending() const override { return ".npy"; }
  void write(const Table& table, OutputFile& file) const override {
    std::vector<int64_t> shape{table.rows};
    if (table.names.size() > 1) shape.push_back(static_cast<int64_t>(table.names.size()));
    file.write(make_npy_header(descr_of(table.type), shape));
    for_each_block(table, [&](int64_t, std::span<const std::byte> cells) { file.write(cells); });
  }
};

}  // namespace

std::unique_ptr<Writer> make_npy_writer() {
  return std::make_unique<NpyWriter>();
}

}  // namespace manymeans
