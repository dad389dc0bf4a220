// Columns that should not decide a clustering unless somebody wants that: numbers of rows, and one column against all.
#include <manymeans/io.h>

#include "comm/or_abort.h"
#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/lower_case.h"
#include "core/mapped_range.h"
#include "core/moments.h"
#include "core/out_of_memory.h"
#include "core/row_window.h"
#include "data/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

namespace manymeans {
namespace {

// Below, rows in order are nothing to wonder about.
constexpr int64_t kLeastRows = 10;
// Of more values than these (0.03 s on one thread) so many rows are looked at: a file may lie on a slow disk.
constexpr int64_t kMostValues = int64_t{1} << 24;
constexpr int64_t kMostRows = int64_t{1} << 15;
// A share of 19 parts of 20 among several columns. Of two, one that spreads some times farther is ordinary (95.4 % in
// data/unbalance.txt.gz): there it has to spread ten times as far.
constexpr double kNearlyAll = 0.95;
constexpr double kNearlyAllOfTwo = 0.99;
constexpr const char* kAdvice = "give it fewer columns";

// Of the rows of all ranks those that are looked at: the same ones, whichever rank has them.
struct Sample {
  int64_t first = 0;       // of all rows, that this rank has
  int64_t all = 0;         // rows of all ranks
  int64_t step = 1;        // one row in so many is looked at
  bool looked_at = false;  // whether there is something to look at

