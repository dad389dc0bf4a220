// Warnings of columns that should not decide a clustering unless the user asks for it: row numbers, a dominant column.
#include <manymeans/io.h>

#include "comm/or_abort.h"
#include "core/column_lanes.h"
#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/lower_case.h"
#include "core/mapped_range.h"
#include "core/moments.h"
#include "core/out_of_memory.h"
#include "core/row_window.h"
#include "data/id_names.h"
#include "data/input.h"
#include "data/row_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

namespace manymeans {
namespace {

// Below, rows in order are nothing to wonder about.
constexpr int64_t kMinColumnRows = 10;
// Larger data are sampled by evenly spread rows. One thread takes a millisecond or two for this many values, and a
// graphics processor takes 50 to fit 50 million. Of wide rows, kMinRows are sampled all the same.
constexpr int64_t kMaxValues = int64_t{1} << 18;
constexpr int64_t kMinRows = 64;
// Row numbers are detected among this many rows.
constexpr int64_t kMaxRows = int64_t{1} << 15;
// Rows that repeat by hours, minutes or months show all their values to a step without these factors.
constexpr int64_t kPeriods = 2 * 3 * 5;
// A share of 19 parts of 20 among several columns. With two, it is ordinary that one spreads some times farther (95.4 %
// in data/unbalance.txt.gz): one must spread ten times as far.
constexpr double kNearlyAll = 0.95;
constexpr double kNearlyAllOfTwo = 0.99;
constexpr const char* kAdvice = "give it fewer columns";

// The sampled rows, of the rows of all ranks. They do not depend on which rank has a row.
struct Sample {
  int64_t first = 0;       // of all rows, that this rank has
  int64_t all = 0;         // rows of all ranks
  int64_t step = 1;        // one row in `step` is sampled
  bool readable = false;   // whether there is something to look at
  bool looked_at = false;  // and has enough rows to tell something

  // The first of this rank's rows, counted from its first one, that is `start` of all or some steps behind it.
  int64_t begin(int64_t start) const { return start >= first ? start - first : (step - (first - start) % step) % step; }
};

// `looked_at`: how many values of a row will be.
Sample find_sample(const PointsView& points, int64_t looked_at, Comm& comm) {
  Sample sample{points.n, points.n};
  comm.scan({&sample.first, 1});
  comm.sum({&sample.all, 1});
  const bool here = points.n == 0 || (points.data != nullptr && !points.on_device());
  int64_t least[] = {points.d, -points.d, int64_t{here}};
  comm.min(least);
  const bool same_columns = least[0] == -least[1];  // else the fit says it
  sample.readable = sample.all > 0 && points.d >= 2 && same_columns && least[2] == 1;
  sample.looked_at = sample.readable && sample.all >= kMinColumnRows;
  const int64_t max_rows = std::max(kMinRows, kMaxValues / std::max<int64_t>(1, looked_at));
  sample.step = std::max<int64_t>(1, (sample.all + max_rows - 1) / max_rows);
  while (std::gcd(sample.step, kPeriods) > 1) ++sample.step;
  return sample;
}

// look_at(row) for every row of this rank that is looked at, beginning with `start` of all rows, until it says false.
// Rows of a file are given back.
template <class LookAt>
void for_sample(const PointsView& points, const RowWindow& window, const Sample& sample, int64_t start,
                LookAt&& look_at) {
  int64_t behind = 0;
  for (int64_t row = sample.begin(start); row < points.n && look_at(row); row += sample.step) {
    if (row - behind < window.chunk_rows()) continue;
    window.give_back(behind, row + 1);
    behind = row + 1;
  }
  window.give_back(behind, points.n);
}

// A column that may count the rows: in even steps, or one by one with a few holes, where rows were left out.
struct Counter {
  size_t column;
  double first, step;  // values of the first row, and from it to the second
  bool even, holed;
};

// Which integer columns count the rows. What a row says depends on this row alone, so that it is the same for all
// ranks.
class Counters {
 public:
  // `first` and `second`: rows 0 and 1 of all ranks.
  Counters(const Dataset& points, const std::vector<double>& first, const std::vector<double>& second)
      : columns_(first.size()) {
    for (size_t j = 0; j < first.size(); ++j) {
      const double step = second[j] - first[j];
      if (std::trunc(first[j]) != first[j] || std::fabs(first[j]) >= 0x1p53) continue;
      if (std::trunc(step) != step || step == 0) continue;
      const bool measures = may_measure(points, j, first[j]);
      if (step == 1 || !measures) left_.push_back({j, first[j], step, /*even=*/true, /*holed=*/!measures});
    }
  }
  bool any() const { return !left_.empty(); }
  // `number`: the row's number among the rows of all ranks.
  void look_at(const PointsView& points, int64_t row, int64_t number) {
    for (Counter& one : left_) {
      double value = 0;
      widen(points.data, points.type, row * points.d + static_cast<int64_t>(one.column), 1, &value);
      const double at = static_cast<double>(number), holes = value - one.first - at;
      one.even &= value == one.first + one.step * at;
      one.holed &= std::trunc(holes) == holes && holes >= 0 && holes <= kSomeHoles + kMaxHoles * at;
    }
    std::erase_if(left_, [](const Counter& one) { return !one.even && !one.holed; });
  }
  void keep_those_of_all(Comm& comm) {
    std::vector<int64_t> even(columns_), holed(columns_);
    for (const Counter& one : left_) {
      even[one.column] = one.even ? 1 : 0;
      holed[one.column] = one.holed ? 1 : 0;
    }
    comm.min(even);
    comm.min(holed);
    for (Counter& one : left_) {
      one.even = even[one.column] == 1;
      one.holed = holed[one.column] == 1;
    }
    std::erase_if(left_, [](const Counter& one) { return !one.even && !one.holed; });
  }
  const std::vector<Counter>& left() const { return left_; }

