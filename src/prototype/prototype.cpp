#include "prototype/prototype.h"

#include <manymeans/error.h>

#include "core/column_scan.h"
#include "core/data_type.h"
#include "data/gather.h"
#include "data/row_blocks.h"
#include "prototype/centroid.h"
#include "prototype/linear_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace manymeans {
namespace {

// Scans the weighted terms of all rows.
template <class T>
ColumnScan scan_terms(const Input& input, const Prototype& prototype, ThreadPool& pool) {
  const int64_t terms = prototype.terms(input.points.d);
  std::vector<ColumnScan> scans(static_cast<size_t>(pool.size()), ColumnScan(terms));
  std::vector<std::vector<double>> values(static_cast<size_t>(pool.size()));
  for_each_block<T>(input.host_points(), input.memory.window, pool,
                    [&](int worker, int64_t row, int64_t rows, const T* x) {
                      std::vector<double>& mine = values[static_cast<size_t>(worker)];
                      mine.resize(static_cast<size_t>(rows * terms));
                      const double* weights = input.weights.empty() ? nullptr : input.weights.data() + row;
                      prototype.rows<T>().terms({x, rows, input.points.d}, weights, mine.data());
                      scan_values(mine.data(), rows, nullptr, scans[static_cast<size_t>(worker)]);
                    });
  for (size_t i = 1; i < scans.size(); ++i) scans[0].merge(scans[i]);
  for (size_t j = 0; j < scans[0].low.size(); ++j) {
    scans[0].largest[j] = std::max(std::fabs(scans[0].minimum[j]), std::fabs(scans[0].maximum[j]));
  }
  return std::move(scans[0]);
}

// Scans the columns without weights.
template <class T>
ColumnScan scan_columns(const Input& input, ThreadPool& pool) {
  std::vector<ColumnScan> scans(static_cast<size_t>(pool.size()), ColumnScan(input.points.d));
  for_each_block<T>(input.host_points(), input.memory.window, pool, [&](int worker, int64_t, int64_t rows, const T* x) {
    std::vector<double> wide(x, x + rows * input.points.d);
    scan_values(wide.data(), rows, nullptr, scans[static_cast<size_t>(worker)]);
  });
  for (size_t i = 1; i < scans.size(); ++i) scans[0].merge(scans[i]);
  return std::move(scans[0]);
}

// Returns the scan of points without weights, which is known already.
ColumnScan columns_of(const Input& input) {
  ColumnScan columns(input.points.d);
  for (size_t j = 0; j < columns.low.size(); ++j) {
    columns.minimum[j] = input.minimum[j];
    columns.maximum[j] = input.maximum[j];
    if (input.minimum[j] != 0 || input.maximum[j] != 0) columns.low[j] = std::ldexp(1.0, input.lowest[j]);
  }
  return columns;
}

struct MovedPrototypes {
  const Matrix& before;
  const Matrix& after;
  double* d2;
};

template <class T>
RowBlock<T> all_rows(const Matrix& matrix) {
  return {matrix.values<T>().data(), matrix.rows(), matrix.columns()};
}

// Of prototypes first .. last - 1.
template <class T>
void squared_shifts_of(const Prototype& prototype, const MovedPrototypes& moved, int64_t first, int64_t last) {
  const int64_t width = moved.before.columns();
  prototype.rows<T>().shifts({moved.before.values<T>().data() + first * width, last - first, width},
                             moved.after.values<T>().data() + first * width, moved.d2 + first);
}

// 2^(weight_shift - shift) of every term: see ClusterSums.
std::vector<double> powers_of_terms(const Input& input) {
  std::vector<double> powers;
  for (const SumFormat& format : input.columns) {
    const double power = std::ldexp(1.0, input.weight_shift - format.shift);
    powers.push_back(std::isnormal(power) ? power : 0);
  }
  return powers;
}

// Calls body(first, last) for ranges of prototypes, on several threads where that pays.
constexpr int64_t kSlowValues = 32768;  // as many as take about 0.1 ms
template <class Body>
void for_prototypes(int64_t k, int64_t values, ThreadPool* pool, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, kSlowValues / values);
  if (pool == nullptr || k <= grain) return body(0, k);
  pool->for_each_range(k, grain, [&](int, int64_t first, int64_t last) { body(first, last); });
}

