// Summaries of the columns of points, missing and infinite values included.
#include <manymeans/io.h>

#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/moments.h"
#include "core/out_of_memory.h"
#include "data/row_blocks.h"

#include <cmath>
#include <limits>

namespace manymeans {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Range {
  double min = kInfinity, max = -kInfinity;
  double lowest = kInfinity, highest = -kInfinity;  // of the finite values
  int64_t missing = 0, infinite = 0;

  void add(double value) {
    if (std::isnan(value)) {
      ++missing;
      return;
    }
    min = std::min(min, value);
    max = std::max(max, value);
    if (std::isinf(value)) {
      ++infinite;
    } else {
      lowest = std::min(lowest, value);
      highest = std::max(highest, value);
    }
  }
  void merge(const Range& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    lowest = std::min(lowest, other.lowest);
    highest = std::max(highest, other.highest);
    missing += other.missing;
    infinite += other.infinite;
  }
};

// How the moments of a column's finite values are added up.
struct Column {
  double scale;  // a power of two: squares of the largest values would overflow, of the smallest vanish
  MomentFormats formats;
  MomentAdder adder;

  Column(int64_t n, double lowest, double highest)
      : scale(scale_of(std::max(std::fabs(lowest), std::fabs(highest)))),
        formats(MomentFormats::make(limb_bits(n), lowest * scale, highest * scale)),
        adder(formats) {}

 private:
  static double scale_of(double largest) {
    return largest > 0 ? std::ldexp(1.0, -std::clamp(exponent(largest), -1000, 1000)) : 1;
  }
};

// Calls add(seen of the column, column, value) for all values, in any order. Every thread has its own results, which
// are merged.
template <class Seen, class T, class Add>
std::vector<Seen> see_columns(const PointsView& points, ThreadPool& pool, Add&& add) {
  const auto d = static_cast<size_t>(points.d);
  std::vector<std::vector<Seen>> seen(static_cast<size_t>(pool.size()), std::vector<Seen>(d));
  for_each_block<T>(points, {}, pool, [&](int worker, int64_t, int64_t rows, const T* x) {
    Seen* mine = seen[static_cast<size_t>(worker)].data();
    for (int64_t i = 0; i < rows; ++i, x += d) {
      for (size_t j = 0; j < d; ++j) add(mine[j], j, x[j]);
    }
  });
  for (size_t worker = 1; worker < seen.size(); ++worker) {
    for (size_t j = 0; j < d; ++j) seen[0][j].merge(seen[worker][j]);
  }
  return std::move(seen[0]);
}

ColumnSummary summarise(const Range& range, const MomentSums& sums, const Column& column, int64_t n) {
  ColumnSummary result;
  result.missing = range.missing;
  result.infinite = range.infinite;
  // + 0.0 makes -0 and 0 one: which of them came first depends on the threads.
  result.min = range.missing == n ? kNaN : range.min + 0.0;
  result.max = range.missing == n ? kNaN : range.max + 0.0;
  result.constant = range.missing == 0 && range.min == range.max;
  result.mean = result.deviation = kNaN;
  const int64_t finite = n - range.missing - range.infinite;
  if (finite == 0) return result;
  const Moments found = moments(sums, column.formats, finite);
  result.mean = found.mean / column.scale + 0.0;
  result.deviation = std::sqrt(found.variance) / column.scale;
  return result;
}

template <class T>
std::vector<ColumnSummary> summarise(const PointsView& points, ThreadPool& pool) {
  const std::vector<Range> ranges =
      see_columns<Range, T>(points, pool, [](Range& range, size_t, double value) { range.add(value); });
  std::vector<Column> columns;
  for (const Range& range : ranges) {
    const bool none = range.lowest > range.highest;
    columns.emplace_back(points.n, none ? 0 : range.lowest, none ? 0 : range.highest);
  }
  const std::vector<MomentSums> sums =
      see_columns<MomentSums, T>(points, pool, [&](MomentSums& sum, size_t j, double x) {
        const double value = x * columns[j].scale;
        if (std::isfinite(value)) columns[j].adder.add(value, sum);
      });
  std::vector<ColumnSummary> result;
  for (size_t j = 0; j < ranges.size(); ++j) result.push_back(summarise(ranges[j], sums[j], columns[j], points.n));
  check_mapped(points.data);
  return result;
}

}  // namespace

std::vector<ColumnSummary> summarise_columns(const PointsView& points, int threads) {
  const FpEnvironmentGuard guard;
  if (points.n < 1 || points.d < 1)
    return std::vector<ColumnSummary>(static_cast<size_t>(std::max<int64_t>(points.d, 0)));
  return or_out_of_memory("points", "give it fewer columns", [&] {
    await_points(points);
    ThreadPool pool(thread_count(threads));
    return as_float_type(points.type, [&]<class T>(T) { return summarise<T>(points, pool); });
  });
}

}  // namespace manymeans
