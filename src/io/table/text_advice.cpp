#include "io/table/text_advice.h"

#include "core/lower_case.h"
#include "io/table/text_fields.h"

#include <algorithm>
#include <iterator>

namespace manymeans {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kMinus = "\xe2\x88\x92";  // U+2212
constexpr std::string_view kNoBreak = "\xc2\xa0";    // a blank between thousands
constexpr std::string_view kShownReturn = "\\x0d";   // as shown() writes it
constexpr std::string_view kShownTab = "\\x09";

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

bool is_number(std::string_view text, char decimal) {
  double ignored = 0;
  std::string digits;
  return parse_number(text, decimal, ignored, digits) == NumberKind::kNumber;
}

// Signs alone, and the words of spreadsheets, databases and C libraries.
bool is_gap_sign(const OddText& odd) {
  constexpr std::string_view kWords[] = {"\\n", "nil", "missing", "n.a.", "n.d."};
  const std::string text = lower_case(odd.text);
  const bool of_sheet = text.starts_with('#') && (text.ends_with('!') || text.ends_with('?'));
  const bool known = of_sheet || has(text, ".#") || std::ranges::find(kWords, text) != std::end(kWords);
  return odd.numbers > 0 && (known || text.find_first_not_of("!#$%&'()*+,-./?\\_~") == text.npos);
}

// Files that were put together have a mark of the order of bytes before each line of names.
bool is_name_again(const OddText& odd) {
  const std::string_view text = odd.text;
  return !odd.column.empty() && text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0) == odd.column;
}

// What a comma as delimiter leaves between two decimal commas. Three digits behind a blank may belong to thousands.
bool is_between_commas(const OddText& odd) {
  std::string text = odd.text;
  replace_all(text, kShownTab, "\t");
  const size_t at = text.find_first_of(";\t ");
  if (odd.decimal != '.' || at == text.npos || text.find_first_not_of("0123456789+-.,;\teE ") != text.npos)
    return false;
  return text[at] != ' ' || (!has(text, ",") && text.size() - at != 4);
}

// A letter at the end may be of a category, as in 1st.
bool is_number_rewritten(const OddText& odd) {
  const char last = odd.text.back();
  return is_almost_number(odd.text) && (odd.numbers > 0 || last < 'A' || last > 'z');
}

struct Cause {
  bool (*is)(const OddText&);
  std::string_view advice;
};

// The first that is true gives the advice.
constexpr Cause kCauses[] = {
    {[](const OddText& odd) { return is_gap(odd.text); },
     "fill gaps with --missing, or leave the column out with --exclude"},
    {is_name_again, "this line repeats the names of the columns; remove it"},
    {[](const OddText& odd) { return has(odd.text, kShownReturn); }, kConvertLineEnds},
    {[](const OddText& odd) { return is_libsvm(odd.text); }, kConvertLibsvm},
    {is_gap_sign, "this looks like a sign for a gap; replace it by NA, and --missing fills or drops it"},
    {[](const OddText& odd) { return looks_like_date(odd.text); },
     "this looks like a date; leave the column out with --exclude, or make numbers of dates first"},
    {[](const OddText& odd) { return is_between_commas(odd) && has(odd.text, ";"); },
     "numbers with decimal commas between semicolons are read with --decimal ,"},
    {[](const OddText& odd) { return is_between_commas(odd); },
     "numbers with decimal commas between tabs or blanks are read with --decimal ,"},
    {[](const OddText& odd) { return has(odd.text, "|"); },
     "fields are separated by commas, tabs, semicolons or blanks, and '|' is none of them"},
    {[](const OddText& odd) { return odd.decimal == ',' && is_number(odd.text, '.'); },
     "with --decimal , a point only separates thousands; write one decimal sign in the whole file"},
    {[](const OddText& odd) { return odd.numbers > 0 && is_total(odd.text); },
     "this row looks like a total, and a total is no point; remove it"},
    {is_number_rewritten,
     "a number has digits, a sign (+ or -), a point and an exponent (E), and nothing else; rewrite such fields"},
    {[](const OddText& odd) { return odd.row == 1 && !odd.column.empty() && odd.numbers > odd.texts; },
     "the fields below are numbers; if this line holds units, remove it, or leave the column out with --exclude"},
    {[](const OddText& odd) { return odd.numbers > odd.texts; },
     "most fields of this column are numbers; correct this one, or leave the column out with --exclude"},
};

}  // namespace

bool is_number_with_comma(std::string_view text) {
  return has(text, ",") && is_number(text, ',');
}

bool is_like_thousands(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const size_t comma = text.find(',');
  return comma >= 1 && comma <= 3 && text.size() == comma + 4 && text[0] != '0' &&
         text.find_first_not_of(kDigits) == comma && text.find_first_not_of(kDigits, comma + 1) == text.npos;
}

bool is_almost_number(std::string_view text) {
  const size_t first = text.find_first_of(kDigits);
  if (first == text.npos || is_number_with_comma(text)) return false;
  const size_t last = text.find_last_of(kDigits);
  const auto is_foreign = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };  // of a sign such as U+2264
  const auto may_precede = [&](char c) { return has("+-<>=~$(. ", {&c, 1}) || is_foreign(c); };
  const auto may_follow = [&](char c) { return has("%)-/ ", {&c, 1}) || (c >= 'A' && c <= 'z') || is_foreign(c); };
  const std::string_view before = text.substr(0, first), after = text.substr(last + 1);
  constexpr size_t kLongestUnit = 6;
  if (!std::ranges::all_of(before, may_precede) || !std::ranges::all_of(after, may_follow)) return false;
  if (before.size() > kLongestUnit || after.size() > kLongestUnit) return false;
  std::string digits(text.substr(first, last + 1 - first));
  for (const std::string_view between : {std::string_view("_"), std::string_view("'"), std::string_view(" "), kNoBreak})
    replace_all(digits, between, "");
  replace_all(digits, kMinus, "-");
  std::ranges::replace(digits, 'D', 'E');
  std::ranges::replace(digits, 'd', 'e');
  return is_number(digits, '.') || is_number(digits, ',');
}

bool is_total(std::string_view text) {
  if (text.ends_with(':')) text.remove_suffix(1);
  constexpr std::string_view kWords[] = {"total", "totals", "grand total", "sum", "average", "mean"};
  return text.size() <= 11 && std::ranges::find(kWords, lower_case(std::string(text))) != std::end(kWords);
}

bool is_libsvm(std::string_view text) {
  const size_t colon = text.find(':');
  return colon != 0 && colon != text.npos && text.find_first_not_of(kDigits) == colon && !looks_like_date(text) &&
         is_number(text.substr(colon + 1), '.');
}

std::string comma_advice(const std::string& number, bool maybe_thousands) {
  std::string advice = "numbers with decimal commas, as '" + number + "', are read with --decimal ,";
  if (!maybe_thousands) return advice;
  std::string small = number;
  small.replace(small.find(','), 1, ".");
  return advice + "; commas between thousands, as these may be, are not: remove them first, or this becomes " + small;
}

std::string advice_about(const OddText& odd) {
  if (odd.decimal == '.' && is_number_with_comma(odd.text)) {
    return comma_advice(odd.text, odd.maybe_thousands && is_like_thousands(odd.text));
  }
  const auto* const cause = std::ranges::find_if(kCauses, [&](const Cause& one) { return one.is(odd); });
  return cause == std::end(kCauses) ? std::string() : std::string(cause->advice);
}

}  // namespace manymeans
