// The float32 screen for any number of columns: a matrix product by fused multiply-adds whose results stay in
// registers. A block takes 128 rows and walks over the 64-wide groups of one model's columns; a thread holds the scores
// of 8 rows and 4 columns and the top two of its rows over all columns that it has seen.
#include "backend/cuda/device_memory.h"
#include "backend/cuda/float_screen.h"
#include "backend/cuda/frame_value.cuh"
#include "backend/cuda/pass_device.cuh"

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRows = 128;
constexpr int kColumns = static_cast<int>(kTileGroup);
constexpr int kDepth = 16;
constexpr int kRowsPerThread = 8;
constexpr int kColumnsPerThread = 4;

struct Tiles {
  float x[kDepth][kRows + 4];
  float z[kDepth][kColumns + 4];
  float best[kRows], second[kRows];
  int column[kRows];
};

__device__ void load_tiles(const FloatScreenTask& task, int64_t first_row, int64_t first_column, int64_t first_value,
                           Tiles& tiles) {
  const int64_t d = task.points.d;
  for (int i = threadIdx.x; i < kRows * kDepth; i += kThreads) {
    const int64_t row = min(first_row + i / kDepth, task.points.n - 1);
    const int64_t j = first_value + i % kDepth;
    tiles.x[i % kDepth][i / kDepth] =
        j < d ? frame_value(task.points, task.frame, row * d + j, static_cast<int>(j)) : 0.0F;
  }
  for (int i = threadIdx.x; i < kColumns * kDepth; i += kThreads) {
    const int64_t j = first_value + i % kDepth;
    tiles.z[i % kDepth][i / kDepth] =
        j < d ? task.columns.values[(first_column + i / kDepth) * task.columns.value_stride + j] : 0.0F;
  }
}

// The top two of the 16 threads that share rows.
__device__ __forceinline__ void merge(float& best, float& second, int& column) {
#pragma unroll
  for (int step = 8; step > 0; step /= 2) {
    const float other_best = __shfl_xor_sync(~0U, best, step);
    const float other_second = __shfl_xor_sync(~0U, second, step);
    const int other_column = __shfl_xor_sync(~0U, column, step);
    if (other_best > best || (other_best == best && other_column < column)) {
      second = fmaxf(best, other_second);
      best = other_best;
      column = other_column;
    } else {
      second = fmaxf(second, other_best);
    }
  }
}

// One row: writes a label, returns whether it is proved.
__device__ bool conclude(const FloatScreenTask& task, const PassRange& range, bool far, const Tiles& tiles, int i,
                         int64_t row) {
  const float best = tiles.best[i];
  const int64_t column = range.first + tiles.column[i];
  store_label(task.next, range.slot, row, static_cast<uint32_t>(tiles.column[i]));
  const float m = task.norms[row];
  const float error = fmaf(m, task.columns.slopes[column], task.columns.errors[column]);
  const float lower = best - 2.0F * (1.0F + 0x1p-20F) * error - fmaf(task.bound.slack * m, m, task.bound.underflow);
  return lower > tiles.second[i] && !far;
}

__global__ void __launch_bounds__(kThreads) tile_kernel(FloatScreenTask task) {
  if (stopped(task.ranges)) return;
  __shared__ Tiles tiles;
  const PassRange range = task.ranges.at[blockIdx.y];
  const int64_t first_row = static_cast<int64_t>(blockIdx.x) * kRows;
  const int tx = threadIdx.x % 16;
  const int ty = threadIdx.x / 16;
  float m[kRowsPerThread], best[kRowsPerThread], second[kRowsPerThread];
  int column[kRowsPerThread];
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i) {
    m[i] = task.norms[min(first_row + ty * kRowsPerThread + i, task.points.n - 1)];
    best[i] = second[i] = -INFINITY;
    column[i] = 0;
  }
  for (int64_t c = 0; c < range.k; c += kColumns) {
    float u[kRowsPerThread][kColumnsPerThread];
#pragma unroll
    for (int q = 0; q < kColumnsPerThread; ++q) {
      const int64_t at = range.first + c + tx * kColumnsPerThread + q;
#pragma unroll
      for (int i = 0; i < kRowsPerThread; ++i) u[i][q] = fmaf(m[i], task.columns.slopes[at], task.columns.starts[at]);
    }
    for (int64_t j = 0; j < task.points.d; j += kDepth) {
      __syncthreads();
      load_tiles(task, first_row, range.first + c, j, tiles);
      __syncthreads();
#pragma unroll
      for (int depth = 0; depth < kDepth; ++depth) {
        float x[kRowsPerThread], z[kColumnsPerThread];
#pragma unroll
        for (int i = 0; i < kRowsPerThread; ++i) x[i] = tiles.x[depth][ty * kRowsPerThread + i];
#pragma unroll
        for (int q = 0; q < kColumnsPerThread; ++q) z[q] = tiles.z[depth][tx * kColumnsPerThread + q];
#pragma unroll
        for (int i = 0; i < kRowsPerThread; ++i) {
#pragma unroll
          for (int q = 0; q < kColumnsPerThread; ++q) u[i][q] = fmaf(x[i], z[q], u[i][q]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kRowsPerThread; ++i) {
#pragma unroll
      for (int q = 0; q < kColumnsPerThread; ++q) {
        const bool better = u[i][q] > best[i];
        second[i] = fmaxf(second[i], fminf(best[i], u[i][q]));
        best[i] = fmaxf(best[i], u[i][q]);
        if (better) column[i] = static_cast<int>(c) + tx * kColumnsPerThread + q;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i) {
    merge(best[i], second[i], column[i]);
    if (tx != 0) continue;
    tiles.best[ty * kRowsPerThread + i] = best[i];
    tiles.second[ty * kRowsPerThread + i] = second[i];
    tiles.column[ty * kRowsPerThread + i] = column[i];
  }
  __syncthreads();
  if (threadIdx.x >= kRows) return;
  const int64_t row = first_row + threadIdx.x;
  bool proved = true;
  if (row < task.points.n) {
    proved = conclude(task, range, task.columns.far[blockIdx.y] != 0, tiles, static_cast<int>(threadIdx.x), row);
  }
  const uint32_t word = __ballot_sync(~0U, !proved);
  if (threadIdx.x % 32 == 0 && row < task.points.n) task.marks[blockIdx.y * task.mark_stride + row / 32] = word;
}

}  // namespace

void low_screen(const FloatScreenTask& task, int multiprocessors, cudaStream_t stream);

void float_screen(const FloatScreenTask& task, int multiprocessors, cudaStream_t stream) {
  if (task.points.d <= kLowColumns) return low_screen(task, multiprocessors, stream);
  const dim3 grid(static_cast<unsigned>((task.points.n + kRows - 1) / kRows), static_cast<unsigned>(task.ranges.count));
  tile_kernel<<<grid, kThreads, 0, stream>>>(task);
  check_launch("screening");
}

}  // namespace manymeans::cuda
