#include "engine/inertia_estimate.h"

#include "core/data_type.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace manymeans {
namespace {

constexpr int64_t kSampleRows = 1000;
// Roundings of two sums of this size stay below it by far; what is smaller is not shown.
constexpr double kLeastShare = 1e-12;

std::vector<double> mean_of_sample(const Input& input) {
  const PointsView& points = input.points;
  const auto d = static_cast<size_t>(points.d);
  std::vector<double> mean(d), space(d);
  const int64_t count = std::min(points.n, kSampleRows);
  for (int64_t i = 0; i < count; ++i) {
    const double* x = rows_as<double>(points, i * points.n / count, 1, space.data());
    for (size_t j = 0; j < d; ++j) mean[j] += x[j] / static_cast<double>(count);
    input.memory.window.visited(i * points.n / count);
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

template <class T>
double sum_about(const Input& input, const std::vector<double>& centre, ThreadPool& pool) {
  const PointsView& points = input.points;
  const int64_t rows_per_piece = std::max<int64_t>(1, 16384 / points.d);
  std::vector<double> sums(static_cast<size_t>(pool.size()));
  for_each_row_range(input.memory.window, pool, points.n, rows_per_piece, [&](int worker, int64_t first, int64_t last) {
    std::vector<T> space(points.type == prototype_type(points.type) ? 0
                                                                    : static_cast<size_t>((last - first) * points.d));
    const T* x = rows_as<T>(points, first, last - first, space.data());
    const double* weights = input.weights.empty() ? nullptr : input.weights.data() + first;
    sums[static_cast<size_t>(worker)] += squares_about(x, last - first, weights, centre);
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace

InertiaEstimate::InertiaEstimate(const Input& input, ThreadPool& pool) : input_(input), centre_(mean_of_sample(input)) {
  about_centre_ = input.points.type == DataType::kFloat64 ? sum_about<double>(input, centre_, pool)
                                                          : sum_about<float>(input, centre_, pool);
}

double InertiaEstimate::of(const Statistics& statistics, const Matrix& prototypes) const {
  const int64_t d = statistics.d;
  double moved = 0;
  for (int64_t k = 0; k < statistics.k; ++k) {
    const int64_t integer = statistics.weights[static_cast<size_t>(k)];
    if (integer == 0) continue;
    const double weight = std::ldexp(static_cast<double>(integer), -input_.weight_shift);
    for (int64_t j = 0; j < d; ++j) {
      const SumFormat& format = input_.columns[static_cast<size_t>(j)];
      const double m = centre_[static_cast<size_t>(j)];
      const double sum = std::ldexp(rounded_sum(statistics.row(k) + j, format, d), -format.shift) - weight * m;
      const double c = prototypes.at(k, j) - m;
      moved += c * (weight * c - 2 * sum);
    }
  }
  const double estimate = about_centre_ + moved;
  return estimate >= kLeastShare * about_centre_ ? estimate : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace manymeans
