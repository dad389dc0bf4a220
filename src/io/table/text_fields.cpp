#include "io/table/text_fields.h"

#include "core/lower_case.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <system_error>
#include <utility>

namespace manymeans {
namespace {

// The end of the quoted text that starts at `at`: its closing quote, or nullptr.
const char* closing_quote(const char* at, const char* end) {
  for (; at < end; ++at) {
    at = static_cast<const char*>(std::memchr(at, '"', static_cast<size_t>(end - at)));
    if (at == nullptr) return nullptr;
    if (at + 1 == end || at[1] != '"') return at;
    ++at;  // "" means one quote
  }
  return nullptr;
}

const char* skip_blanks(const char* at, const char* end, char delimiter) {
  while (at < end && is_blank(*at, delimiter)) ++at;
  return at;
}

// Past the delimiter at `at`, or nullptr at the end of the line.
const char* past_delimiter(const char* at, const char* end, char delimiter) {
  if (at >= end) return nullptr;
  return delimiter == kBlanks ? skip_blanks(at, end, delimiter) : at + 1;
}

}  // namespace

std::string_view trim_line(std::string_view line, char delimiter) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  while (!line.empty() && is_blank(line.front(), delimiter)) line.remove_prefix(1);
  while (!line.empty() && is_blank(line.back(), delimiter)) line.remove_suffix(1);
  return line;
}

const char* cut_field(const char* at, const char* end, char delimiter, Field& field) {
  at = skip_blanks(at, end, delimiter);
  field.quoted = false;
  field.open = false;
  if (at < end && *at == '"') {
    const char* close = closing_quote(at + 1, end);
    field.open = close == nullptr;
    const char* next = close == nullptr ? nullptr : skip_blanks(close + 1, end, delimiter);
    // Text after the closing quote: the quotes are no quotes, and the field reads as it is.
    const bool whole = close != nullptr && (next == end || next > close + 1 || ends_field(*next, delimiter));
    if (whole && (delimiter == kBlanks || next == end || *next == delimiter)) {
      field.quoted = true;
      field.text = {at + 1, static_cast<size_t>(close - at - 1)};
      return delimiter == kBlanks ? (next == end ? nullptr : next) : past_delimiter(next, end, delimiter);
    }
  }
  const char* stop = at;
  while (stop < end && !ends_field(*stop, delimiter)) ++stop;
  const char* last = stop;
  while (last > at && is_blank(last[-1], delimiter)) --last;
  field.text = {at, static_cast<size_t>(last - at)};
  return past_delimiter(stop, end, delimiter);
}

std::string text_of(const Field& field) {
  std::string text(field.text);
  if (!field.quoted) return text;
  for (size_t at = text.find("\"\""); at != std::string::npos; at = text.find("\"\"", at + 1)) text.erase(at, 1);
  return text;
}

std::vector<Field> split_line(std::string_view line, char delimiter) {
  std::vector<Field> result;
  if (line.empty()) return result;
  const char* end = line.data() + line.size();
  for (const char* at = line.data(); at != nullptr && result.size() <= kMaxFields;) {
    at = cut_field(at, end, delimiter, result.emplace_back());
  }
  return result;
}

bool parse_truth(std::string_view text, double& value) {
  if (text.size() != 4 && text.size() != 5) return false;
  const std::string word = lower_case(std::string(text));
  if (word != "true" && word != "false") return false;
  value = word == "true" ? 1 : 0;
  return true;
}

