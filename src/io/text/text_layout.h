// The form of a text file: its delimiter, its header, where its rows are. Found from its first lines.
#pragma once

#include "io/table/column_selection.h"
#include "io/table/text_fields.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// A column that holds text, and the first example of it.
struct TextExample {
  int64_t line = -1;  ///< -1: none
  std::string text;
};

struct TextLayout {
  char delimiter = kBlanks;
  char decimal = '.';      ///< point or comma
  std::string_view body;   ///< the rows: no byte order mark, comments, header or empty lines at the end
  int64_t first_line = 1;  ///< line of the file, from 1, where the body begins
  FileColumns columns;
  std::vector<TextExample> text;      ///< per column: text among the first lines of the body
  std::vector<int64_t> texts;         ///< per column: how many of these fields are text, other than words for gaps
  std::vector<int64_t> numbers;       ///< likewise numbers
  std::string comma_number;           ///< the first text that is a number with a decimal comma; empty: none
  bool maybe_thousands = true;        ///< all such texts have three digits behind the comma, as 1,234
  std::vector<std::string> warnings;  ///< what was assumed

  bool has_text(int64_t column) const { return texts[static_cast<size_t>(column)] > 0; }
};

/// Advice on what `--decimal ,` would do for numbers as comma_number, and what not; empty if there are none.
std::string comma_advice(const TextLayout& layout);

/// What is wrong with a field whose quote does not close in its line.
constexpr const char* kOpenQuote =
    "the quote (\") that begins the field does not close in the line; remove line breaks from quoted text, and double "
    "a quote that is part of it";

/// Facts about a text that are known before it is read.
struct TextForm {
  char decimal = '.';  ///< in numbers, '.' or ','
  Header header = Header::kAuto;
  std::vector<std::string> names = {};  ///< with kAuto: a first line that has all of these names its columns
  int64_t memory = 0;                   ///< as in ReadOptions
  std::vector<std::string> given = {};  ///< ReadOptions::names
};
/// As these options say.
TextForm form_of(const ReadOptions& options);

/// Throws Error(kBadData) for files that are not text or hold no rows.
TextLayout find_layout(std::string_view text, const std::string& path, const TextForm& form = {});

}  // namespace manymeans
