#include "backend/cuda/device_memory.h"
#include "backend/cuda/pack_column.cuh"
#include "backend/cuda/point_value.cuh"

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

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
  norms.add_up_warp();
  if (threadIdx.x % 32 != 0) return;
  norms.finish();
  const double radius = fmax(norms.rest, frame.ratio * norms.norm * (1 + 0x1p-50));
  const_cast<float*>(rows.radii)[row] = __double2float_ru(radius);
  const_cast<float*>(rows.norms)[row] = __double2float_ru(norms.norm);
}

// A warp a column; blockIdx.y is the range.
__global__ void columns_kernel(MatrixPackTask task) {
  if (stopped(task.ranges)) return;
  const int64_t k = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (k >= task.columns.ranges[blockIdx.y].count) return;
  pack_column(task, blockIdx.y, k);
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
