// Rows that lie far outside the points of a fit: unscaled ones, other units, swapped columns.
#include <manymeans/io.h>
#include <manymeans/result.h>

#include "core/data_type.h"
#include "core/fp_environment.h"
#include "core/sparse_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace manymeans {
namespace {

// Blocks of neighbouring rows, spread evenly: a device copies one block at a time.
constexpr int64_t kBlocks = 4, kBlockRows = 8;
// A value is far outside if it is beyond its column's range by this many widths of the range. Random splits of 18 data
// sets (KDD Cup, MNIST, bike sharing, ...) into at least 32 rows to fit and 16 others had no column with most rows
// outside. Unscaled rows of each had one, where the fit had scaled by deviations of 10 or more.
constexpr double kReach = 0.5;
// Fewer rows may all be outliers, and few fitted rows tell little of a range (20 widths for 5 rows, 0.5 for 32). Then a
// value must also be beyond by the greatest width of all columns.
constexpr int64_t kFewRows = 16;
constexpr double kReachOfFewRows = 10;
constexpr double kReachOfSmallFit = 500;

// All are shrunken if no sampled value is above this share of its column's largest magnitude. An example: pixels from 0
// to 1 for a fit of pixels from 0 to 255. No split above was shrunken.
constexpr double kShrunken = 1.0 / 200;

struct Limits {
  double least, most;
};

// How far beyond a range a value is far outside.
struct Reach {
  double widths, least = 0;

  Reach(const ColumnRanges& fitted, int64_t rows)
      : widths(std::max(rows < kFewRows ? kReachOfFewRows : kReach, kReachOfSmallFit / (fitted.rows * fitted.rows))) {
    for (size_t j = 0; few() && j < fitted.minimum.size(); ++j) {
      least = std::max(least, fitted.maximum[j] - fitted.minimum[j]);
    }
  }
  bool few() const { return widths > kReach; }
};

// The limits beyond which a value is far outside. A constant column tells no width.
Limits limits_of(const ColumnRanges& fitted, size_t column, const Reach& reach) {
  const double low = fitted.minimum[column], high = fitted.maximum[column];
  if (low == high) return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  const double width = high - low, margin = std::max(reach.widths * width, reach.least);
  Limits limits{low - margin, high + margin};
  // A column that keeps away from 0: less than half of its least magnitude is far outside, too, as in a larger unit.
  constexpr double kAway = 0.25;  // widths of its range
  if (reach.few()) return limits;
  if (low > kAway * width) limits.least = std::max(limits.least, low / 2);
  if (-high > kAway * width) limits.most = std::min(limits.most, high / 2);
  return limits;
}

// use(row) for the first of each block of rows that are looked at.
template <class Use>
void for_each_block(int64_t n, Use&& use) {
  const int64_t rows = std::min(n, kBlocks * kBlockRows);
  for (int64_t done = 0; done < rows; done += kBlockRows) {
    const int64_t size = std::min(rows - done, kBlockRows);
    use(rows < n ? (n - size) * done / (rows - kBlockRows) : done, size);
  }
}

struct Outside {
  std::vector<size_t> columns = {};  // that are far outside in most rows
  double found = 0;                  // in the first of them
  bool shrunken = false;             // all columns are, since their values are far smaller
};

// The sampled rows' range and far values in each column.
template <class T>
struct Seen {
  std::vector<T> low, high;
  std::vector<int32_t> far;  // values that are far outside
  int32_t rows = 0;

