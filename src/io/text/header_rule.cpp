#include "io/text/header_rule.h"

#include "io/table/text_advice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace manymeans {
namespace {

bool is_whole(double value) {
  return std::trunc(value) == value;
}
// Written as no integer: 1.0, 1e3, 1,5.
bool has_point(const Cell& cell) {
  return cell.text.find_first_of(".,eE") != std::string_view::npos;
}

// The fields of one column below the first line.
struct Below {
  int64_t numbers = 0, texts = 0;                  // gaps are neither
  int64_t fractions = 0, pointed = 0, quoted = 0;  // of the numbers
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  std::set<std::string_view> different = {};  // texts
};

Below look_below(std::span<const Row> rows, size_t column) {
  Below below;
  for (const Row& row : rows) {
    if (column >= row.size()) continue;
    const Cell& cell = row[column];
    if (is_number(cell)) {
      ++below.numbers;
      below.fractions += is_whole(cell.value) ? 0 : 1;
      below.pointed += has_point(cell) ? 1 : 0;
      below.quoted += cell.quoted ? 1 : 0;
      below.lowest = std::min(below.lowest, cell.value);
      below.highest = std::max(below.highest, cell.value);
    } else if (is_text(cell) && !is_gap(cell.text)) {
      ++below.texts;
      below.different.insert(cell.text);
    }
  }
  return below;
}

bool is_written_otherwise(const Cell& cell, const Below& below) {
  if (is_whole(cell.value) && 2 * below.fractions > below.numbers) return true;
  return has_point(cell) ? below.pointed == 0 : 2 * below.pointed > below.numbers;
}
bool is_outside(const Cell& cell, const Below& below, double by = 0) {
  return cell.value < below.lowest - by || cell.value > below.highest + by;
}

using Values = std::vector<double>;

// Each number is as far behind the last one; 0: they are not.
double step_of(const Values& values) {
  if (values.size() < 2) return 0;
  const double step = values[1] - values[0];
  for (size_t i = 2; i < values.size(); ++i) {
    if (std::fabs(values[i] - values[i - 1] - step) > 1e-9 * std::fabs(values[i])) return 0;
  }
  return step;
}
bool are_years(const Values& values) {
  constexpr double kFirst = 1500, kLast = 2200;
  return std::ranges::all_of(values, [](double v) { return is_whole(v) && v >= kFirst && v <= kLast; }) &&
         (std::ranges::is_sorted(values, std::less_equal<>()) ||
          std::ranges::is_sorted(values, std::greater_equal<>()));
}
bool count_from(double first, const Values& values) {
  return values[0] == first && (values.size() == 1 || step_of(values) == 1);
}

// A first line whose numbers may be names: what they are, and how they compare with those below.
class NumberedLine {
 public:
  explicit NumberedLine(std::span<const Row> rows) {
    for (size_t f = 0; f < rows[0].size(); ++f) {
      const Cell& cell = rows[0][f];
      const Below below = look_below(rows.subspan(1), f);
      if (is_name(cell)) repeats_ |= below.different.contains(cell.text);
      if (cell.text.empty()) unnamed_ |= below.numbers + below.texts == std::ssize(rows) - 1;
      if (!is_number(cell)) continue;
      places_.push_back(f);
      const bool comparable = below.numbers > 0;
      const bool written = comparable && is_written_otherwise(cell, below);
      written_ += written ? 1 : 0;
      inside_ += comparable && !is_outside(cell, below) ? 1 : 0;
      outside_ += written || (comparable && is_outside(cell, below)) ? 1 : 0;
      far_ += comparable && is_outside(cell, below, below.highest - below.lowest) ? 1 : 0;
      quoted_ += comparable && cell.quoted && below.quoted == 0 ? 1 : 0;
    }
    for (const Row& row : rows) lines_.push_back(values_of(row));
  }

  HeaderGuess guess() const {
    const Values& first = lines_[0];
    if (repeats_ || first.empty()) return HeaderGuess::kRow;
    const bool from_0 = count_from(0, first), years = are_years(first);
    if (lines_.size() < 3) return from_0 && written_ == count() ? HeaderGuess::kPerhapsRow : HeaderGuess::kRow;
    if (quoted_ == count() || (from_0 && unnamed_)) return HeaderGuess::kPerhapsNames;
    if (count() == 1) return guess_of_one(from_0 || years);
    if (from_0 || years || count_from(1, first) || (count() >= 4 && step_of(first) != 0)) {
      const bool counts_on = goes_on(1) && !goes_on(0);  // the rows count, and this line is not of them
      if (goes_on(0) || (is_one_of_many(years) && !(from_0 && counts_on))) return HeaderGuess::kRow;
      if (from_0 ? are_places() || counts_on : are_labels(years)) return HeaderGuess::kPerhapsNames;
      return years || count() > 2 || outside_ == count() ? HeaderGuess::kPerhapsRow : HeaderGuess::kRow;
    }
    const bool like_names = written_ == count() && std::ranges::all_of(first, is_whole);
    return like_names && std::set(first.begin(), first.end()).size() == first.size() ? HeaderGuess::kPerhapsRow
                                                                                     : HeaderGuess::kRow;
  }