  // The first of this rank's rows, counted from its first one, that is `start` of all or some steps behind it.
  int64_t begin(int64_t start) const { return start >= first ? start - first : (step - (first - start) % step) % step; }
};

Sample find_sample(const PointsView& points, Comm& comm) {
  Sample sample{points.n, points.n};
  comm.scan({&sample.first, 1});
  comm.sum({&sample.all, 1});
  const bool here = points.n == 0 || (points.data != nullptr && !points.on_device());
  int64_t least[] = {points.d, -points.d, int64_t{here}};
  comm.min(least);
  const bool same_columns = least[0] == -least[1];  // else the fit says it
  sample.looked_at = sample.all >= kLeastRows && points.d >= 2 && same_columns && least[2] == 1;
  if (sample.all > kMostValues / std::max<int64_t>(1, points.d)) {
    sample.step = std::max<int64_t>(1, sample.all / kMostRows);
  }
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

// Whether x = first + row for every row that is looked at, per column; integers, so that this is exact.
class Sequences {
 public:
  // `first`: row 0 of all ranks.
  explicit Sequences(const std::vector<double>& first) : row_(first.size()) {
    for (size_t j = 0; j < first.size(); ++j) {
      if (std::trunc(first[j]) == first[j] && std::fabs(first[j]) < 0x1p53) left_.push_back({j, first[j]});
    }
  }
  bool any() const { return !left_.empty(); }
  // `number`: that of the row among those of all ranks.
  void look_at(const PointsView& points, int64_t row, int64_t number) {
    widen_row(points, row, row_.data());
    std::erase_if(left_, [&](const auto& one) { return row_[one.first] != one.second + static_cast<double>(number); });
  }
  void keep_those_of_all(Comm& comm) {
    std::vector<int64_t> kept(row_.size());
    for (const auto& one : left_) kept[one.first] = 1;
    comm.min(kept);
    std::erase_if(left_, [&](const auto& one) { return kept[one.first] == 0; });
  }
  const std::vector<std::pair<size_t, double>>& left() const { return left_; }

 private:
  std::vector<double> row_;
  std::vector<std::pair<size_t, double>> left_;  // column, its first value
};

// The first of all rows, on all ranks.
std::vector<double> first_row(const PointsView& points, const Sample& sample, Comm& comm) {
  std::vector<double> row(static_cast<size_t>(points.d), -std::numeric_limits<double>::infinity());
  if (points.n > 0 && sample.first == 0) widen_row(points, 0, row.data());
  comm.max(row);
  return row;
}

// Ranges of the columns among the rows that are looked at.
struct Ranges {
  std::vector<double> lowest, highest;
  int64_t count = 0;  // of those rows
  bool finite = true;

  explicit Ranges(size_t columns)
      : lowest(columns, std::numeric_limits<double>::infinity()),
        highest(columns, -std::numeric_limits<double>::infinity()) {}
  void add(const std::vector<double>& row) {
    for (size_t j = 0; j < row.size(); ++j) {
      if (!(std::fabs(row[j]) <= kMaxMagnitude)) finite = false;
      lowest[j] = std::min(lowest[j], row[j]);
      highest[j] = std::max(highest[j], row[j]);
    }
    ++count;
  }
  void merge_ranks(Comm& comm) {
    comm.min(lowest);
    comm.max(highest);
    comm.sum({&count, 1});
    finite = comm.min(int64_t{finite}) == 1;
  }
};

// Variances of the columns among the rows that are looked at, in integers, so that they are the same however many ranks
// there are. Nothing where a value is none whose square can be summed; the fit refuses it.
std::vector<double> sample_variances(const PointsView& points, int64_t memory, const Sample& sample, Comm& comm) {
  const RowWindow window = reading_window(points, memory);
  std::vector<double> row(static_cast<size_t>(points.d));
  Ranges ranges(row.size());
  for_sample(points, window, sample, 0, [&](int64_t i) {
    widen_row(points, i, row.data());
    ranges.add(row);
    return true;
  });
  ranges.merge_ranks(comm);
  if (!ranges.finite) return {};
  std::vector<MomentFormats> formats;
  std::vector<MomentAdder> adders;
  for (size_t j = 0; j < row.size(); ++j) {
    formats.push_back(MomentFormats::make(limb_bits(ranges.count), ranges.lowest[j], ranges.highest[j]));
    adders.emplace_back(formats.back());
  }
  std::vector<MomentSums> sums(row.size());
  for_sample(points, window, sample, 0, [&](int64_t i) {
    widen_row(points, i, row.data());
    for (size_t j = 0; j < row.size(); ++j) adders[j].add(row[j], sums[j]);
    return true;
  });
  sum_ranks(sums, comm);
  std::vector<double> variances;
  for (size_t j = 0; j < row.size(); ++j) variances.push_back(moments(sums[j], formats[j], ranges.count).variance);
  return variances;
}

// Whether a column of this name holds numbers that name things and measure nothing.
bool is_named_like_id(const std::string& any_case) {
  const std::string name = lower_case(any_case);
  constexpr std::string_view kNames[] = {"id", "index", "idx", "rowid", "row_number", "unnamed: 0", "uuid"};
  return std::ranges::find(kNames, name) != std::end(kNames) || name.ends_with("_id") || name.ends_with("-id") ||
         name.ends_with(" id");
}

// objid and custId, and also humid and grid: what such a column holds has to look like ids, too.
bool may_be_named_like_id(const std::string& name) {
  constexpr size_t kLeast = 4;  // two letters and "id"
  return name.size() >= kLeast && lower_case(name).ends_with("id");
}

// Whether a column holds integers that are all different, among at most 2^12 rows, spread evenly over those of all
// ranks. Beyond 2^53 a few may have become one, because they were rounded.
bool has_distinct_integers(const PointsView& points, size_t column, const Sample& sample, Comm& comm) {
  constexpr int64_t kMost = 4096;
  const int64_t step = (sample.all + kMost - 1) / kMost;
  const int64_t count = (sample.all + step - 1) / step;
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  std::vector<double> values(static_cast<size_t>(count), kNone);
  for (int64_t i = (sample.first + step - 1) / step; i < count && i * step < sample.first + points.n; ++i) {
    const int64_t at = (i * step - sample.first) * points.d + static_cast<int64_t>(column);
    double value = 0;
    widen(points.data, points.type, at, 1, &value);
    values[static_cast<size_t>(i)] = std::trunc(value) == value ? value : std::numeric_limits<double>::infinity();
  }
  comm.max(values);
  std::ranges::sort(values);
  if (!std::isfinite(values.front()) || !std::isfinite(values.back())) return false;
  const bool exact = std::max(-values.front(), values.back()) < 0x1p53;
  const auto distinct = std::unique(values.begin(), values.end()) - values.begin();
  return exact ? distinct == count : distinct > count / 2;
}

// Of columns that `warned` does not name yet.
void add_ids(const Dataset& points, const std::vector<bool>& warned, const Sample& sample, Comm& comm,
             std::vector<std::string>& warnings) {
  if (points.view.d < 2) return;
  for (size_t j = 0; j < std::min(warned.size(), points.column_names.size()); ++j) {
    const std::string& name = points.column_names[j];
    if (warned[j]) continue;
    const bool may_be = sample.looked_at && may_be_named_like_id(name);  // the same on all ranks
    if (!is_named_like_id(name) && !(may_be && has_distinct_integers(points.view, j, sample, comm))) continue;
    warnings.push_back(
        fmt::format("{} is named like an id, and ids measure nothing; leave it out: --exclude, or --id, which lets it "
                    "name the rows",
                    column_label(points, static_cast<int64_t>(j) + 1)));
  }
}

std::vector<std::string> find_row_numbers(const Dataset& points, int64_t memory, Comm& comm) {
  const PointsView& view = points.view;
  const Sample sample = find_sample(view, comm);
  std::vector<std::string> warnings;
  std::vector<bool> warned(static_cast<size_t>(view.d));
  if (!sample.looked_at) {
    add_ids(points, warned, sample, comm, warnings);
    return warnings;
  }
  Sequences sequences(first_row(view, sample, comm));
  for (const int64_t number : {int64_t{0}, int64_t{1}, sample.all - 1}) {
    const int64_t row = number - sample.first;
    if (row >= 0 && row < view.n) sequences.look_at(view, row, number);
  }
  for_sample(view, reading_window(view, memory), sample, 2, [&](int64_t row) {
    sequences.look_at(view, row, sample.first + row);
    return sequences.any();
  });
  check_mapped(view.data);
  sequences.keep_those_of_all(comm);
  for (const auto& [j, first] : sequences.left()) {
    warned[j] = true;
    warnings.push_back(fmt::format(
        "{} only counts the rows ({:.0f}, {:.0f}, {:.0f}, ...), and groups them by their place in the file; leave it "
        "out: --columns chooses others",
        column_label(points, static_cast<int64_t>(j) + 1), first, first + 1, first + 2));
  }
  add_ids(points, warned, sample, comm, warnings);
  check_mapped(view.data);
  return warnings;
}

// How many clusters a column of labels from 0 on is of; 0 where it is none, or lacks one of them.
int64_t clusters_of(const PointsView& points, size_t column, const Sample& sample, Comm& comm) {
  constexpr size_t kMost = 4096;
  std::vector<int64_t> seen(kMost + 1);  // the last: a value that is no label
  for_sample(points, reading_window(points, 0), sample, 0, [&](int64_t i) {
    double value = 0;
    widen(points.data, points.type, i * points.d + static_cast<int64_t>(column), 1, &value);
    const bool label = value >= 0 && value < static_cast<double>(kMost) && std::trunc(value) == value;
    seen[label ? static_cast<size_t>(value) : kMost] = 1;
    return label;
  });
  comm.max(seen);
  const auto first_missing = std::ranges::find(seen, 0) - seen.begin();
  const auto count = std::ranges::count(seen, 1);
  return seen[kMost] == 0 && count == first_missing ? count : 0;
}

std::vector<std::string> find_earlier_clusters(const Dataset& points, Comm& comm) {
  const PointsView& view = points.view;
  const Sample sample = find_sample(view, comm);
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
  const Sample sample = find_sample(scaled, comm);
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
  return {
      fmt::format("{} holds {} % of the variance of all columns and decides nearly alone which rows are near each "
                  "other; scale the columns (--scale standard), or leave it out (--columns chooses others)",
                  column_label(points, largest - variances.begin() + 1),
                  share > 0.9995 ? "more than 99.9" : fmt::format("{:.1f}", 100 * share))};
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
