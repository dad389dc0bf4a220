#include "backend/cpu/pass/cpu_distances.h"

#include <limits>

namespace manymeans {

// The hardware does not foresee rows that lie far apart. Without this, waiting for rows that change took three quarters
// of the time of their sums (16 models of 200k x 16), and seeding took 1.1 times as long.
void CpuDistances::prefetch_row(int64_t row) const {
  constexpr int64_t kLine = 64;
  constexpr int64_t kMaxLines = 8;  // the hardware follows from there
  const PointsView& points = shared_.input.points;
  const auto bytes = points.d * static_cast<int64_t>(size_of(points.type));
  const char* first = static_cast<const char*>(points.data) + row * bytes;
  for (int64_t at = 0; at < std::min(bytes, kMaxLines * kLine); at += kLine) __builtin_prefetch(first + at);
}

void CpuDistances::find_distances(const Matrix& prototypes, const LabelledBlock& rows, std::vector<float>& wide,
                                  double* d2) const {
  const PointsView& points = shared_.input.points;
  const int64_t d = points.d, k = prototypes.rows();
  if (points.type == DataType::kFloat64) {
    const double* x = static_cast<const double*>(points.data) + rows.first * d;
    shared_.kernels.distances_f64({x, rows.count, d, prototypes.values<double>().data(), k, rows.labels}, d2);
    return;
  }
  if (points.type != DataType::kFloat32) wide.resize(static_cast<size_t>(rows.count * d));
  const float* x = rows_as<float>(points, rows.first, rows.count, wide.data());
  shared_.kernels.distances_f32({x, rows.count, d, prototypes.values<float>().data(), k, rows.labels}, d2);
}

void CpuDistances::find_residuals(const Matrix& models, const LabelledBlock& rows, std::vector<float>& wide,
                                  double* d2) const {
  const PointsView& points = shared_.input.points;
  const int64_t d = points.d, k = models.rows();
  if (points.type == DataType::kFloat64) {
    const double* x = static_cast<const double*>(points.data) + rows.first * d;
    shared_.kernels.all_residuals_f64({x, rows.count, d, models.values<double>().data(), k, nullptr}, d2);
    return;
  }
  if (points.type != DataType::kFloat32) wide.resize(static_cast<size_t>(rows.count * d));
  const float* x = rows_as<float>(points, rows.first, rows.count, wide.data());
  shared_.kernels.all_residuals_f32({x, rows.count, d, models.values<float>().data(), k, nullptr}, d2);
}

void CpuDistances::find_nearest(const Matrix& prototypes, int64_t first, int64_t count, std::vector<float>& wide,
                                uint32_t* labels) const {
  if (!shared_.prototype.euclidean) {
    find_nearest_others(prototypes, first, count, wide, labels);
    return;
  }
  for (int64_t i = 0; i < count; ++i) labels[i] = nearest_of_all(prototypes, first + i, wide);
}

// The functions of a kind of prototype other than the centroid find the labels, some rows a call.
void CpuDistances::find_nearest_others(const Matrix& prototypes, int64_t first, int64_t count, std::vector<float>& wide,
                                       uint32_t* labels) const {
  constexpr int64_t kRows = 64;
  const PointsView& points = shared_.input.points;
  const Prototype& prototype = shared_.prototype;
  const int64_t k = prototypes.rows();
  wide.resize(static_cast<size_t>(kRows * points.d));
  for (int64_t done = 0; done < count; done += kRows) {
    const int64_t row = first + done;
    const int64_t some = std::min(kRows, count - done);
    if (points.type == DataType::kFloat64) {
      const double* x = static_cast<const double*>(points.data) + row * points.d;
      prototype.f64.nearest({x, some, points.d}, prototypes.values<double>().data(), k, labels + done);
    } else {
      const float* x = rows_as<float>(points, row, some, wide.data());
      prototype.f32.nearest({x, some, points.d}, prototypes.values<float>().data(), k, labels + done);
    }
  }
}

uint32_t CpuDistances::nearest_of_all(const Matrix& prototypes, int64_t row, std::vector<float>& wide) const {
  uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t k = 0; k < prototypes.rows(); ++k) {
    const double d2 = distance(row, prototypes, k, wide);
    if (d2 < least) {
      least = d2;
      best = static_cast<uint32_t>(k);
    }
  }
  return best;
}

}  // namespace manymeans
