// Tables as text: a line of names, then a line for each row. Numbers read back as the same bits.
#include "io/writer.h"

#include <fmt/format.h>

#include <iterator>

namespace manymeans {
namespace {

std::string quoted(const std::string& name) {
  if (name.find_first_of(",;\"\t\r\n ") == std::string::npos) return name;
  std::string result = "\"";
  for (const char c : name) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

template <class T>
void append_rows(std::span<const std::byte> cells, size_t columns, std::string& text) {
  const T* values = reinterpret_cast<const T*>(cells.data());
  for (size_t i = 0; i < cells.size() / sizeof(T); ++i) {
    fmt::format_to(std::back_inserter(text), "{}", values[i]);
    text += (i + 1) % columns == 0 ? '\n' : ',';
  }
}

class CsvWriter : public Writer {
 public:
  std::string_view ending() const override { return ".csv"; }
  void write(const Table& table, OutputFile& file) const override {
    std::string text;
    for (const std::string& name : table.names) text += (text.empty() ? "" : ",") + quoted(name);
    file.write(text + '\n');
    for_each_block(table, [&](int64_t, std::span<const std::byte> cells) {
      text.clear();
      switch (table.type) {
        case CellType::kUInt8: append_rows<uint8_t>(cells, table.names.size(), text); break;
        case CellType::kUInt16: append_rows<uint16_t>(cells, table.names.size(), text); break;
        case CellType::kUInt32: append_rows<uint32_t>(cells, table.names.size(), text); break;
        case CellType::kFloat64: append_rows<double>(cells, table.names.size(), text); break;
      }
      file.write(text);
    });
  }
};

}  // namespace

std::unique_ptr<Writer> make_csv_writer() {
  return std::make_unique<CsvWriter>();
}

}  // namespace manymeans
