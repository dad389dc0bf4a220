// Kernels of linear models: labels by every canonical residual, sums of the rows that changed, questions about rows.
// All of them are asynchronous. device/linear_rows.h defines the results of a row.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/pass_ranges.h"
#include "backend/cuda/device/term_splitter.h"
#include "backend/cuda/exact/accumulate.h"
#include "backend/cuda/queries/assigned_distances.h"
#include "backend/device/linear_rows.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

/// k x d in device memory: d - 1 coefficients and an intercept.
struct LinearModels {
  const void* values = nullptr;
  int64_t k = 0;
  bool float64 = false;
};

/// Writes the label of every row for every range into `next`, and counts the rows as resolved.
void label_by_residuals(const DevicePoints& points, const PassRanges& ranges, const LabelRows& next,
                        cudaStream_t stream);
/// least[i] = the min squared residual of row i and, unless `first`, the former least[i].
void lower_by_residuals(const DevicePoints& points, const LinearModels& models, bool first, double* least,
                        cudaStream_t stream);
/// The two nearest of two models or more to every row.
void find_two_nearest(const DevicePoints& points, const LinearModels& models, TwoNearest* out, cudaStream_t stream);

/// Sums of linear models. The task's `terms` are not read.
struct ProductTask {
  AccumulateTask rows;
  device::ProductFormats formats;
  bool rests = true;  ///< rests of products may be other than 0
};
/// Adds the rows that entered a cluster and subtracts the rows that left, by way of rows.order. Counts changes and
/// brings rows.current up to date.
void accumulate_products(const ProductTask& task, int multiprocessors, cudaStream_t stream);
/// Adds the first row of the task's points to a cluster's statistics, or subtracts it for sign = -1.
void accumulate_products_of_row(const ProductTask& task, const PassRange& range, uint32_t cluster, int sign,
                                cudaStream_t stream);

/// sum_terms(), find_distances() and find_all_distances() (queries/assigned_distances.h) with squared residuals.
void sum_residuals(const AssignedRows& rows, const TermSplitter& a, const TermSplitter& b, int64_t* sums,
                   cudaStream_t stream);
void find_residuals(const AssignedRows& rows, bool eligible, double* out, cudaStream_t stream);
void find_all_residuals(const DevicePoints& points, const LinearModels& models, void* out, cudaStream_t stream);
/// Adds the limbs of the terms of min(least, squared residual) to sums (k, kDistanceLimbs), for each candidate.
struct PotentialTask {
  DevicePoints points;
  LinearModels candidates;
  const double* least = nullptr;
  TermSplitter splitter;
  int64_t* sums = nullptr;
};
void add_potentials(const PotentialTask& task, cudaStream_t stream);

}  // namespace manymeans::cuda