 private:
  static constexpr double kSomeHoles = 3, kMaxHoles = 0.25;  // at the first rows; for each row

  // Years, and places along an axis, rise in steps, too.
  static bool may_measure(const Dataset& points, size_t column, double first) {
    constexpr double kFirstYear = 1500, kLastYear = 2200;
    if (first >= kFirstYear && first <= kLastYear) return true;
    if (column >= points.column_names.size()) return false;
    const std::string name = lower_case(points.column_names[column]);
    return name == "x" || name == "y" || name == "z";
  }

  size_t columns_;
  std::vector<Counter> left_;
};

// This row of all ranks, on all ranks.
std::vector<double> row_of_all(const PointsView& points, const Sample& sample, int64_t number, Comm& comm) {
  std::vector<double> row(static_cast<size_t>(points.d), -std::numeric_limits<double>::infinity());
  if (number >= sample.first && number < sample.first + points.n) widen_row(points, number - sample.first, row.data());
  comm.max(row);
  return row;
}

// take(values, rows) for blocks of the rows that are looked at, widened.
template <class Take>
void for_sample_blocks(const PointsView& points, const RowWindow& window, const Sample& sample, Take&& take) {
  const int64_t max_rows = rows_per_block(points.d);
  std::vector<double> block(static_cast<size_t>(max_rows * points.d));
  int64_t rows = 0;
  for_sample(points, window, sample, 0, [&](int64_t i) {
    widen_row(points, i, block.data() + rows * points.d);
    if (++rows == max_rows) take(block.data(), std::exchange(rows, 0));
    return true;
  });
  take(block.data(), rows);
}

// Variances of the columns among the rows that are looked at, in integers, so that they are the same however many ranks
// there are. Returns nothing if the square of a value cannot be summed; the fit refuses it.
std::vector<double> sample_variances(const PointsView& points, int64_t memory, const Sample& sample, Comm& comm) {
  const RowWindow window = reading_window(points, memory);
  ColumnScanner<double> scanner(points.d);
  int64_t count = 0;
  bool usable = true;
  for_sample_blocks(points, window, sample, [&](const double* x, int64_t rows) {
    usable = scanner.add(x, rows) && usable;
    count += rows;
  });
  ColumnScan ranges(points.d);
  if (usable) scanner.merge_into(ranges);
  ranges.merge_ranks(comm);
  comm.sum({&count, 1});
  for (size_t j = 0; j < ranges.low.size(); ++j) {
    usable = usable && std::max(-ranges.minimum[j], ranges.maximum[j]) <= kMaxMagnitude;
  }
  if (comm.min(int64_t{usable}) == 0) return {};
  // Limbs that are shorter than they might be: vectors add many of them up before they have to be carried.
  const int bits = limb_bits(std::max(count, kMaxValues));
  std::vector<MomentFormats> formats;
  for (size_t j = 0; j < ranges.low.size(); ++j) {
    formats.push_back(MomentFormats::make(bits, ranges.minimum[j], ranges.maximum[j]));
  }
  MomentSummer<double> summer(formats);
  for_sample_blocks(points, window, sample, [&](const double* x, int64_t rows) { summer.add(x, rows); });
  std::vector<MomentSums> sums = summer.sums();
  sum_ranks(sums, comm);
  std::vector<double> variances;
  for (size_t j = 0; j < sums.size(); ++j) variances.push_back(moments(sums[j], formats[j], count).variance);
  return variances;
}

// Returns true for a name that programs give to a first column without one. Where the next column has the next such
// name, no column had a name.
bool is_named_by_place(const std::vector<std::string>& names, size_t column) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"X", "Y"},
                                                                      {"X.1", "X.2"},
                                                                      {"V1", "V2"},
                                                                      {"_c0", "_c1"},
                                                                      {"Column1", "Column2"},
                                                                      {"column00", "column01"},
                                                                      {"field_1", "field_2"}};
  const auto known = std::ranges::find(kNames, names[column], [](const auto& pair) { return pair.first; });
  if (known == std::end(kNames) || (column != 0 && known->first != "X.1")) return false;
  return std::ranges::find(names, known->second) == names.end();
}

