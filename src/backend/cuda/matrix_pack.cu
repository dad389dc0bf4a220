#include "backend/cuda/device_memory.h"
#include "backend/cuda/matrix_bounds.h"
#include "backend/cuda/matrix_pack.h"
#include "backend/cuda/pass_device.cuh"
#include "backend/cuda/point_value.cuh"

#include <cuda_fp16.h>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr double kMostHalf = 65504;
constexpr double kMostNorm = 0x1p62;  // the square stays below 2^126, within float32

__device__ double warp_sum(double v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(~0U, v, step);
  return v;
}

// |y| and |y - y~| of a vector that a warp rounds.
struct Norms {
  double norm = 0, rest = 0;

  __device__ __half round(double y) {
    const double clamped = fmin(fmax(y, -kMostHalf), kMostHalf);
    const __half half = __double2half(clamped);
    const double off = y - static_cast<double>(__half2float(half));
    norm = fma(y, y, norm);
    rest = fma(off, off, rest);
    return half;
  }
  // Upper bounds; D 2^-53 of the squares' sums is far below the factor, and the last term covers underflow.
  __device__ void finish() {
    norm = sqrt(warp_sum(norm)) * (1 + 0x1p-20) + 0x1p-70;
    rest = sqrt(warp_sum(rest)) * (1 + 0x1p-20) + norm * 0x1p-50;
  }
};

// A warp a row.
__global__ void rows_kernel(DevicePoints points, HalfFrame frame, PackedRows rows) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (row >= rows.padded_rows) return;
  auto* values = static_cast<__half*>(const_cast<void*>(rows.values)) + row * rows.padded_columns;
  Norms norms;
  for (int64_t j = threadIdx.x % 32; j < rows.padded_columns; j += 32) {
    double y = 0;
    if (row < points.n && j < points.d) {
      y = (load_double(points, row * points.d + j) - frame.centre[j]) * frame.scale;
    }
    values[j] = norms.round(y);
  }
  norms.finish();
  if (threadIdx.x % 32 != 0) return;
  const double radius = fmax(norms.rest, frame.ratio * norms.norm * (1 + 0x1p-50));
  const_cast<float*>(rows.radii)[row] = __double2float_ru(radius);
  const_cast<float*>(rows.norms)[row] = __double2float_ru(norms.norm);
}

// A warp a column; blockIdx.y is the range.
__global__ void columns_kernel(MatrixPackTask task) {
  if (stopped(task.ranges)) return;
  const PassRange range = task.ranges.at[blockIdx.y];
  const ColumnRange place = task.columns.ranges[blockIdx.y];
  const int64_t k = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (k >= place.count) return;
  const int64_t column = place.first + k;
  auto* values = static_cast<__half*>(const_cast<void*>(task.columns.values)) + column * task.padded_columns;
  Norms norms;
  for (int64_t j = threadIdx.x % 32; j < task.padded_columns; j += 32) {
    double z = 0;
    if (k < range.k && j < task.d) {
      z = (prototype_value(range, task.ranges.float64, k * task.d + j) - task.frame.centre[j]) * task.frame.scale;
    }
    values[j] = norms.round(z);
  }
  const double square = warp_sum(norms.norm);
  norms.finish();
  if (threadIdx.x % 32 != 0) return;
  float offset = kNeverWins;
  MatrixBound bound{0, 0};
  const bool screenable = norms.norm < kMostNorm;  // false for NaN
  if (k < range.k && screenable) {
    offset = __double2float_rn(-square / 2);
    bound = matrix_bound(norms.norm, norms.rest, task.d, task.frame.ratio);
  }
  if (!screenable) task.far[blockIdx.y] = 1;
  const_cast<float*>(task.columns.offsets)[column] = offset;
  const_cast<float*>(task.columns.slopes)[column] = __double2float_ru(bound.slope * task.bound_scale);
  const_cast<float*>(task.columns.errors)[column] = __double2float_ru(bound.error * task.bound_scale);
  const_cast<uint32_t*>(task.columns.order)[column] = k < range.k ? static_cast<uint32_t>(k) : ~0U;
}

}  // namespace

void pack_rows(const DevicePoints& points, const HalfFrame& frame, const PackedRows& rows, cudaStream_t stream) {
  rows_kernel<<<static_cast<unsigned>((rows.padded_rows + kWarps - 1) / kWarps), kThreads, 0, stream>>>(points, frame,
                                                                                                        rows);
  check_launch("packing the points");
}

void pack_matrix_columns(const MatrixPackTask& task, cudaStream_t stream) {
  const int64_t most = task.ranges.most_clusters + task.columns.tile_columns;
  const dim3 grid(static_cast<unsigned>((most + kWarps - 1) / kWarps), static_cast<unsigned>(task.ranges.count));
  columns_kernel<<<grid, kThreads, 0, stream>>>(task);
  check_launch("packing prototypes");
}

}  // namespace manymeans::cuda