NumberKind parse_number(std::string_view text, double& value) {
  if (text.empty()) return NumberKind::kEmpty;
  std::string_view digits = text;
  if (digits[0] == '+') digits.remove_prefix(1);
  if (digits.empty() || (digits.size() < text.size() && digits[0] == '-')) return NumberKind::kText;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = fast_float::from_chars(digits.data(), end, value);
  // Later versions of fast_float report what they rounded to 0 or infinity.
  if ((error != std::errc() && error != std::errc::result_out_of_range) || stop != end) {
    return parse_truth(text, value) ? NumberKind::kNumber : NumberKind::kText;
  }
  const bool spelled = digits.find_first_of("nN") != std::string_view::npos;  // inf, infinity, nan
  return std::isinf(value) && !spelled ? NumberKind::kOverflow : NumberKind::kNumber;
}

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The number with a decimal point and without points between thousands; nothing where it is not written so.
bool with_point(std::string_view text, std::string& digits) {
  digits.clear();
  size_t group = 0;      // digits since the sign or the last point
  bool grouped = false;  // there was a point
  bool whole = true;     // before the comma
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (whole && is_digit(c)) {
      ++group;
    } else if (whole && (c == '.' || c == ',' || c == 'e' || c == 'E')) {
      // No thousands stand behind 0: 0.123 has a decimal point.
      const bool right = grouped ? group == 3 : (c != '.' || (group >= 1 && group <= 3 && text[i - group] != '0'));
      if (!right) return false;
      grouped |= c == '.';
      group = 0;
      whole = c == '.';
      if (c == '.') continue;
    } else if (c == '.') {
      return false;
    }
    digits += c == ',' ? '.' : c;
  }
  return !(whole && grouped) || group == 3;
}

}  // namespace

NumberKind parse_number(std::string_view text, char decimal, double& value, std::string& digits) {
  if (decimal == '.') {
    digits = text;
    return parse_number(text, value);
  }
  return with_point(text, digits) ? parse_number(digits, value) : NumberKind::kText;
}

bool is_gap(std::string_view text) {
  constexpr std::string_view kWords[] = {"na", "n/a", "nan", "null", "none", "#n/a", "<na>"};
  constexpr size_t kLongest = 4;
  if (text.empty()) return true;
  if (text.size() > kLongest) return false;
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::ranges::find(kWords, lower) != std::end(kWords);
}

bool looks_like_date(std::string_view text) {
  std::string shape;  // with runs of digits as one 0
  for (const char c : text.substr(0, 40)) {
    if (!is_digit(c)) {
      shape += c;
    } else if (shape.empty() || shape.back() != '0') {
      shape += '0';
    }
  }
  constexpr std::string_view kShapes[] = {"0-0-0", "0.0.0", "0/0/0", "0:0"};
  return std::ranges::any_of(kShapes, [&](std::string_view date) {
    if (!shape.starts_with(date)) return false;
    const size_t colon = text.find(':');  // 1:5 and 153:18 are of libsvm
    const size_t minutes = std::min(text.find_first_not_of("0123456789", colon + 1), text.size()) - colon - 1;
    if (date == "0:0" && (colon > 2 || minutes != 2)) return false;
    constexpr std::string_view kBehind = " T:";  // the time of a day; an address such as 10.0.0.1 continues otherwise
    return shape.size() == date.size() || kBehind.find(shape[date.size()]) != std::string_view::npos;
  });
}

std::optional<double> date_order(std::string_view text) {
  if (!looks_like_date(text)) return std::nullopt;
  constexpr std::string_view kDigits = "0123456789";
  const char separator = text[text.find_first_not_of(kDigits)];
  std::array<double, 7> parts = {};  // year, month, day, hour, minute, second, thousandths and the like
  for (size_t i = 0, at = separator == ':' ? 3 : 0; i < text.size() && at < parts.size(); ++at) {
    const size_t end = std::min(text.find_first_not_of(kDigits, i), text.size());
    for (size_t digit = i; digit < end; ++digit) parts[at] = parts[at] * 10 + (text[digit] - '0');
    if (at == 6) parts[at] /= std::pow(10.0, static_cast<double>(end - i));
    if (at >= 4 && end < text.size() && (text[end] == '+' || text[end] == '-')) break;  // hours of a zone
    i = std::min(text.find_first_of(kDigits, end), text.size());
  }
  if (separator != ':' && parts[0] <= 31) {  // the day or the month comes first
    std::swap(parts[0], parts[2]);
    if (separator == '/' && parts[2] <= 12) std::swap(parts[1], parts[2]);
  }
  double order = 0;
  constexpr std::array<double, 6> kMax = {10000, 13, 32, 24, 60, 61};
  for (size_t i = 0; i < kMax.size(); ++i) order = order * kMax[i] + parts[i];
  return order + parts[6];
}

std::string shown(std::string_view text) {
  constexpr size_t kMax = 40;
  std::string result;
  for (const char c : text.substr(0, kMax)) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 32 || code == 127) {
      result += fmt::format("\\x{:02x}", code);
    } else {
      result += c;
    }
  }
  return text.size() > kMax ? result + "..." : result;
}

}  // namespace manymeans
