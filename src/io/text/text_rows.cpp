#include "io/text/text_rows.h"

#include "core/data_type.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace manymeans {
namespace {

template <class T>
void append(T value, std::string& text) {
  fmt::format_to(std::back_inserter(text), "{}", value);
}

// The reader goes by way of binary64. In rare cases the shortest decimal of a binary32 (7.038531e-26) lies so close to
// the middle of two of them that this rounds it twice and to its neighbour; then that of the binary64 is taken.
void append(float value, std::string& text) {
  const size_t begin = text.size();
  fmt::format_to(std::back_inserter(text), "{}", value);
  double read = 0;
  fast_float::from_chars(text.data() + begin, text.data() + text.size(), read);
  if (static_cast<float>(read) == value || !std::isfinite(value)) return;
  text.resize(begin);
  append(static_cast<double>(value), text);
}

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
// Narrow types are read only where the binary64 is exact in them, so they need its digits.
void append(Half value, std::string& text) {
  append(static_cast<double>(half_to_float(value.bits)), text);
}
void append(BFloat value, std::string& text) {
  append(static_cast<double>(bfloat16_to_float(value.bits)), text);
}

struct Lines {
  int64_t columns;
  int64_t first;  // number of the first row, from 1; 0: rows have no numbers
  char delimiter;
};

template <class T>
void append_rows(std::span<const std::byte> cells, const Lines& lines, std::string& text) {
  const T* values = reinterpret_cast<const T*>(cells.data());
  const auto count = static_cast<int64_t>(cells.size() / sizeof(T));
  for (int64_t i = 0; i < count; ++i) {
    const bool begins = i % lines.columns == 0;
    if (begins && lines.first > 0) {
      append(lines.first + i / lines.columns, text);
      text += lines.delimiter;
    }
    append(values[i], text);
    text += (i + 1) % lines.columns == 0 ? '\n' : lines.delimiter;
  }
}

void append_rows(CellType type, std::span<const std::byte> cells, const Lines& lines, std::string& text) {
  switch (type) {
    case CellType::kUInt8: return append_rows<uint8_t>(cells, lines, text);
    case CellType::kUInt16: return append_rows<uint16_t>(cells, lines, text);
    case CellType::kUInt32: return append_rows<uint32_t>(cells, lines, text);
    case CellType::kFloat64: return append_rows<double>(cells, lines, text);
    case CellType::kFloat32: return append_rows<float>(cells, lines, text);
    case CellType::kFloat16: return append_rows<Half>(cells, lines, text);
    case CellType::kBFloat16: return append_rows<BFloat>(cells, lines, text);
    case CellType::kInt8: return append_rows<int8_t>(cells, lines, text);
    case CellType::kInt32: return append_rows<int32_t>(cells, lines, text);
  }
}

}  // namespace

void write_text_rows(const Table& table, char delimiter, bool numbered, OutputFile& file) {
  std::string text;
  for_each_block(table, [&](int64_t first, int64_t, std::span<const std::byte> cells) {
    text.clear();
    append_rows(table.type, cells, {table.columns, numbered ? first + 1 : 0, delimiter}, text);
    file.write(text);
  });
}

}  // namespace manymeans
