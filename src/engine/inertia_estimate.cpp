#include "engine/inertia_estimate.h"

#include "core/sparse_rows.h"
#include "data/gather.h"
#include "data/row_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace manymeans {
namespace {

constexpr int64_t kSampleRows = 1000;
// Roundings of two sums of this size stay below it by far; what is smaller is not shown.
constexpr double kMinShare = 1e-12;

std::vector<double> mean_of_sample(const Input& input) {
  if (is_sparse(input.points)) return std::vector<double>(static_cast<size_t>(input.points.d));
  const int64_t count = std::min(input.shard.all, kSampleRows);
  const Matrix sample = gather_from_all(input, spread_rows(input.shard.all, count));
  std::vector<double> mean(static_cast<size_t>(input.points.d));
  for (int64_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < mean.size(); ++j) {
      mean[j] += sample.at(i, static_cast<int64_t>(j)) / static_cast<double>(count);
    }
  }
  return mean;
}

template <class T>
double squares_about(const T* x, int64_t rows, const double* weights, const std::vector<double>& centre) {
  double sum = 0;
  for (int64_t i = 0; i < rows; ++i) {
    double square = 0;
    for (const double m : centre) {
      const double t = static_cast<double>(*x++) - m;
      square += t * t;
    }
    sum += weights == nullptr ? square : weights[i] * square;
  }
  return sum;
}

// Returns the squares of sparse rows, about zero.
double squares_of_sparse(const Input& input) {
  const SparseView& view = sparse_view(input.points);
  return as_sparse_types(view, [&]<class T, class Index>(T, Index) {
    double sum = 0;
    for (int64_t row = 0; row < view.n; ++row) {
      const SparseRow<T, Index> x = sparse_row<T, Index>(view, row);
      double square = 0;
      for (int64_t i = 0; i < x.count; ++i)
        square += static_cast<double>(x.values[i]) * static_cast<double>(x.values[i]);
      sum += input.weight(row) * square;
    }
    return sum;
  });
}

template <class T>
double own_sum_about(const Input& input, const std::vector<double>& centre, ThreadPool& pool) {
  std::vector<double> sums(static_cast<size_t>(pool.size()));
  for_each_block<T>(input.host_points(), input.memory.window, pool,
                    [&](int worker, int64_t first, int64_t rows, const T* x) {
                      const double* weights = input.weights.empty() ? nullptr : input.weights.data() + first;
                      sums[static_cast<size_t>(worker)] += squares_about(x, rows, weights, centre);
                    });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

double sum_about(const Input& input, const std::vector<double>& centre, ThreadPool& pool) {
  const double own =
      is_sparse(input.points)
          ? squares_of_sparse(input)
          : as_float_type(input.points.type, [&]<class T>(T) { return own_sum_about<T>(input, centre, pool); });
  double total = 0;
  for (const double sum : input.comm->gather_flat(std::span<const double>(&own, 1))) total += sum;
  return total;
}

}  // namespace

InertiaEstimate::InertiaEstimate(const Input& input, ThreadPool& pool) : input_(input), centre_(mean_of_sample(input)) {
  about_centre_ = sum_about(input, centre_, pool);
}

double InertiaEstimate::of(const Statistics& statistics, const Matrix& prototypes) const {
  const int64_t d = statistics.d;
  double change = 0;  // against all prototypes at the centre
  for (int64_t k = 0; k < statistics.k; ++k) {
    const int64_t integer = statistics.weights[static_cast<size_t>(k)];
    if (integer == 0) continue;
    const double weight = std::ldexp(static_cast<double>(integer), -input_.weight_shift);
    for (int64_t j = 0; j < d; ++j) {
      const SumFormat& format = input_.columns[static_cast<size_t>(j)];
      const double m = centre_[static_cast<size_t>(j)];
      const double sum = std::ldexp(rounded_sum(statistics.row(k) + j, format, d), -format.shift) - weight * m;
      const double c = prototypes.at(k, j) - m;
      change += c * (weight * c - 2 * sum);
    }
  }
  const double estimate = about_centre_ + change;
  if (!(estimate >= kMinShare * about_centre_)) return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(estimate, input_.weight_exponent);
}

}  // namespace manymeans
