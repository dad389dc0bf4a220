#include "io/table/table_survey.h"

#include "io/table/text_fields.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>

namespace manymeans {
namespace {

constexpr size_t kMaxDistinct = size_t{1} << 19;
constexpr size_t kMinDistinct = 10000;
constexpr int64_t kDigitsOfBinary64 = 15;
constexpr uint64_t kTextSeed = 1;  // so that the text "x" and a number cannot have the same key by design

uint64_t key_of(std::string_view text) {
  return XXH3_64bits_withSeed(text.data(), text.size(), kTextSeed);
}

}  // namespace

size_t DistinctCounter::limit_for(int64_t columns) {
  return std::max(kMinDistinct, kMaxDistinct / static_cast<size_t>(std::max<int64_t>(1, columns)));
}

void DistinctCounter::give_up() {
  full_ = true;
  seen_ = {};
}

void DistinctCounter::add_number(double value, std::string_view text) {
  if (full_) return;
  const auto digits = std::count_if(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits > kDigitsOfBinary64) return add(key_of(text));
  add(std::bit_cast<uint64_t>(value + 0.0));  // -0 is 0
}

void DistinctCounter::add_text(std::string_view text) {
  if (!full_) add(key_of(text));
}

void DistinctCounter::merge(const DistinctCounter& other) {
  if (other.full_) return give_up();
  for (const uint64_t key : other.seen_) add(key);
}

void ColumnSurvey::add_text(std::string_view cell, int64_t line) {
  ++text;
  gap_words += is_gap(cell) ? 1 : 0;
  distinct.add_text(cell);
  if (const auto order = date_order(cell)) {
    ++dates;
    add_date(*order, shown(cell));
  }
  if (example_line >= 0 && example_line < line) return;
  example_line = line;
  example = shown(cell);
}

// Of dates that are as early, the text that sorts first: the same for any number of threads.
void ColumnSurvey::add_date(double order, std::string_view cell) {
  const auto is_before = [&](const DateFound& date) {
    return date.text.empty() || order < date.order || (order == date.order && cell < date.text);
  };
  if (is_before(first_date)) first_date = {order, std::string(cell)};
  if (last_date.text.empty() || !is_before(last_date)) last_date = {order, std::string(cell)};
}

void ColumnSurvey::merge(const ColumnSurvey& other) {
  numbers += other.numbers;
  empty += other.empty;
  text += other.text;
  gap_words += other.gap_words;
  dates += other.dates;
  for (const DateFound* date : {&other.first_date, &other.last_date}) {
    if (!date->text.empty()) add_date(date->order, date->text);
  }
  distinct.merge(other.distinct);
  if (other.example_line < 0 || (example_line >= 0 && example_line < other.example_line)) return;
  example_line = other.example_line;
  example = other.example;
}

void ColumnSurvey::describe(TableColumn& column, const ColumnSummary& values) const {
  column.numbers = numbers;
  column.empty = empty;
  column.text = text;
  column.gap_words = gap_words;
  column.example = example;
  column.dates = dates;
  column.first_date = first_date.text;
  column.last_date = last_date.text;
  column.distinct = distinct.count();
  column.more_distinct = distinct.more();
  column.values = values;
  column.values.missing -= empty + text;
  column.values.constant = distinct.count() == 1 && empty == 0 && column.values.missing == 0;
}

}  // namespace manymeans