  explicit Seen(size_t columns)
      : low(columns, std::numeric_limits<T>::infinity()),
        high(columns, -std::numeric_limits<T>::infinity()),
        far(columns) {}
};

template <class T>
Seen<T> look_at(const PointsView& points, const ColumnRanges& fitted, const Reach& reach) {
  const auto d = static_cast<size_t>(points.d);
  std::vector<T> least(d), most(d), scratch(static_cast<size_t>(kBlockRows) * d);
  for (size_t j = 0; j < d; ++j) {
    const Limits limits = limits_of(fitted, j, reach);
    least[j] = static_cast<T>(limits.least);
    most[j] = static_cast<T>(limits.most);
  }
  Seen<T> seen(d);
  std::vector<std::byte> fetched;
  for_each_block(points.n, [&](int64_t first, int64_t size) {
    const T* x = rows_as<T>(host_rows(points, first, size, fetched), 0, size, scratch.data());
    for (int64_t i = 0; i < size; ++i, ++seen.rows, x += d) {
      for (size_t j = 0; j < d; ++j) {
        seen.far[j] += (x[j] < least[j]) | (x[j] > most[j]);
        seen.low[j] = std::min(seen.low[j], x[j]);
        seen.high[j] = std::max(seen.high[j], x[j]);
      }
    }
  });
  return seen;
}

// Returns true if every value is next to 0 compared with the fit's values: in a far larger unit. Rows that are nearly
// the same, in more than half of the columns, may well lie there.
template <class T>
bool are_shrunken(const Seen<T>& seen, const ColumnRanges& fitted) {
  size_t ranges = 0, varying = 0;
  for (size_t j = 0; j < seen.low.size(); ++j) {
    if (fitted.minimum[j] == fitted.maximum[j]) continue;
    const double size = std::max(std::fabs(fitted.minimum[j]), std::fabs(fitted.maximum[j]));
    if (std::max<double>(-seen.low[j], seen.high[j]) > kShrunken * size) return false;
    ++ranges;
    varying += seen.low[j] < seen.high[j];
  }
  return ranges > 0 && 2 * varying >= ranges;
}

template <class T>
Outside find_outside(const PointsView& points, const ColumnRanges& fitted, const Reach& reach) {
  const Seen<T> seen = look_at<T>(points, fitted, reach);
  Outside outside{.shrunken = !reach.few() && are_shrunken(seen, fitted)};
  for (size_t j = 0; j < seen.far.size(); ++j) {
    const bool all = outside.shrunken && fitted.minimum[j] < fitted.maximum[j];
    if (all || 2 * seen.far[j] > seen.rows) outside.columns.push_back(j);
  }
  if (outside.columns.empty()) return outside;
  const size_t j = outside.columns[0];
  const bool above = outside.shrunken || seen.high[j] > fitted.maximum[j];
  outside.found = static_cast<double>(above ? seen.high[j] : seen.low[j]);
  return outside;
}

// Of sparse rows most of the values that are there count: hardly a column has any in most rows.
Outside find_outside(const SparseView& points, const ColumnRanges& fitted, const Reach& reach) {
  Outside outside;
  WideSparseRow row;
  int64_t values = 0, far = 0;
  for_each_block(points.n, [&](int64_t first, int64_t size) {
    for (int64_t i = first; i < first + size; ++i) {
      row.read(points, i);
      values += row.count();
      for (size_t at = 0; at < row.values.size(); ++at) {
        const auto j = static_cast<size_t>(row.columns[at]);
        const Limits limits = limits_of(fitted, j, reach);
        if (row.values[at] >= limits.least && row.values[at] <= limits.most) continue;
        ++far;
        if (outside.columns.empty()) outside = {.columns = {j}, .found = row.values[at]};
      }
    }
  });
  return 2 * far > values ? outside : Outside{};
}

Outside find_outside(const PointsView& points, const ColumnRanges& fitted) {
  const Reach reach(fitted, points.n);
  if (is_sparse(points)) return find_outside(sparse_view(points), fitted, reach);
  return as_float_type(points.type, [&]<class T>(T) { return find_outside<T>(points, fitted, reach); });
}

}  // namespace

std::vector<std::string> outside_warnings(const Dataset& points, const ColumnRanges& fitted, const Scaling& scaling) {
  const FpEnvironmentGuard guard;
  const PointsView& view = points.view;
  if (view.n < 1 || view.d < 1 || std::ssize(fitted.minimum) < view.d || scaling.kind == Scale::kUnit) return {};
  ColumnRanges ranges = fitted;
  for (size_t j = 0; j < scaling.divisor.size() && j < ranges.minimum.size(); ++j) {
    for (double* value : {&ranges.minimum[j], &ranges.maximum[j]}) *value = scaling.undone(*value, j);
  }
  const Outside outside = find_outside(view, ranges);
  if (outside.columns.empty()) return {};
  const size_t j = outside.columns[0], others = outside.columns.size() - 1;
  return {fmt::format(
      "{}{} far {} the points of the fit in most rows: {:.6g} was found, the fit had {:.6g} to {:.6g}; scale rows as "
      "those of the fit were, with the same units and order of columns",
      column_label(points, static_cast<int64_t>(j) + 1),
      others == 0 ? " is" : fmt::format(" and {} other column{} are", others, others == 1 ? "" : "s"),
      outside.shrunken ? "smaller than" : "outside", outside.found, ranges.minimum[j], ranges.maximum[j])};
}

}  // namespace manymeans
