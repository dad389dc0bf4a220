// Columns that should not decide a clustering unless somebody wants that: numbers of rows, and one column against all.
#include <manymeans/io.h>

#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/out_of_memory.h"
#include "core/row_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

// Rows that are looked at: one in so many.
int64_t step_of(const PointsView& points) {
  return points.n * points.d <= kMostValues ? 1 : std::max<int64_t>(1, points.n / kMostRows);
}

// look_at(row) for every row that is looked at, from `first` on, until it says false. Rows of a file are given back.
template <class LookAt>
void for_spread_rows(const PointsView& points, int64_t memory, int64_t first, LookAt&& look_at) {
  const RowWindow window = reading_window(points, memory);
  int64_t behind = 0;
  for (int64_t row = first; row < points.n && look_at(row); row += step_of(points)) {
    if (row - behind < window.chunk_rows()) continue;
    window.give_back(behind, row + 1);
    behind = row + 1;
  }
  window.give_back(behind, points.n);
}

// Whether x = first + row * step for every row that is looked at, per column; integers, so that this is exact.
class Sequences {
 public:
  explicit Sequences(const PointsView& points) : row_(static_cast<size_t>(points.d)) {
    std::vector<double> second(row_.size());
    widen_row(points, 0, row_.data());
    widen_row(points, 1, second.data());
    for (size_t j = 0; j < row_.size(); ++j) {
      const double step = second[j] - row_[j];
      if (step == 1 && std::trunc(row_[j]) == row_[j]) left_.push_back({j, row_[j]});
    }
  }
  bool any() const { return !left_.empty(); }
  void look_at(const PointsView& points, int64_t row) {
    widen_row(points, row, row_.data());
    std::erase_if(left_, [&](const auto& one) { return row_[one.first] != one.second + static_cast<double>(row); });
  }
  const std::vector<std::pair<size_t, double>>& left() const { return left_; }

 private:
  std::vector<double> row_;
  std::vector<std::pair<size_t, double>> left_;  // column, its first value
};

// Variances of the columns: good to a few digits, which is all that a share needs.
std::vector<double> rough_variances(const PointsView& points, int64_t memory) {
  const auto d = static_cast<size_t>(points.d);
  std::vector<double> first(d), row(d), sum(d), squares(d);
  widen_row(points, 0, first.data());
  double count = 0;
  for_spread_rows(points, memory, 0, [&](int64_t i) {
    widen_row(points, i, row.data());
    for (size_t j = 0; j < d; ++j) {
      const double from_first = row[j] - first[j];
      sum[j] += from_first;
      squares[j] += from_first * from_first;
    }
    ++count;
    return true;
  });
  for (size_t j = 0; j < d; ++j) {
    const double mean = sum[j] / count;
    squares[j] = std::max(0.0, squares[j] / count - mean * mean);
  }
  return squares;
}

bool looked_at(const PointsView& points) {
  return points.data != nullptr && points.n >= kLeastRows && points.d >= 2 && !points.on_device();
}

std::vector<std::string> find_row_numbers(const Dataset& points, int64_t memory) {
  const PointsView& view = points.view;
  Sequences sequences(view);
  for_spread_rows(view, memory, 2, [&](int64_t row) {
    sequences.look_at(view, row);
    return sequences.any();
  });
  if (sequences.any()) sequences.look_at(view, view.n - 1);
  check_mapped(view.data);
  std::vector<std::string> warnings;
  for (const auto& [j, first] : sequences.left()) {
    warnings.push_back(fmt::format(
        "{} only counts the rows ({:.0f}, {:.0f}, {:.0f}, ...), and groups them by their place in the file; leave it "
        "out: --columns chooses others",
        column_label(points, static_cast<int64_t>(j) + 1), first, first + 1, first + 2));
  }
  return warnings;
}

std::vector<std::string> find_dominance(const Dataset& points, const PointsView& scaled, int64_t memory) {
  const std::vector<double> variances = rough_variances(scaled, memory);
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

std::vector<std::string> row_number_warnings(const Dataset& points, int64_t memory) {
  const FpEnvironmentGuard guard;
  if (!looked_at(points.view)) return {};
  return or_out_of_memory("points", "give it fewer columns", [&] { return find_row_numbers(points, memory); });
}

std::vector<std::string> dominance_warnings(const Dataset& points, const PointsView& scaled, int64_t memory) {
  const FpEnvironmentGuard guard;
  if (!looked_at(scaled)) return {};
  return or_out_of_memory("points", "give it fewer columns", [&] { return find_dominance(points, scaled, memory); });
}

}  // namespace manymeans
