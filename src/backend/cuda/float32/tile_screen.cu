// The float32 screen for any number of columns: a matrix product by fused multiply-adds whose results stay in
// registers. A block takes 128 rows and walks over the 64-wide groups of one model's columns. A thread holds the scores
// of 8 rows and 4 columns, and the top two of its rows over all columns so far.
#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/float32/float_kernels.h"
#include "backend/cuda/float32/frame_value.cuh"
#include "backend/cuda/runtime/device_memory.h"

#include <algorithm>
#include <climits>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRows = 128;
constexpr int kColumns = static_cast<int>(kTileMultiple);
constexpr int kDepth = 16;
constexpr int kRowsPerThread = 8;
constexpr int kColumnsPerThread = 4;

struct Tiles {
  float x[kDepth][kRows + 4];
  float z[kDepth][kColumns + 4];
  float best[kRows], second[kRows];
  int column[kRows];
  int64_t rows[kRows];  // which the block looks at
};

__device__ void load_tiles(const FloatScreenTask& task, int64_t first_column, int64_t first_value, Tiles& tiles) {
  const int64_t d = task.points.d;
  for (int i = threadIdx.x; i < kRows * kDepth; i += kThreads) {
    const int64_t row = tiles.rows[i / kDepth];
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
__device__ bool conclude(const FloatScreenTask& task, const PassRange& range, bool far, const SliceTop& top,
                         int64_t row) {
  const auto& [best, second, place] = top;
  const int64_t column = range.first + place;
  store_label(task.next, range.slot, row, static_cast<uint32_t>(place));
  const float m = task.norms[row];
  const float error = fmaf(m, task.columns.slopes[column], task.columns.errors[column]);
  const float lower = best - 2.0F * (1.0F + 0x1p-20F) * error - fmaf(task.bound.slack * m, m, task.bound.underflow);
  return lower > second && !far;
}

// The rows in tiles.rows against columns [begin, end) of a model, begin a multiple of kColumns; the top two are left in
// `tiles`.
__device__ void look(const FloatScreenTask& task, const PassRange& range, int64_t begin, int64_t end, Tiles& tiles) {
  const int tx = threadIdx.x % 16;
  const int ty = threadIdx.x / 16;
  float m[kRowsPerThread], best[kRowsPerThread], second[kRowsPerThread];
  int column[kRowsPerThread];
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i) {
    m[i] = task.norms[tiles.rows[ty * kRowsPerThread + i]];
    best[i] = second[i] = -INFINITY;
    column[i] = static_cast<int>(begin);
  }
  for (int64_t c = begin; c < end; c += kColumns) {
    float u[kRowsPerThread][kColumnsPerThread];
#pragma unroll
    for (int q = 0; q < kColumnsPerThread; ++q) {
      const int64_t at = range.first + c + tx * kColumnsPerThread + q;
#pragma unroll
      for (int i = 0; i < kRowsPerThread; ++i) u[i][q] = fmaf(m[i], task.columns.slopes[at], task.columns.starts[at]);
    }
    for (int64_t j = 0; j < task.points.d; j += kDepth) {
      __syncthreads();
      load_tiles(task, range.first + c, j, tiles);
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
}

__global__ void __launch_bounds__(kThreads) tile_kernel(FloatScreenTask task) {
  if (stopped(task.ranges)) return;
  __shared__ Tiles tiles;
  const PassRange range = task.ranges.at[blockIdx.y];
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kRows + threadIdx.x;
  if (threadIdx.x < kRows) tiles.rows[threadIdx.x] = min(row, task.points.n - 1);
  __syncthreads();
  look(task, range, 0, range.k, tiles);
  if (threadIdx.x >= kRows) return;
  bool proved = true;
  if (row < task.points.n) {
    proved = conclude(task, range, task.columns.far[blockIdx.y] != 0,
                      {tiles.best[threadIdx.x], tiles.second[threadIdx.x], tiles.column[threadIdx.x]}, row);
  }
  const uint32_t word = __ballot_sync(~0U, !proved);
  if (threadIdx.x % 32 == 0 && row < task.points.n) task.marks[blockIdx.y * task.mark_stride + row / 32] = word;
}

// The gathered rows of a range, and the slices of its columns that blocks look at in parallel. Fewer rows have more
// slices, so that no few blocks walk over all columns while the others idle.
struct Gathered {
  int64_t count;
  int64_t slices;
  SliceTop* top;  // (count, slices)
};

__device__ Gathered gathered_rows(const MarkedRows& marked, int64_t k) {
  const int64_t count = min(static_cast<int64_t>(marked.counts[blockIdx.y]), marked.capacity);
  const int64_t room = marked.capacity * marked.slices;  // of tops
  const int64_t groups = (k + kColumns - 1) / kColumns;
  const int64_t tiles = max(int64_t{1}, (count + kRows - 1) / kRows);
  const int64_t slices = max(static_cast<int64_t>(marked.slices), gridDim.x / tiles);
  return {count, min(min(slices, groups), room / max(int64_t{1}, count)), marked.top + blockIdx.y * room};
}

// The gathered rows of range y, in tiles, against slices of its columns: the blocks of x share the pairs.
__global__ void __launch_bounds__(kThreads) marked_kernel(FloatScreenTask task, MarkedRows marked) {
  if (stopped(task.ranges)) return;
  __shared__ Tiles tiles;
  const PassRange range = task.ranges.at[blockIdx.y];
  const Gathered rows = gathered_rows(marked, range.k);
  const int64_t* const numbers = marked.rows + blockIdx.y * marked.capacity;
  const int64_t groups = (range.k + kColumns - 1) / kColumns;
  const int64_t items = (rows.count + kRows - 1) / kRows * rows.slices;
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const int64_t first = item / rows.slices * kRows;
    const int64_t slice = item % rows.slices;
    __syncthreads();
    if (threadIdx.x < kRows) tiles.rows[threadIdx.x] = numbers[min(first + threadIdx.x, rows.count - 1)];
    __syncthreads();
    look(task, range, groups * slice / rows.slices * kColumns,
         min(range.k, groups * (slice + 1) / rows.slices * kColumns), tiles);
    if (threadIdx.x >= kRows || first + threadIdx.x >= rows.count) continue;
    rows.top[(first + threadIdx.x) * rows.slices + slice] = {tiles.best[threadIdx.x], tiles.second[threadIdx.x],
                                                             tiles.column[threadIdx.x]};
  }
}

// The top two of two slices; of equals the lower column.
__device__ SliceTop merged(const SliceTop& a, const SliceTop& b) {
  if (b.best > a.best || (b.best == a.best && b.column < a.column)) {
    return {b.best, fmaxf(a.best, b.second), b.column};
  }
  return {a.best, fmaxf(a.second, b.best), a.column};
}

// A warp a gathered row: puts the slices together.
__global__ void __launch_bounds__(kThreads) conclude_kernel(FloatScreenTask task, MarkedRows marked) {
  if (stopped(task.ranges)) return;
  const PassRange range = task.ranges.at[blockIdx.y];
  const Gathered rows = gathered_rows(marked, range.k);
  const bool far = task.columns.far[blockIdx.y] != 0;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (kThreads / 32);
  for (int64_t i = blockIdx.x * int64_t{kThreads / 32} + threadIdx.x / 32; i < rows.count; i += warps) {
    SliceTop top = {-INFINITY, -INFINITY, INT_MAX};
    for (int64_t s = lane; s < rows.slices; s += 32) top = merged(top, rows.top[i * rows.slices + s]);
    for (int step = 16; step > 0; step /= 2) {
      top = merged(top, {__shfl_xor_sync(~0U, top.best, step), __shfl_xor_sync(~0U, top.second, step),
                         __shfl_xor_sync(~0U, top.column, step)});
    }
    if (lane != 0) continue;
    const int64_t row = marked.rows[blockIdx.y * marked.capacity + i];
    if (conclude(task, range, far, top, row)) continue;
    atomicOr(task.marks + blockIdx.y * task.mark_stride + row / 32, 1U << (row % 32));
  }
}

// A thread a word of marks; blockIdx.y is the range.
__global__ void gather_kernel(FloatScreenTask task, MarkedRows marked) {
  if (stopped(task.ranges) || (task.wanted != nullptr && *task.wanted == 0)) return;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at * 32 >= task.points.n) return;
  take_marked(task.marks[blockIdx.y * task.mark_stride + at], at, marked.counts + blockIdx.y, marked.capacity,
              [&](int64_t place, int64_t row) { marked.rows[blockIdx.y * marked.capacity + place] = row; });
}

}  // namespace

