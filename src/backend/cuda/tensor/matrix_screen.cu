// The screen in the device's matrix units: terms of the tiles, the kernels, and the second look. Rows with more
// possible columns than fit into a list entry get it: they are copied together. They go through the same kernels once
// more, with another epilogue that notes all columns. Proof: docs/developer/screens.md, "Tensor cores". Interface:
// matrix_screen.h.
#include <manymeans/error.h>

#include "backend/cuda/runtime/dependent_launch.cuh"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/tensor/assigned_score.cuh"
#include "backend/cuda/tensor/matrix_finish.cuh"
#include "backend/cuda/tensor/matrix_kernels.h"
#include "backend/cuda/tensor/matrix_screen.h"
#include "backend/cuda/tensor/tile_terms.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <span>
#include <string>

namespace manymeans::cuda {
namespace {

// One block a tile.
__global__ void gather_terms(PackedColumns columns) {
  await_kernel_before();
  let_next_kernel_come();
  if (!is_stopped(columns)) gather_tile(columns, static_cast<int>(blockIdx.x));
}

MatrixPurpose purpose_of(const PackedColumns& columns, const ScoreThresholds& thresholds) {
  if (thresholds.falls != nullptr) return MatrixPurpose::kFilter;
  const bool small = one_tile_each(columns) && columns.by_number && thresholds.lowers == nullptr;
  return small ? MatrixPurpose::kProveOneTile : MatrixPurpose::kProve;
}

// A defect of the caller.
Error no_such_tiles(const MatrixTask& task) {
  return Error(ErrorCode::kInternal, "cuda",
               "the matrix screen has no tiles of " + std::to_string(task.columns.tile_columns) + " columns for " +
                   std::to_string(task.points.padded_columns) + " values a row");
}

// All but the rows that are multiplied: those whose numbers the epilogue knows are `points`.
MatrixTask task_of(const PackedRows& points, const PackedColumns& columns, const ScreenOutput& output) {
  MatrixTask task{};
  task.points = points;
  task.columns = columns;
  task.output = output;
  task.tiles = columns.columns / columns.tile_columns;
  task.panels = (points.padded_columns + kPanelColumns - 1) / kPanelColumns;
  task.place_mask = ~static_cast<uint32_t>(columns.tile_columns / 4 - 1);
  return task;
}

void screen(MatrixTask task, const PackedRows& rows, MatrixPurpose purpose, cudaStream_t stream) {
  if (rows.rows == 0 || task.tiles == 0) return;
  const std::span<const MatrixInstance> all = matrix_instances(task.columns.unit);
  const auto chosen = std::ranges::find_if(
      all, [&](const MatrixInstance& one) { return one.serves(purpose, task.columns.tile_columns, rows); });
  if (chosen == all.end()) throw no_such_tiles(task);
  chosen->launch(task, rows, stream);
}

// A warp takes an overflow row; blockIdx.y is the range. If no column reached the row's score threshold, it gets all
// columns that reach the score of its previous label.
__global__ void gather_rows(PackedRows points, PackedColumns columns, ScreenOutput output) {
  if (is_stopped(columns)) return;
  const OverflowRows& overflow = output.overflow;
  const uint32_t count = min(overflow.counts[blockIdx.y], overflow.capacity);
  const int pieces = points.padded_columns / 8;  // of 16 bytes
  const uint32_t warps = blockDim.x / 32;
  for (uint32_t i = blockIdx.x * warps + threadIdx.x / 32; i < count; i += gridDim.x * warps) {
    const int64_t place = static_cast<int64_t>(blockIdx.y) * overflow.capacity + i;
    const auto* from =
        static_cast<const uint4*>(points.values) + static_cast<int64_t>(overflow.rows[place].row) * pieces;
    auto* to = static_cast<uint4*>(overflow.values) + place * pieces;
    for (int piece = static_cast<int>(threadIdx.x % 32); piece < pieces; piece += 32) to[piece] = from[piece];
    if (threadIdx.x % 32 == 0) overflow.found[place] = 0;
    if (output.thresholds.falls == nullptr || overflow.rows[place].lower > kNoScore) continue;
    const float lower = assigned_lower_score(points, columns, blockIdx.y, output.thresholds, overflow.rows[place].row);
    __syncwarp();
    if (threadIdx.x % 32 != 0) continue;
    overflow.rows[place].lower = lower;
    *lower_at(output.thresholds, columns.ranges[blockIdx.y].slot, overflow.rows[place].row) = lower;
  }
}

}  // namespace

std::span<const MatrixInstance> matrix_instances(MatrixUnit unit) {
  return unit == MatrixUnit::kHopper ? hopper_instances() : sync_instances();
}

int matrix_tile_columns(MatrixUnit unit, int32_t padded_columns, int64_t largest_model) {
  if (largest_model <= 64) return 64;
  if (unit != MatrixUnit::kHopper || padded_columns <= kShortColumns || largest_model <= 128) return 128;
  return 256;
}

int64_t matrix_terms(int64_t columns, int tile_columns) {
  return columns / tile_columns * tile_floats(tile_columns);
}

MatrixUnit matrix_unit_of(int device) {
  constexpr const char* kDoing = "asking for the device's units";
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), kDoing);
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), kDoing);
  return matrix_unit_of(major, minor);
}

void gather_tile_terms(const PackedColumns& columns, cudaStream_t stream) {
  if (columns.columns == 0) return;
  launch_dependent(
      gather_terms,
      {dim3(static_cast<unsigned>(columns.columns / columns.tile_columns)), columns.tile_columns, 0, stream},
      "gathering the columns' terms", columns);
}

void matrix_screen(const PackedRows& points, const PackedColumns& columns, const ScreenOutput& output,
                   cudaStream_t stream) {
  if (points.rows == 0 || columns.columns == 0) return;
  screen(task_of(points, columns, output), points, purpose_of(columns, output.thresholds), stream);
}

void matrix_screen_counted(const PackedRows& points, const PackedColumns& columns, const ScreenOutput& output,
                           const Counted& counted, cudaStream_t stream) {
  MatrixTask task = task_of(points, columns, output);
  task.counted = counted;
  screen(task, points, MatrixPurpose::kProveCounted, stream);
}

void gather_candidates(const PackedRows& points, const PackedColumns& columns, const ScreenOutput& output,
                       cudaStream_t stream) {
  const OverflowRows& overflow = output.overflow;
  if (overflow.capacity == 0 || columns.columns == 0) return;
  gather_rows<<<dim3(256, static_cast<unsigned>(columns.models)), 256, 0, stream>>>(points, columns, output);
  check_launch("gathering overflow rows");
  PackedRows gathered = points;
  gathered.values = overflow.values;
  gathered.rows = gathered.padded_rows = static_cast<int64_t>(columns.models) * overflow.capacity;
  screen(task_of(points, columns, output), gathered, MatrixPurpose::kGather, stream);
}

}  // namespace manymeans::cuda
