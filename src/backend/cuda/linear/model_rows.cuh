// Rows and linear models as kernels read them.
#pragma once

#include "backend/cuda/device/point_value.cuh"
#include "backend/cuda/linear/linear_kernels.h"
#include "backend/device/linear_rows.h"

#include <cstdint>

namespace manymeans::cuda {

/// Value j of a row: a feature or, the last, its target.
struct RowValues {
  const DevicePoints& points;
  int64_t at;

  __host__ __device__ RowValues(const DevicePoints& of, int64_t row) : points(of), at(row * of.d) {}
  __host__ __device__ __forceinline__ double operator()(int j) const { return load_double(points, at + j); }
};

/// The features of a row in registers, and zeros where it has fewer.
template <int F>
struct FewValues {
  double value[F];

  __device__ __forceinline__ FewValues(const RowValues& row, int features) {
#pragma unroll
    for (int j = 0; j < F; ++j) value[j] = F < device::kPaddedFeatures || j < features ? row(j) : 0;
  }
  __host__ __device__ __forceinline__ double operator()(int j) const { return value[j]; }
};

/// Value j of a model: a coefficient or, the last, the intercept.
struct ModelValues {
  const LinearModels& models;
  int64_t at;

  __host__ __device__ ModelValues(const LinearModels& of, int64_t model, int64_t d) : models(of), at(model * d) {}
  __host__ __device__ __forceinline__ double operator()(int64_t j) const {
    return models.float64 ? static_cast<const double*>(models.values)[at + j]
                          : static_cast<double>(static_cast<const float*>(models.values)[at + j]);
  }
};

/// The squared residual of a row and a model, by one thread.
__device__ __forceinline__ double residual_of(const DevicePoints& points, int64_t row, const LinearModels& models,
                                              int64_t model) {
  return device::squared_residual(RowValues(points, row), ModelValues(models, model, points.d),
                                  static_cast<int>(points.d) - 1);
}

}  // namespace manymeans::cuda
