// What the columns of points hold, missing and infinite values included.
#include <manymeans/io.h>

#include "core/fixed_point.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
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
  double largest = 0;  // magnitude of the finite values
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
      largest = std::max(largest, std::fabs(value));
    }
  }
  void merge(const Range& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    largest = std::max(largest, other.largest);
    missing += other.missing;
    infinite += other.infinite;
  }
};

// Sums of x and x * x as integers, so that they are the same in any order.
struct Sums {
  int64_t x[kDistanceLimbs] = {};
  int64_t xx[kDistanceLimbs] = {};
};

struct Adders {
  double scale = 1;  // a power of two: squares of the largest values would overflow, of the smallest vanish
  TermAdder x, xx;

  Adders(int64_t n, double largest) {
    if (largest > 0) scale = std::ldexp(1.0, -std::clamp(exponent(largest), -1000, 1000));
    const double scaled = largest * scale;
    x = TermAdder(SumFormat::make(limb_bits(n), kDistanceLimbs, scaled));
    xx = TermAdder(SumFormat::make(limb_bits(n), kDistanceLimbs, scaled * scaled));
  }
};

template <class T>
std::vector<Range> find_ranges(const PointsView& points, ThreadPool& pool) {
  const auto d = static_cast<size_t>(points.d);
  std::vector<std::vector<Range>> ranges(static_cast<size_t>(pool.size()), std::vector<Range>(d));
  for_each_block<T>(points, {}, pool, [&](int worker, int64_t, int64_t rows, const T* x) {
    Range* mine = ranges[static_cast<size_t>(worker)].data();
    for (int64_t i = 0; i < rows; ++i, x += d) {
      for (size_t j = 0; j < d; ++j) mine[j].add(x[j]);
    }
  });
  for (size_t worker = 1; worker < ranges.size(); ++worker) {
    for (size_t j = 0; j < d; ++j) ranges[0][j].merge(ranges[worker][j]);
  }
  return ranges[0];
}

template <class T>
std::vector<Sums> find_sums(const PointsView& points, const std::vector<Adders>& adders, ThreadPool& pool) {
  const auto d = static_cast<size_t>(points.d);
  std::vector<std::vector<Sums>> sums(static_cast<size_t>(pool.size()), std::vector<Sums>(d));
  for_each_block<T>(points, {}, pool, [&](int worker, int64_t, int64_t rows, const T* x) {
    Sums* mine = sums[static_cast<size_t>(worker)].data();
    for (int64_t i = 0; i < rows; ++i, x += d) {
      for (size_t j = 0; j < d; ++j) {
        const double value = static_cast<double>(x[j]) * adders[j].scale;
        if (!std::isfinite(value)) continue;
        adders[j].x.add(value, 1, mine[j].x);
        adders[j].xx.add(value * value, 1, mine[j].xx);
      }
    }
  });
  for (size_t worker = 1; worker < sums.size(); ++worker) {
    for (size_t j = 0; j < d; ++j) {
      for (int g = 0; g < kDistanceLimbs; ++g) {
        sums[0][j].x[g] += sums[worker][j].x[g];
        sums[0][j].xx[g] += sums[worker][j].xx[g];
      }
    }
  }
  return sums[0];
}

ColumnSummary summarise(const Range& range, const Sums& sums, const Adders& adders, int64_t n) {
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
  const Moments found = moments(sums.x, adders.x.format(), sums.xx, adders.xx.format(), finite);
  result.mean = found.mean / adders.scale + 0.0;
  result.deviation = range.min == range.max ? 0.0 : std::sqrt(found.variance) / adders.scale;
  return result;
}

template <class T>
std::vector<ColumnSummary> summarise(const PointsView& points, ThreadPool& pool) {
  const std::vector<Range> ranges = find_ranges<T>(points, pool);
  std::vector<Adders> adders;
  for (const Range& range : ranges) adders.emplace_back(points.n, range.largest);
  const std::vector<Sums> sums = find_sums<T>(points, adders, pool);
  std::vector<ColumnSummary> result;
  for (size_t j = 0; j < ranges.size(); ++j) result.push_back(summarise(ranges[j], sums[j], adders[j], points.n));
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
    return points.type == DataType::kFloat64 ? summarise<double>(points, pool) : summarise<float>(points, pool);
  });
}

}  // namespace manymeans
