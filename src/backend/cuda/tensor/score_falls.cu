#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/tensor/assigned_score.cuh"
#include "backend/cuda/tensor/score_falls.h"

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSelectThreads = 1024;
constexpr int kPerThread = kSampledRows / kSelectThreads;

// Rows far from each other, so that no order of the points misleads.
__device__ __forceinline__ int64_t sampled_row(int64_t i, int64_t rows) {
  const auto spread = static_cast<uint32_t>(i) * 2654435761U;
  return static_cast<int64_t>((static_cast<uint64_t>(spread) * static_cast<uint64_t>(rows)) >> 32);
}

// Of a tile amid the model's.
__device__ __forceinline__ float typical_slope(const PackedColumns& columns, unsigned r) {
  const ColumnRange& range = columns.ranges[r];
  return terms_of(columns, (range.first + range.count / 2) / columns.tile_columns).slope;
}

// A warp a sampled row; blockIdx.y is the range.
__global__ void sample_kernel(FallsTask task) {
  if (is_stopped(task.columns)) return;
  const int64_t i = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= kSampledRows) return;
  const int64_t row = sampled_row(i, task.points.rows);
  const float now = assigned_lower_score(task.points, task.columns, blockIdx.y, task.thresholds, row);
  if (threadIdx.x % 32 != 0) return;
  const ColumnRange& range = task.columns.ranges[blockIdx.y];
  const float before = *lower_at(task.thresholds, range.slot, row);
  const float shift = task.thresholds.shifts[range.first + load_label(task.thresholds.labels, range.slot, row)];
  const float fall = before - now - typical_slope(task.columns, blockIdx.y) * task.points.radii[row];
  const bool fell = before > kNoScore && fall > 0;
  task.sample[blockIdx.y * kSampledRows + i] = fell ? fminf(fall / shift, FLT_MAX) : 0.0F;
}

// One block a range. Finds the largest number that at least `failing` of the sample reach, bit by bit from the top. The
// bits of nonnegative floats have the order of their values.
__global__ void __launch_bounds__(kSelectThreads) select_kernel(FallsTask task) {
  if (is_stopped(task.columns)) return;
  uint32_t keys[kPerThread];
  const float* sample = task.sample + blockIdx.x * kSampledRows;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) keys[i] = __float_as_uint(sample[i * kSelectThreads + threadIdx.x]);
  constexpr int kLowestBit = 12;  // 19 bits: exponent and 11 of the mantissa are enough
  uint32_t key = 0;
  for (int bit = 30; bit >= kLowestBit; --bit) {
    const uint32_t next = key | 1U << bit;
    int reached = 0;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) reached += keys[i] >= next ? 1 : 0;
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    reached = warp_sum(reached);
    if (threadIdx.x % 32 == 0) atomicAdd(&total, reached);
    __syncthreads();
    if (total >= task.failing) key = next;
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  const float per_shift = __uint_as_float(key | ((1U << kLowestBit) - 1));
  const_cast<ScoreDrop*>(task.thresholds.falls)[blockIdx.x] = {per_shift, typical_slope(task.columns, blockIdx.x)};
}

}  // namespace

int64_t failing_rows(int64_t rows, int64_t clusters, uint32_t overflow_capacity) {
  const int64_t worth = std::clamp<int64_t>(kSampledRows * 2 / clusters, 8, 64);
  const auto room = static_cast<double>(overflow_capacity) / 4 / static_cast<double>(std::max<int64_t>(1, rows));
  return std::clamp<int64_t>(static_cast<int64_t>(room * static_cast<double>(kSampledRows)), 1, worth);
}

void guess_falls(const FallsTask& task, cudaStream_t stream) {
  const auto models = static_cast<unsigned>(task.columns.models);
  sample_kernel<<<dim3(kSampledRows * 32 / kThreads, models), kThreads, 0, stream>>>(task);
  check_launch("sampling scores");
  select_kernel<<<models, kSelectThreads, 0, stream>>>(task);
  check_launch("selecting among sampled scores");
}

}  // namespace manymeans::cuda
