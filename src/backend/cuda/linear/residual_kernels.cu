// Residuals of rows to the models of their labels, to all models and to candidates; a thread a row.
#include "backend/cuda/device/limbs.cuh"
#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/linear/linear_kernels.h"
#include "backend/cuda/linear/model_rows.cuh"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/launch.h"

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kLimbs = kDistanceLimbs;

__device__ __forceinline__ int64_t first_item() {
  return static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}
__device__ __forceinline__ int64_t item_step() {
  return static_cast<int64_t>(gridDim.x) * kThreads;
}

__device__ __forceinline__ double assigned_residual(const AssignedRows& rows, int64_t row) {
  const LinearModels models{rows.prototypes, 0, rows.points.type == DataType::kFloat64};
  return residual_of(rows.points, row, models, load_label(rows.labels, 0, row));
}

__device__ __forceinline__ double weight_of(const DevicePoints& points, int64_t row) {
  return points.weights == nullptr ? 1.0 : points.weights[row];
}

// sums: limbs in the first format, limbs in the second, bits of the largest d2 with w' > 0.
__global__ void __launch_bounds__(kThreads)
    residual_sum_kernel(AssignedRows rows, TermSplitter a, TermSplitter b, int64_t* sums) {
  __shared__ int64_t scratch[kLimbs * 32];
  int64_t first_sum[kLimbs] = {};
  int64_t second_sum[kLimbs] = {};
  double farthest = 0;
  for (int64_t i = first_item(); i < rows.count; i += item_step()) {
    const double weight = weight_of(rows.points, i * rows.step);
    if (!(weight > 0)) continue;  // its term is 0
    const double d2 = assigned_residual(rows, i * rows.step);
    farthest = fmax(farthest, d2);
    const double v = __dmul_rn(weight, d2);
    add_limbs(a, v, 1, first_sum);
    add_limbs(b, v, 1, second_sum);
  }
  block_add(first_sum, sums, scratch);
  block_add(second_sum, sums + kLimbs, scratch);
  // Numbers that are not negative are in the order of their bits.
  atomicMax(reinterpret_cast<unsigned long long*>(sums + 2 * kLimbs),
            static_cast<unsigned long long>(__double_as_longlong(farthest)));
}

// out[i] = d2 of row i; rows that farthest_rows() shall not see get 0 if `eligible`.
__global__ void __launch_bounds__(kThreads) residual_kernel(AssignedRows rows, bool eligible, double* out) {
  for (int64_t row = first_item(); row < rows.count; row += item_step()) {
    const bool counts = !eligible || weight_of(rows.points, row) > 0;
    out[row] = counts ? assigned_residual(rows, row) : 0;
  }
}

// out[i] = the distance of row i / k to model i % k.
__global__ void __launch_bounds__(kThreads) all_residuals_kernel(DevicePoints points, LinearModels models, void* out) {
  for (int64_t i = first_item(); i < points.n * models.k; i += item_step()) {
    const double root = __dsqrt_rn(residual_of(points, i / models.k, models, i % models.k));
    if (models.float64) {
      static_cast<double*>(out)[i] = root;
    } else {
      static_cast<float*>(out)[i] = __double2float_rn(root);
    }
  }
}

// blockIdx.y is the candidate.
__global__ void __launch_bounds__(kThreads) potential_kernel(PotentialTask task) {
  __shared__ int64_t scratch[kLimbs * 32];
  const DevicePoints& points = task.points;
  int64_t limbs[kLimbs] = {};
  for (int64_t row = first_item(); row < points.n; row += item_step()) {
    const double d2 = fmin(task.least[row], residual_of(points, row, task.candidates, blockIdx.y));
    add_limbs(task.splitter, __dmul_rn(weight_of(points, row), d2), 1, limbs);
  }
  block_add(limbs, task.sums + blockIdx.y * kLimbs, scratch);
}

}  // namespace

void sum_residuals(const AssignedRows& rows, const TermSplitter& a, const TermSplitter& b, int64_t* sums,
                   cudaStream_t stream) {
  residual_sum_kernel<<<grid_for(rows.count, kThreads), kThreads, 0, stream>>>(rows, a, b, sums);
  check_launch("summing residuals");
}

void find_residuals(const AssignedRows& rows, bool eligible, double* out, cudaStream_t stream) {
  residual_kernel<<<grid_for(rows.count, kThreads), kThreads, 0, stream>>>(rows, eligible, out);
  check_launch("computing residuals");
}

void find_all_residuals(const DevicePoints& points, const LinearModels& models, void* out, cudaStream_t stream) {
  all_residuals_kernel<<<grid_for(points.n * models.k, kThreads), kThreads, 0, stream>>>(points, models, out);
  check_launch("computing residuals of all models");
}

void add_potentials(const PotentialTask& task, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(grid_for(task.points.n, kThreads)), static_cast<unsigned>(task.candidates.k));
  potential_kernel<<<grid, kThreads, 0, stream>>>(task);
  check_launch("adding up potentials");
}

}  // namespace manymeans::cuda
