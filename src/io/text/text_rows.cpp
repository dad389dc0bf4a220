#include "io/text/text_rows.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <span>
#include <type_traits>

namespace manymeans {
namespace {

template <class T>
void append(T value, std::string& text) {
  fmt::format_to(std::back_inserter(text), "{}", value);
}

// The reader goes by way of binary64. In rare cases the shortest decimal of a binary32 (7.038531e-26) is very close to
// the middle of two of them. The reader then rounds twice, to a neighbour, so the decimal of the binary64 is taken.
void append(float value, std::string& text) {
  const size_t begin = text.size();
  fmt::format_to(std::back_inserter(text), "{}", value);
  double read = 0;
  fast_float::from_chars(text.data() + begin, text.data() + text.size(), read);
  if (static_cast<float>(read) == value || !std::isfinite(value)) return;
  text.resize(begin);
  append(static_cast<double>(value), text);
}

// Narrow types are read only where the binary64 is exact in them, so they need its digits.
void append(Half value, std::string& text) {
  append(static_cast<double>(value), text);
}
void append(BFloat value, std::string& text) {
  append(static_cast<double>(value), text);
}

// Returns true for a gap, in a table with gaps.
template <class T>
bool is_gap(T value) {
  if constexpr (std::is_same_v<T, double>) return std::isnan(value);
  if constexpr (std::is_same_v<T, int32_t>) return value < 0;
  return false;
}

struct Lines {
  int64_t columns;
  int64_t first;  // number of the first row, from 1; 0: rows have no numbers
  char delimiter;
  bool gaps;
  std::span<const std::string> ids;  // of these rows
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
    if (begins && !lines.ids.empty()) {
      text += quoted(lines.ids[static_cast<size_t>(i / lines.columns)]);
      text += lines.delimiter;
    }
    if (!lines.gaps || !is_gap(values[i])) {
      append(values[i], text);
    } else if (lines.columns == 1 && lines.ids.empty()) {
      text += "\"\"";  // readers skip lines that are empty, and all rows behind would shift
    }
    text += (i + 1) % lines.columns == 0 ? '\n' : lines.delimiter;
  }
}

}  // namespace

std::string quoted(const std::string& name) {
  if (name.find_first_of(",;\"\t\r\n ") == std::string::npos) return name;
  std::string result = "\"";
  for (const char c : name) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

void write_text_rows(const Table& table, char delimiter, bool numbered, OutputFile& file) {
  std::string text;
  for_each_block(table, [&](int64_t first, int64_t, std::span<const std::byte> cells) {
    text.clear();
    const auto ids = table.ids.empty() ? table.ids : table.ids.subspan(static_cast<size_t>(first));
    const Lines lines{table.columns, numbered ? first + 1 : 0, delimiter, table.has_gaps, ids};
    with_cell_type(table.type, [&]<class T>(T) { append_rows<T>(cells, lines, text); });
    file.write(text);
  });
}

}  // namespace manymeans