// The sorted values of a column in at most `most` rows, spread evenly over the rows of all ranks.
std::vector<double> sampled(const PointsView& points, size_t column, const Sample& sample, int64_t most, Comm& comm) {
  const int64_t step = (sample.all + most - 1) / most;
  const int64_t count = (sample.all + step - 1) / step;
  std::vector<double> values(static_cast<size_t>(count), -std::numeric_limits<double>::infinity());
  for (int64_t i = (sample.first + step - 1) / step; i < count && i * step < sample.first + points.n; ++i) {
    const int64_t at = (i * step - sample.first) * points.d + static_cast<int64_t>(column);
    double& value = values[static_cast<size_t>(i)];
    widen(points.data, points.type, at, 1, &value);
    if (std::trunc(value) != value) value = std::numeric_limits<double>::infinity();  // NaN is none, too
  }
  comm.max(values);
  std::ranges::sort(values);
  return values;
}

// Returns true if these are different integers. Beyond 2^53 a few may have become one, because they were rounded.
bool are_distinct_integers(const std::vector<double>& sorted) {
  if (!std::isfinite(sorted.front()) || !std::isfinite(sorted.back())) return false;
  const bool exact = std::max(-sorted.front(), sorted.back()) < 0x1p53;
  int64_t distinct = 1;
  for (size_t i = 1; i < sorted.size(); ++i) distinct += sorted[i] != sorted[i - 1] ? 1 : 0;
  return exact ? distinct == std::ssize(sorted) : 2 * distinct > std::ssize(sorted);
}

bool has_integers(const PointsView& points, size_t column, const Sample& sample, Comm& comm) {
  constexpr int64_t kMax = 64;
  const std::vector<double> values = sampled(points, column, sample, kMax, comm);
  return std::isfinite(values.front()) && std::isfinite(values.back());
}

bool has_distinct_integers(const PointsView& points, size_t column, const Sample& sample, Comm& comm) {
  constexpr int64_t kMax = 4096;
  return are_distinct_integers(sampled(points, column, sample, kMax, comm));
}

// Returns true if a column holds the integers from 0 or 1 on, one a row, in any order. A few rows show that most
// columns do not. At most 2^15 rows are sampled: that many different integers are not random.
bool numbers_rows(const PointsView& points, size_t column, const Sample& sample, Comm& comm) {
  constexpr double kMinShare = 0.8;  // of the integers lies between the lowest and the highest of some rows
  constexpr int64_t kFew = 3, kSome = 64;
  constexpr int64_t kBytes = 256;  // integers that a byte has
  if (size_of(points.type) == 1 && sample.all > kBytes) return false;
  for (const int64_t most : {kFew, kSome, kMaxRows}) {
    const std::vector<double> values = sampled(points, column, sample, most, comm);
    const auto rows = static_cast<double>(sample.all);
    const bool whole = std::ssize(values) == sample.all;
    if (!are_distinct_integers(values) || values.front() < 0 || values.back() > rows) return false;
    if (most > kFew && values.back() - values.front() < (whole ? rows - 1 : kMinShare * rows)) return false;
  }
  return true;
}

bool is_named_like_some_id(const Dataset& points, size_t column) {
  return may_be_named_like_id(points.column_names[column]) || is_named_by_place(points.column_names, column);
}

// Returns true if the column holds ids, so that scaling it gains nothing.
bool holds_ids(const Dataset& points, size_t column, const Sample& sample, Comm& comm) {
  if (column < points.column_names.size()) {
    const std::string& name = points.column_names[column];
    if (is_named_like_id(name)) return true;
    // An index without a name counts anew in each of several files.
    if (sample.readable && name.empty() && has_integers(points.view, column, sample, comm)) return true;
    if (sample.readable && is_named_like_some_id(points, column) &&
        has_distinct_integers(points.view, column, sample, comm))
      return true;
  }
  return sample.looked_at && numbers_rows(points.view, column, sample, comm);
}

