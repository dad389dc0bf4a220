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

constexpr std::string_view kDigits = "0123456789";

// What cells of a column are; a column has several of them.
constexpr unsigned kNegative = 1, kBeyondInt64 = 2, kLost = 4, kCodes = 8, kNumbers = 16, kTexts = 32, kBytes = 64;

// Returns kLost for an integer that float64 does not hold.
unsigned lost_in_float64(std::string_view text) {
  constexpr size_t kAlwaysExact = 15;  // digits
  double value = 0;
  if (text.size() <= kAlwaysExact) return 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return fmt::format("{:.0f}", value) == text ? 0 : kLost;
}

// Codes such as 1e5: writers of numbers give an exponent a sign, or the number a point.
bool is_code(std::string_view text) {
  const size_t e = std::min(text.find_first_not_of(kDigits), text.size());
  return e > 0 && e + 1 < text.size() && (text[e] == 'e' || text[e] == 'E') &&
         text.find_first_not_of(kDigits, e + 1) == text.npos;
}

unsigned look_at_cell(const Field& field, char decimal) {
  double value = 0;
  int64_t integer = 0;
  uint64_t natural = 0;
  std::string digits;
  const std::string_view text = field.text;
  if (parse_integer(text, integer)) return (integer < 0 ? kNegative : 0) | lost_in_float64(text);
  if (parse_integer(text, natural)) return kBeyondInt64 | lost_in_float64(text);
  const std::string_view unsigned_text = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  const bool is_name =
      unsigned_text.size() > 1 && unsigned_text[0] == '0' && unsigned_text[1] >= '0' && unsigned_text[1] <= '9';
  if (!is_name && !parse_truth(text, value) && parse_number(text, decimal, value, digits) == NumberKind::kNumber) {
    if (is_code(unsigned_text)) return kCodes;
    const bool whole = unsigned_text.find_first_not_of(kDigits) == text.npos;
    return kNumbers | (whole ? lost_in_float64(unsigned_text) : 0);
  }
  return is_utf8(text) ? kTexts : kBytes;
}

TextKind kind_of(unsigned cells) {
  if ((cells & kBytes) != 0) return TextKind::kBytes;
  if ((cells & kTexts) != 0) return TextKind::kText;
  const TextKind as_float64 = (cells & kLost) != 0 ? TextKind::kText : TextKind::kNumber;
  if ((cells & kNumbers) != 0) return as_float64;
  if ((cells & kCodes) != 0) return TextKind::kText;
  if ((cells & kBeyondInt64) == 0) return TextKind::kInteger;
  return (cells & kNegative) == 0 ? TextKind::kUnsigned : as_float64;
}

template <class Integer>
bool parse_whole(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  return digits.size() == 1 || digits.front() != '0';
}

}  // namespace

bool parse_integer(std::string_view text, int64_t& value) {
  return parse_whole(text, value);
}
bool parse_integer(std::string_view text, uint64_t& value) {
  return parse_whole(text, value);
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
  std::vector<unsigned> cells(static_cast<size_t>(layout.columns.count));
  std::vector<bool> empty(cells.size(), true);
  TextRows(layout, memory).next(std::numeric_limits<int64_t>::max(), [&](const std::vector<Field>& fields) {
    for (size_t j = 0; j < std::min(fields.size(), cells.size()); ++j) {
      if ((cells[j] & kBytes) != 0 || is_gap(fields[j].text)) continue;
      cells[j] |= look_at_cell(fields[j], layout.decimal);
      empty[j] = false;
    }
  });
  std::vector<TextKind> kinds;
  for (size_t j = 0; j < cells.size(); ++j) kinds.push_back(empty[j] ? TextKind::kText : kind_of(cells[j]));
  return kinds;
}

}  // namespace manymeans
