// Columns that should not decide a clustering unless somebody wants that: numbers of rows, and one column against all.
#include <manymeans/io.h>

#include "core/data_type.h"
#include "core/file_memory.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/out_of_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace manymeans {
namespace {

// Below, rows in order are nothing to wonder about.
constexpr int64_t kLeastRows = 10;
// All values of a fit that takes longer than this takes: 0.03 s on one thread (KDD, 494,021 x 38).
constexpr int64_t kMostValues = int64_t{1} << 24;
// A share of 19 parts of 20 among several columns. Of two, one that spreads some times farther is ordinary (95.4 % in
// data/unbalance.txt.gz): there it has to spread ten times as far.
constexpr double kNearlyAll = 0.95;
constexpr double kNearlyAllOfTwo = 0.99;

// Rows that are looked at: one in so many.
int64_t step_of(const PointsView& points) {
  return std::max<int64_t>(1, points.n * points.d / kMostValues);
}

// Reads rows in rising order. Points that lie in a file are given back behind it: whether they may stay in memory is
// for the fit to say, whose passes come later.
class RowReader {
 public:
  explicit RowReader(const PointsView& points)
      : points_(points), gives_back_(points.bytes() > kBlock && lies_in_file(points.data, points.bytes())) {}
  ~RowReader() { give_back_to(points_.bytes()); }
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;

  void read(int64_t row, double* values) {
    const size_t at = points_.bytes() / static_cast<size_t>(points_.n) * static_cast<size_t>(row);
    if (at >= given_ + kBlock) give_back_to(at);
    widen_row(points_, row, values);
  }

 private:
  static constexpr size_t kBlock = size_t{4} << 20;
  void give_back_to(size_t end) {
    if (gives_back_) give_back(points_.data, points_.bytes(), given_, end - given_);
    given_ = end;
  }

  const PointsView& points_;
  const bool gives_back_;
  size_t given_ = 0;  // bytes
};

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
  void look_at(RowReader& reader, int64_t row) {
    reader.read(row, row_.data());
    std::erase_if(left_, [&](const auto& one) { return row_[one.first] != one.second + static_cast<double>(row); });
  }
  const std::vector<std::pair<size_t, double>>& left() const { return left_; }

 private:
  std::vector<double> row_;
  std::vector<std::pair<size_t, double>> left_;  // column, its first value
};

// Variances of the columns: good to a few digits, which is all that a share needs.
std::vector<double> rough_variances(const PointsView& points) {
  const auto d = static_cast<size_t>(points.d);
  std::vector<double> first(d), row(d), sum(d), squares(d);
  RowReader reader(points);
  reader.read(0, first.data());
  double count = 0;
  for (int64_t i = 0; i < points.n; i += step_of(points), ++count) {
    reader.read(i, row.data());
    for (size_t j = 0; j < d; ++j) {
      const double from_first = row[j] - first[j];
      sum[j] += from_first;
      squares[j] += from_first * from_first;
    }
  }
  for (size_t j = 0; j < d; ++j) {
    const double mean = sum[j] / count;
    squares[j] = std::max(0.0, squares[j] / count - mean * mean);
  }
  return squares;
}

bool looked_at(const PointsView& points) {
  return points.data != nullptr && points.n >= kLeastRows && points.d >= 2 && !points.on_device();
}

std::vector<std::string> find_row_numbers(const Dataset& points) {
  const PointsView& view = points.view;
  Sequences sequences(view);
  RowReader reader(view);
  for (int64_t i = 2; i < view.n && sequences.any(); i += step_of(view)) sequences.look_at(reader, i);
  if (sequences.any()) sequences.look_at(reader, view.n - 1);
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

std::vector<std::string> find_dominance(const Dataset& points, const PointsView& scaled) {
  const std::vector<double> variances = rough_variances(scaled);
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

std::vector<std::string> row_number_warnings(const Dataset& points) {
  const FpEnvironmentGuard guard;
  if (!looked_at(points.view)) return {};
  return or_out_of_memory("points", "give it fewer columns", [&] { return find_row_numbers(points); });
}

std::vector<std::string> dominance_warnings(const Dataset& points, const PointsView& scaled) {
  const FpEnvironmentGuard guard;
  if (!looked_at(scaled)) return {};
  return or_out_of_memory("points", "give it fewer columns", [&] { return find_dominance(points, scaled); });
}

}  // namespace manymeans