// Of columns that `warned` does not name yet.
void add_ids(const Dataset& points, const std::vector<bool>& warned, const Sample& sample, Comm& comm,
             std::vector<std::string>& warnings) {
  if (points.view.d < 2) return;
  for (size_t j = 0; j < warned.size(); ++j) {
    if (warned[j] || !holds_ids(points, j, sample, comm)) continue;  // the same on all ranks
    const std::string name = j < points.column_names.size() ? points.column_names[j] : "";
    const bool named = !name.empty() && (is_named_like_id(name) || is_named_like_some_id(points, j));
    const bool unnamed = name.empty() && !points.column_names.empty();
    warnings.push_back(
        fmt::format("{} {}; leave it out: --exclude, or --id, which lets it name the rows",
                    column_label(points, static_cast<int64_t>(j) + 1),
                    named     ? "is named like an id, and ids do not describe rows"
                    : unnamed ? "has no name, like the index that pandas and R write, which does not describe rows"
                              : "holds a different number in each row, like an index, which does not describe rows"));
  }
}

bool is_date(double value) {
  const auto date = static_cast<int64_t>(value);
  const int64_t year = date / 10000, month = date / 100 % 100, day = date % 100;
  const int64_t days = month == 2 ? 29 : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
  return year >= 1900 && year <= 2100 && month >= 1 && month <= 12 && day >= 1 && day <= days;
}

// Returns true if all integers of a column are dates, as 20240131. Few rows show that most columns hold none.
bool holds_dates(const PointsView& points, size_t column, const Sample& sample, Comm& comm) {
  constexpr int64_t kFew = 3, kSome = 64;
  if (size_of(points.type) < 4) return false;
  for (const int64_t most : {kFew, kSome}) {
    const std::vector<double> values = sampled(points, column, sample, most, comm);
    constexpr double kLast = 1e8;
    if (!(values.front() > 0 && values.back() < kLast) || !std::ranges::all_of(values, is_date)) return false;
    if (most == kSome && values.front() == values.back()) return false;
  }
  return true;
}

void add_dates(const Dataset& points, const std::vector<bool>& warned, const Sample& sample, Comm& comm,
               std::vector<std::string>& warnings) {
  for (size_t j = 0; j < warned.size(); ++j) {
    if (warned[j] || !holds_dates(points.view, j, sample, comm)) continue;  // the same on all ranks
    warnings.push_back(
        fmt::format("{} holds dates as integers (YYYYMMDD), which are farther apart where a month ends; leave it out: "
                    "--exclude, or make numbers of days of it",
                    column_label(points, static_cast<int64_t>(j) + 1)));
  }
}

std::vector<std::string> find_row_numbers(const Dataset& points, int64_t memory, Comm& comm) {
  const PointsView& view = points.view;
  const Sample sample = find_sample(view, 1, comm);
  std::vector<std::string> warnings;
  std::vector<bool> warned(static_cast<size_t>(view.d));
  if (!sample.looked_at) {
    add_ids(points, warned, sample, comm, warnings);
    return warnings;
  }
  const std::vector<double> first = row_of_all(view, sample, 0, comm), second = row_of_all(view, sample, 1, comm);
  Counters counters(points, first, second);
  for (const int64_t number : {int64_t{0}, int64_t{1}, sample.all - 1}) {
    const int64_t row = number - sample.first;
    if (row >= 0 && row < view.n) counters.look_at(view, row, number);
  }
  for_sample(view, reading_window(view, memory), sample, 2, [&](int64_t row) {
    counters.look_at(view, row, sample.first + row);
    return counters.any();
  });
  check_mapped(view.data);
  counters.keep_those_of_all(comm);
  for (const Counter& one : counters.left()) {
    warned[one.column] = true;
    const std::string how = one.even ? fmt::format("({:.0f}, {:.0f}, {:.0f}, ...)", one.first, one.first + one.step,
                                                   one.first + 2 * one.step)
                                     : fmt::format("(from {:.0f} on, with holes)", one.first);
    warnings.push_back(
        fmt::format("{} only counts the rows {}, and groups them by their place in the file; leave it out: --exclude",
                    column_label(points, static_cast<int64_t>(one.column) + 1), how));
  }
  add_ids(points, warned, sample, comm, warnings);
  add_dates(points, warned, sample, comm, warnings);
  check_mapped(view.data);
  return warnings;
}

