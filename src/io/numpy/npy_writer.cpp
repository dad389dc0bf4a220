// Tables as .npy: one column as a vector, several as a matrix.
#include "io/numpy/npy_table.h"

namespace manymeans {
namespace {

class NpyWriter : public Writer {
 public:
  std::string_view description() const override { return "NumPy array (.npy)"; }
  std::vector<std::string_view> endings() const override { return {".npy"}; }
  void write(const Table& table, OutputFile& file) const override {
    file.write(npy_header_of(table));
    for_each_block(table, [&](int64_t, int64_t, std::span<const std::byte> cells) { file.write(cells); });
  }
};

}  // namespace

std::unique_ptr<Writer> make_npy_writer() {
  return std::make_unique<NpyWriter>();
}

}  // namespace manymeans
