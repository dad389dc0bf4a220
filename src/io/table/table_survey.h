// Counts of the cells of a column, made while they are read.
#pragma once

#include <manymeans/io.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace manymeans {

/// Counts different values, up to a limit: then it gives its memory back and says "more". The order of the values does
/// not matter.
class DistinctCounter {
 public:
  explicit DistinctCounter(size_t limit = 0) : limit_(limit) {}
  /// The limit for each of `columns` columns: together they take at most 32 MiB a thread, up to 50 columns.
  static size_t limit_for(int64_t columns);

  void add(uint64_t key) {
    if (full_) return;
    seen_.insert(key);
    if (seen_.size() > limit_) give_up();
  }
  /// A number by its value, or by its text where that has more digits than binary64 can tell apart.
  void add_number(double value, std::string_view text);
  void add_text(std::string_view text);
  void merge(const DistinctCounter& other);

  /// Different values; the limit where there are more.
  int64_t count() const { return static_cast<int64_t>(full_ ? limit_ : seen_.size()); }
  bool more() const { return full_; }

 private:
  void give_up();

  size_t limit_;
  bool full_ = false;
  std::unordered_set<uint64_t> seen_;
};

/// The earliest or the latest of some dates.
struct DateFound {
  double order = 0;
  std::string text;  ///< empty: there was none
};

/// One column, as one thread has seen it.
struct ColumnSurvey {
  int64_t numbers = 0, empty = 0, text = 0;
  int64_t gap_words = 0;      // of the texts
  int64_t example_line = -1;  ///< of the first text; -1: none
  std::string example;
  int64_t dates = 0;  // of the texts
  DateFound first_date, last_date;
  DistinctCounter distinct;

  void add_text(std::string_view cell, int64_t line);
  void merge(const ColumnSurvey& other);
  void add_date(double order, std::string_view cell);
  /// Fills in what the cells say of a column, `values` being its numbers, which are NaN where a cell has none.
  void describe(TableColumn& column, const ColumnSummary& values) const;
};

}  // namespace manymeans