template <class T>
void round_rows(const PointsView& rows, std::span<T> out) {
  std::vector<double> wide(static_cast<size_t>(rows.d));
  std::vector<std::byte> fetched;
  const std::byte* bytes = row_bytes(rows, 0, rows.n, fetched);
  for (int64_t i = 0; i < rows.n; ++i) {
    widen(bytes, rows.type, i * rows.d, rows.d, wide.data());
    for (int64_t j = 0; j < rows.d; ++j) {
      const T value = static_cast<T>(wide[static_cast<size_t>(j)]) + T{0};
      if (!std::isfinite(value) || std::fabs(static_cast<double>(value)) > kMaxMagnitude) {
        throw Error(ErrorCode::kBadData, "initial prototypes",
                    fmt::format("row {}, column {} is {}; prototypes must be finite, and below 3.3e150", i + 1, j + 1,
                                wide[static_cast<size_t>(j)]));
      }
      out[static_cast<size_t>(i * rows.d + j)] = value;
    }
  }
}

}  // namespace

const Prototype& prototype_of(const Input& input) {
  return input.prototype == nullptr ? centroid() : *input.prototype;
}

void use_prototype(Input& input, const Prototype& prototype, ThreadPool& pool) {
  input.prototype = &prototype;
  if (prototype.euclidean) return;
  const auto scan = [&](auto&& of_rows) {
    ColumnScan found = as_float_type(input.points.type, of_rows);
    found.merge_ranks(*input.comm);
    return found;
  };
  if (!prototype.linear) {
    set_sum_formats(input, scan([&]<class T>(T) { return scan_terms<T>(input, prototype, pool); }));
  } else if (input.weighted) {
    set_sum_formats(input, product_bounds(input, scan([&]<class T>(T) { return scan_columns<T>(input, pool); })));
  } else {
    set_sum_formats(input, product_bounds(input, columns_of(input)));
  }
}

Matrix solve_prototypes(const Statistics& statistics, const Input& input, const Matrix& old, ThreadPool& pool) {
  const Prototype& prototype = prototype_of(input);
  Matrix result(statistics.k, old.columns(), old.type());
  const std::vector<double> powers = powers_of_terms(input);
  const SolveTask task{statistics, input, old, powers};
  // A solve in exact numbers takes its share of a millisecond, a division next to nothing.
  for_prototypes(statistics.k, prototype.linear ? kSlowValues : statistics.d, &pool,
                 [&](int64_t first, int64_t last) { prototype.solve(task, first, last, result); });
  return result;
}

Matrix prototypes_at(const Input& input, std::span<const int64_t> rows) {
  const Matrix gathered = gather_from_all(input, rows);
  const Prototype& prototype = prototype_of(input);
  if (prototype.euclidean) return gathered;
  Matrix result(gathered.rows(), prototype.width(gathered.columns()), gathered.type());
  as_float_type(result.type(), [&]<class T>(T) {
    prototype.rows<T>().prototypes_of(all_rows<T>(gathered), result.values<T>().data());
  });
  return result;
}

std::vector<double> squared_shifts(const Prototype& prototype, const Matrix& before, const Matrix& after,
                                   ThreadPool* pool) {
  std::vector<double> d2(static_cast<size_t>(before.rows()));
  const MovedPrototypes moved{before, after, d2.data()};
  for_prototypes(before.rows(), before.columns(), pool, [&](int64_t first, int64_t last) {
    as_float_type(before.type(), [&]<class T>(T) { squared_shifts_of<T>(prototype, moved, first, last); });
  });
  return d2;
}

Matrix make_prototypes(const PointsView& rows, DataType type) {
  await_points(rows);
  Matrix result(rows.n, rows.d, type);
  as_float_type(type, [&]<class T>(T) { round_rows(rows, result.values<T>()); });
  return result;
}

double largest_magnitude(const Matrix& prototypes) {
  return as_float_type(prototypes.type(), [&]<class T>(T) {
    T largest = 0;
    for (const T value : prototypes.values<T>()) largest = std::max(largest, std::fabs(value));
    return static_cast<double>(largest);
  });
}

Matrix keep_prototypes(const Matrix& old, std::span<const int64_t> kept) {
  return gather_rows(old.view(), kept);
}

}  // namespace manymeans