void low_screen(const FloatScreenTask& task, int multiprocessors, cudaStream_t stream);

void float_screen(const FloatScreenTask& task, int multiprocessors, cudaStream_t stream) {
  if (task.points.d <= kLowColumns) return low_screen(task, multiprocessors, stream);
  const dim3 grid(static_cast<unsigned>((task.points.n + kRows - 1) / kRows), static_cast<unsigned>(task.ranges.count));
  tile_kernel<<<grid, kThreads, 0, stream>>>(task);
  check_launch("screening");
}

void float_screen_marked(const FloatScreenTask& task, const MarkedRows& marked, int multiprocessors,
                         cudaStream_t stream) {
  const auto ranges = static_cast<unsigned>(task.ranges.count);
  fill_zero(marked.counts, ranges, stream, "clearing counts");
  const int64_t words = (task.points.n + 31) / 32;
  gather_kernel<<<dim3(static_cast<unsigned>((words + kThreads - 1) / kThreads), ranges), kThreads, 0, stream>>>(
      task, marked);
  check_launch("gathering rows");
  const auto blocks = static_cast<unsigned>(std::max<int64_t>(1, 4 * multiprocessors / task.ranges.count));
  marked_kernel<<<dim3(blocks, ranges), kThreads, 0, stream>>>(task, marked);
  check_launch("screening marked rows");
  conclude_kernel<<<dim3(blocks, ranges), kThreads, 0, stream>>>(task, marked);
  check_launch("screening marked rows");
}

}  // namespace manymeans::cuda
