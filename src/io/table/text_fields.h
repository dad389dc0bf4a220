// Fields of a line of text, and numbers in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// Delimiter of files whose fields are separated by runs of blanks and tabs.
constexpr char kBlanks = '\0';
/// U+FEFF in UTF-8, which may begin a text file.
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// One field: without surrounding blanks and quotes, inner doubled quotes as they are.
struct Field {
  std::string_view text;
  bool quoted = false;
  bool open = false;  ///< it begins with a quote that does not close in the line
};

/// The text that the field means: a quote that is doubled within quotes is one.
std::string text_of(const Field& field);

inline bool is_blank(char c, char delimiter) {
  return c == ' ' || (c == '\t' && delimiter != '\t');
}
inline bool ends_field(char c, char delimiter) {
  return delimiter == kBlanks ? c == ' ' || c == '\t' : c == delimiter;
}

/// The line without '\r' and, where blanks mean nothing, without the blanks around it.
std::string_view trim_line(std::string_view line, char delimiter);

/// Reads the field at `at`; returns where the next begins, or nullptr after the last one of the line.
const char* cut_field(const char* at, const char* end, char delimiter, Field& field);

/// Fields of a line at most. Every field costs some hundred bytes while a file is read. A file of delimiters alone must
/// not take the memory of the machine. Wider tables belong in a binary format, where a column costs nothing.
constexpr size_t kMaxFields = size_t{1} << 20;

/// All fields of a (trimmed) line; an empty line has none. Of more than kMaxFields, one more than that.
std::vector<Field> split_line(std::string_view line, char delimiter);

enum class NumberKind : uint8_t { kNumber, kEmpty, kText, kOverflow };

/// 1 and 0 of true and false, in any case; whether the text is one of them.
bool parse_truth(std::string_view text, double& value);

/// The nearest binary64 of a decimal number, with an optional sign; also inf, infinity, nan, true and false.
NumberKind parse_number(std::string_view text, double& value);

/// Parses numbers as `decimal` (',') has them: with a decimal comma, and points between thousands. `digits` gets the
/// number as it is written with a point.
NumberKind parse_number(std::string_view text, char decimal, double& value, std::string& digits);

/// Returns true if a field has no value: it is empty, or says NA, N/A, #N/A, <NA>, NaN, null or None.
bool is_gap(std::string_view text);

/// Returns true if this looks like a date or a time: 2024-02-29, 29.02.2024, 2/29/24, 12:30.
bool looks_like_date(std::string_view text);
/// A number by which such dates or times of the same form are ordered; nothing for other text. Of 3/4/24 the first is
/// the month, unless it is above 12.
std::optional<double> date_order(std::string_view text);

/// Text for messages: at most 40 characters, what cannot be printed replaced.
std::string shown(std::string_view text);

}  // namespace manymeans