 private:
  int64_t count() const { return std::ssize(places_); }

  // Its numbers, or nothing where not all of them are finite numbers.
  Values values_of(const Row& row) const {
    Values values;
    for (const size_t f : places_) {
      if (f >= row.size() || !is_number(row[f]) || !std::isfinite(row[f].value)) return {};
      values.push_back(row[f].value);
    }
    return values;
  }

  // The numbers of lines `at`, `at` + 1 and `at` + 2 grow alike: all are rows.
  bool goes_on(size_t at) const {
    if (at + 2 >= lines_.size()) return false;
    const Values &a = lines_[at], &b = lines_[at + 1], &c = lines_[at + 2];
    if (b.size() != a.size() || c.size() != a.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (b[i] - a[i] != c[i] - b[i]) return false;
    }
    return true;
  }

  // Most rows below have such numbers, too: steps of the same size, years, or the same numbers in another order.
  bool is_one_of_many(bool years) const {
    Values first = lines_[0];
    const double step = step_of(first);
    std::ranges::sort(first);
    const auto alike = std::count_if(lines_.begin() + 1, lines_.end(), [&](Values values) {
      if (values.empty()) return false;
      if (years ? are_years(values) : step != 0 && step_of(values) == step) return true;
      std::ranges::sort(values);
      return values == first;
    });
    return 2 * alike > std::ssize(lines_) - 1;
  }

  // A single number, as pandas writes it above a column without a name: in the midst of the values, it starts no
  // series.
  HeaderGuess guess_of_one(bool like_name) const {
    if (!like_name || written_ == 0) return HeaderGuess::kRow;
    return inside_ == 1 ? HeaderGuess::kPerhapsNames : HeaderGuess::kPerhapsRow;
  }
  // 0, 1, 2: what pandas writes where columns have no names.
  bool are_places() const {
    if (count() < 3) return written_ == count();
    return count() >= 5 || outside_ > 0;
  }
  // Years, numbers of columns from 1, steps as of wavelengths.
  bool are_labels(bool years) const {
    const bool far = far_ == count() && count() > 2 && lines_.size() > 3;
    return outside_ == count() && (years || far || written_ == count());
  }

  std::vector<size_t> places_;  // of its numbers
  std::vector<Values> lines_;   // the numbers at these places, of all lines
  int64_t written_ = 0;         // of its numbers those that are written otherwise than most below
  int64_t outside_ = 0;         // these, and those that are lower or higher than all below
  int64_t inside_ = 0;          // neither lower nor higher
  int64_t far_ = 0;             // farther from those below than these are from each other
  int64_t quoted_ = 0;          // alone in their columns
  bool repeats_ = false;        // a text of it occurs below, too
  bool unnamed_ = false;        // an empty field of it is above a column without gaps
};

// Where most fields are text: names are those texts that no row has.
HeaderGuess guess_among_texts(std::span<const Row> rows) {
  const auto may_name = [](const Cell& cell) {
    return cell.text.empty() || (is_name(cell) && !looks_like_date(cell.text));
  };
  if (!std::ranges::all_of(rows[0], may_name) || std::ranges::none_of(rows[0], is_name)) return HeaderGuess::kRow;
  for (size_t f = 0; f < rows[0].size(); ++f) {
    if (look_below(rows.subspan(1), f).different.contains(rows[0][f].text)) return HeaderGuess::kRow;
  }
  return rows.size() > 2 && rows[0].size() > 1 ? HeaderGuess::kPerhapsNames : HeaderGuess::kPerhapsRow;
}

}  // namespace

bool is_name(const Cell& cell) {
  constexpr std::string_view kSigns = " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  return is_text(cell) && !is_gap(cell.text) && !is_number_with_comma(cell.text) &&
         cell.text.find_first_not_of(kSigns) != std::string_view::npos;
}

HeaderGuess guess_header(std::span<const Row> rows) {
  const Row& first = rows[0];
  // A line of several texts alone: a part without rows of a table that was written in parts.
  if (rows.size() == 1)
    return first.size() > 1 && std::ranges::all_of(first, is_name) ? HeaderGuess::kNames : HeaderGuess::kRow;
  const bool has_numbers = std::ranges::any_of(first, is_number);
  bool gap_above_numbers = false, almost_number = false;
  for (size_t f = 0; f < first.size(); ++f) {
    if (!is_text(first[f])) continue;
    const Below below = look_below(rows.subspan(1), f);
    if (below.numbers <= below.texts) continue;
    if (is_almost_number(first[f].text)) {
      almost_number = true;
      continue;
    }
    const bool signs = !is_gap(first[f].text) && !is_number_with_comma(first[f].text);
    if (is_name(first[f]) || (!has_numbers && signs))
      return has_numbers ? HeaderGuess::kPerhapsNames : HeaderGuess::kNames;
    gap_above_numbers = true;
  }
  if (almost_number) return HeaderGuess::kPerhapsNames;
  if (gap_above_numbers) return has_numbers ? HeaderGuess::kRow : HeaderGuess::kPerhapsRow;
  return has_numbers ? NumberedLine(rows).guess() : guess_among_texts(rows);
}

}  // namespace manymeans
