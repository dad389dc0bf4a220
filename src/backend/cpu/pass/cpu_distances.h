// Canonical distances of rows to prototypes. Labels depend on nothing else.
#pragma once

#include "backend/cpu/pass/cpu_shared.h"
#include "core/data_type.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace manymeans {

/// Neighbouring rows and their labels.
struct LabelledBlock {
  int64_t first = 0;
  int64_t count = 0;
  const uint32_t* labels = nullptr;
};

/// Reads rows of an upload and computes their distances. Owns nothing. `wide` holds rows of narrow types in float32; a
/// single row needs room for D values, and functions of several rows make room.
class CpuDistances {
 public:
  explicit CpuDistances(const CpuShared& shared) : shared_(shared) {}

  const float* row_f32(int64_t row, std::vector<float>& wide) const {
    return rows_as<float>(shared_.input.points, row, 1, wide.data());
  }
  double distance(int64_t row, const Matrix& prototypes, int64_t k, std::vector<float>& wide) const {
    const int64_t d = shared_.input.points.d;
    if (prototypes.type() == DataType::kFloat64) {
      const double* x = static_cast<const double*>(shared_.input.points.data) + row * d;
      return shared_.kernels.distance_f64(x, prototypes.values<double>().data() + k * prototypes.columns(), d);
    }
    const float* prototype = prototypes.values<float>().data() + k * prototypes.columns();
    return shared_.kernels.distance_f32(row_f32(row, wide), prototype, d);
  }
  /// Not inline: GCC takes a function that only prefetches for a pure one and drops its calls.
  void prefetch_row(int64_t row) const;

  /// Distances of the rows to the prototypes of their labels.
  void find_distances(const Matrix& prototypes, const LabelledBlock& rows, std::vector<float>& wide, double* d2) const;
  /// Distances to every linear model, d2[k * count + i]. The rows need no labels.
  void find_residuals(const Matrix& models, const LabelledBlock& rows, std::vector<float>& wide, double* d2) const;
  /// The nearest prototype of every row, whose distances to all prototypes are computed.
  void find_nearest(const Matrix& prototypes, int64_t first, int64_t count, std::vector<float>& wide,
                    uint32_t* labels) const;

 private:
  uint32_t nearest_of_all(const Matrix& prototypes, int64_t row, std::vector<float>& wide) const;
  void find_nearest_others(const Matrix& prototypes, int64_t first, int64_t count, std::vector<float>& wide,
                           uint32_t* labels) const;

  const CpuShared& shared_;
};

}  // namespace manymeans