// How many clusters a column of labels from 0 on is of; 0 where it is none, or lacks one of them.
int64_t clusters_of(const PointsView& points, size_t column, const Sample& sample, Comm& comm) {
  constexpr size_t kMax = 4096;
  std::vector<int64_t> seen(kMax + 1);  // the last: a value that is no label
  for_sample(points, reading_window(points, 0), sample, 0, [&](int64_t i) {
    double value = 0;
    widen(points.data, points.type, i * points.d + static_cast<int64_t>(column), 1, &value);
    const bool label = value >= 0 && value < static_cast<double>(kMax) && std::trunc(value) == value;
    seen[label ? static_cast<size_t>(value) : kMax] = 1;
    return label;
  });
  comm.max(seen);
  const auto first_missing = std::ranges::find(seen, 0) - seen.begin();
  const auto count = std::ranges::count(seen, 1);
  return seen[kMax] == 0 && count == first_missing ? count : 0;
}

std::vector<std::string> find_earlier_clusters(const Dataset& points, Comm& comm) {
  const PointsView& view = points.view;
  const Sample sample = find_sample(view, 1, comm);
  std::vector<std::string> warnings;
  if (!sample.looked_at) return warnings;
  for (size_t j = 0; j < std::min(static_cast<size_t>(view.d), points.column_names.size()); ++j) {
    const std::string name = lower_case(points.column_names[j]);
    if (name != "cluster" && name != "label") continue;
    const int64_t clusters = clusters_of(view, j, sample, comm);
    check_mapped(view.data);
    if (clusters < 2 || 2 * clusters > sample.all) continue;
    warnings.push_back(
        fmt::format("{} holds the integers from 0 to {}, as an earlier fit appends its clusters, and is clustered with "
                    "the other columns; --exclude {} leaves it out",
                    column_label(points, static_cast<int64_t>(j) + 1), clusters - 1, points.column_names[j]));
  }
  return warnings;
}

std::vector<std::string> find_dominance(const Dataset& points, const PointsView& scaled, int64_t memory, Comm& comm) {
  const Sample sample = find_sample(scaled, scaled.d, comm);
  if (!sample.looked_at) return {};
  const std::vector<double> variances = sample_variances(scaled, memory, sample, comm);
  check_mapped(scaled.data);
  const auto others = std::count_if(variances.begin(), variances.end(), [](double v) { return v > 0; }) - 1;
  const auto largest = std::max_element(variances.begin(), variances.end());
  double sum = 0;
  for (const double variance : variances) sum += variance;
  const double nearly_all = others == 1 ? kNearlyAllOfTwo : kNearlyAll;
  if (others < 1 || !std::isfinite(sum) || !(*largest > nearly_all * sum)) return {};
  const double share = *largest / sum;
  const bool ids =
      holds_ids(points, static_cast<size_t>(largest - variances.begin()), find_sample(points.view, 1, comm), comm);
  return {fmt::format("{} holds {} % of the variance of all columns, so it decides the clusters nearly alone; {}",
                      column_label(points, largest - variances.begin() + 1),
                      share > 0.9995 ? "more than 99.9" : fmt::format("{:.1f}", 100 * share),
                      ids ? "it looks like an id, which no scaling helps; leave it out (--exclude)"
                          : "scale the columns (--scale standard), or leave it out (--exclude)")};
}

}  // namespace

std::vector<std::string> row_number_warnings(const Dataset& points, int64_t memory, Comm& comm) {
  const FpEnvironmentGuard guard;
  return all_or_abort(comm, [&] {
    return or_out_of_memory("points", kAdvice, [&] { return find_row_numbers(points, memory, comm); });
  });
}

std::vector<std::string> row_number_warnings(const Dataset& points, int64_t memory) {
  return row_number_warnings(points, memory, self_comm());
}

std::vector<std::string> earlier_cluster_warnings(const Dataset& points, Comm& comm) {
  const FpEnvironmentGuard guard;
  return all_or_abort(
      comm, [&] { return or_out_of_memory("points", kAdvice, [&] { return find_earlier_clusters(points, comm); }); });
}

std::vector<std::string> dominance_warnings(const Dataset& points, const PointsView& scaled, int64_t memory,
                                            Comm& comm) {
  const FpEnvironmentGuard guard;
  return all_or_abort(comm, [&] {
    return or_out_of_memory("points", kAdvice, [&] { return find_dominance(points, scaled, memory, comm); });
  });
}

std::vector<std::string> dominance_warnings(const Dataset& points, const PointsView& scaled, int64_t memory) {
  return dominance_warnings(points, scaled, memory, self_comm());
}

}  // namespace manymeans
