#include "io/arrow/text_kinds.h"

#include "io/numpy/unicode.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <system_error>

namespace manymeans {
namespace {

bool is_text_kind(TextKind kind) {
  return kind == TextKind::kText || kind == TextKind::kBytes;
}

TextKind kind_of_cell(const Field& field, char decimal) {
  double value = 0;
  int64_t integer = 0;
  std::string digits;
  const std::string_view text = field.text;
  if (parse_integer(text, integer)) return TextKind::kInteger;
  const std::string_view unsigned_text = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  const bool is_name =
      unsigned_text.size() > 1 && unsigned_text[0] == '0' && unsigned_text[1] >= '0' && unsigned_text[1] <= '9';
  if (!is_name && !parse_truth(text, value) && parse_number(text, decimal, value, digits) == NumberKind::kNumber)
    return TextKind::kNumber;
  return is_utf8(text) ? TextKind::kText : TextKind::kBytes;
}

}  // namespace

bool parse_integer(std::string_view text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  return digits.size() == 1 || digits.front() != '0';
}

bool is_null_cell(const Field& field, TextKind kind) {
  return field.text.empty() || (!is_text_kind(kind) && is_gap(field.text));
}

double number_of(const Field& field, char decimal) {
  double value = 0;
  std::string digits;
  parse_number(field.text, decimal, value, digits);
  return value;
}

std::string name_of(const TextLayout& layout, size_t column) {
  const std::string name = layout.columns.name(static_cast<int64_t>(column));
  return name.empty() ? fmt::format("c{}", column + 1) : name;
}

std::vector<TextKind> find_kinds(const TextLayout& layout, int64_t memory) {
  std::vector<TextKind> kinds(static_cast<size_t>(layout.columns.count), TextKind::kInteger);
  std::vector<bool> empty(kinds.size(), true);
  TextRows(layout, memory).next(std::numeric_limits<int64_t>::max(), [&](const std::vector<Field>& fields) {
    for (size_t j = 0; j < std::min(fields.size(), kinds.size()); ++j) {
      if (kinds[j] == TextKind::kBytes || is_gap(fields[j].text)) continue;
      kinds[j] = std::max(kinds[j], kind_of_cell(fields[j], layout.decimal));
      empty[j] = false;
    }
  });
  for (size_t j = 0; j < kinds.size(); ++j) {
    if (empty[j]) kinds[j] = TextKind::kText;
  }
  return kinds;
}

}  // namespace manymeans
