#include "prototype/centroid.h"

#include <manymeans/error.h>

#include "core/data_type.h"
#include "data/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace manymeans {
namespace {

template <class T>
void solve_rows(const Statistics& statistics, const Input& input, std::span<const T> old, std::span<T> out,
                int64_t first, int64_t last) {
  const int64_t d = statistics.d;
  for (int64_t k = first; k < last; ++k) {
    const int64_t weight = statistics.weights[static_cast<size_t>(k)];
    if (weight == 0) {
      std::copy_n(old.data() + k * d, d, out.data() + k * d);
      continue;
    }
    const auto divisor = static_cast<double>(weight);
    for (int64_t j = 0; j < d; ++j) {
      const SumFormat& format = input.columns[static_cast<size_t>(j)];
      const double quotient = rounded_sum(statistics.row(k) + j, format, d) / divisor;
      out[static_cast<size_t>(k * d + j)] =
          static_cast<T>(std::ldexp(quotient, input.weight_shift - format.shift)) + T{0};  // + 0: no negative zeros
    }
  }
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

Matrix solve_centroids(const Statistics& statistics, const Input& input, const Matrix& old, ThreadPool& pool) {
  Matrix result(statistics.k, statistics.d, old.type());
  const int64_t grain = std::max<int64_t>(1, 16384 / statistics.d);  // about 0.2 ms of work
  const auto solve = [&](int, int64_t first, int64_t last) {
    if (old.type() == DataType::kFloat64) {
      solve_rows(statistics, input, old.values<double>(), result.values<double>(), first, last);
    } else {
      solve_rows(statistics, input, old.values<float>(), result.values<float>(), first, last);
    }
  };
  if (statistics.k <= grain) {
    solve(0, 0, statistics.k);
  } else {
    pool.for_each_range(statistics.k, grain, solve);
  }
  return result;
}

Matrix make_prototypes(const PointsView& rows, DataType type) {
  await_points(rows);
  Matrix result(rows.n, rows.d, type);
  if (type == DataType::kFloat64) {
    round_rows(rows, result.values<double>());
  } else {
    round_rows(rows, result.values<float>());
  }
  return result;
}

double largest_magnitude(const Matrix& prototypes) {
  double largest = 0;
  for (int64_t k = 0; k < prototypes.rows(); ++k) {
    for (int64_t j = 0; j < prototypes.columns(); ++j) largest = std::max(largest, std::fabs(prototypes.at(k, j)));
  }
  return largest;
}

Matrix keep_prototypes(const Matrix& old, std::span<const int64_t> kept) {
  return gather_rows(old.view(), kept);
}

}  // namespace manymeans
