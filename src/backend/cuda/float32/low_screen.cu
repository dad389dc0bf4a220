// The float32 screen for up to 16 columns: points in registers, prototypes in shared memory, all models of an ensemble
// in one reading of the points.
//
// A thread holds P points. Columns are looked at in groups of four. A score carries its place in the group in its
// lowest two bits. So the running top two and the winner's column cost four instructions a score and two a group. An
// index next to every score costs two more of the scarce comparing instructions. Computing the group's scores anew at
// the end cost a third of the kernel's time with ten prototypes a model.
#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/float32/float_kernels.h"
#include "backend/cuda/float32/frame_value.cuh"
#include "backend/cuda/runtime/device_memory.h"

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kGroup = static_cast<int>(kLowMultiple);
constexpr int kSharedFloats = 8192;  // 32 KiB of columns at a time

// u of one column; `column` is (start, slope, z_0, z_1, ..).
template <int D>
__device__ __forceinline__ float score(const float (&x)[D], float m, const float4* column) {
  float4 part = column[0];
  float u = fmaf(m, part.y, part.x);
#pragma unroll
  for (int j = 0; j < D; ++j) {
    const int at = (j + 2) % 4;
    if (at == 0) part = column[(j + 2) / 4];
    const float z = at == 0 ? part.x : (at == 1 ? part.y : (at == 2 ? part.z : part.w));
    u = fmaf(x[j], z, u);
  }
  return u;
}

constexpr uint32_t kPlaces = kGroup - 1;

// The top two so far of a thread's points, for one model.
template <int P>
struct TopTwo {
  float best[P], second[P];
  int group[P];  // of the best

  __device__ __forceinline__ void begin(int first_group) {
#pragma unroll
    for (int p = 0; p < P; ++p) {
      best[p] = second[p] = -INFINITY;
      group[p] = first_group;
    }
  }
};

// Looks at one group of columns.
template <int D, int P>
__device__ __forceinline__ void look(const float (&x)[P][D], const float (&m)[P], const float4* columns, int group,
                                     TopTwo<P>& top) {
  constexpr int kVectors = (D + 2 + 3) / 4;
  float before[P];
#pragma unroll
  for (int p = 0; p < P; ++p) before[p] = top.best[p];
#pragma unroll
  for (int c = 0; c < kGroup; ++c) {
    float4 column[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) column[v] = columns[c * kVectors + v];
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const uint32_t bits = __float_as_uint(score<D>(x[p], m[p], column));
      const float u = __uint_as_float((bits & ~kPlaces) | static_cast<uint32_t>(c));
      top.second[p] = fmaxf(top.second[p], fminf(top.best[p], u));
      top.best[p] = fmaxf(top.best[p], u);
    }
  }
#pragma unroll
  for (int p = 0; p < P; ++p) top.group[p] = top.best[p] > before[p] ? group : top.group[p];
}

// A thread's result for one of its rows.
struct Found {
  int64_t row;
  float m;  // its norm
  float best, second;
  int group;  // of the best
};

// One row and one model: writes a label, returns whether it is proved.
template <int D>
__device__ __forceinline__ bool conclude(const FloatScreenTask& task, const PassRange& range, bool far,
                                         const Found& found) {
  const auto& [row, m, best, second, group] = found;
  constexpr int kStride = (D + 2 + 3) / 4 * 4;
  const int column = group * kGroup + static_cast<int>(__float_as_uint(best) & kPlaces);
  const float2 terms = *reinterpret_cast<const float2*>(task.columns.starts + static_cast<int64_t>(column) * kStride);
  store_label(task.next, range.slot, row, static_cast<uint32_t>(column - static_cast<int>(range.first)));
  // |h| <= (|start| + absolute) (1 + 2^-9): the error of the column from its start, a little enlarged.
  const float error = fmaf(m, terms.y, fmaf(task.bound.half_up, fabsf(terms.x), task.bound.absolute_up));
  const float lower = best - 2.0F * (1.0F + 0x1p-20F) * error - fmaf(task.bound.slack * m, m, task.bound.underflow);
  return lower > second && !far;
}

template <int D, int P>
__device__ void load_points(const FloatScreenTask& task, int64_t base, float (&x)[P][D], float (&m)[P]) {
#pragma unroll
  for (int p = 0; p < P; ++p) {
    const int64_t row = min(base + p * kThreads, task.points.n - 1);
    float sum = 0;
#pragma unroll
    for (int j = 0; j < D; ++j) {
      x[p][j] = frame_value(task.points, task.frame, row * D + j, j);
      sum = fmaf(x[p][j], x[p][j], sum);
    }
    m[p] = fmaf(__fsqrt_ru(sum), 1.0F + 0x1p-18F, 0x1p-70F);
  }
}

template <int D, int P>
__global__ void __launch_bounds__(kThreads) low_kernel(FloatScreenTask task) {
  constexpr int kVectors = (D + 2 + 3) / 4;
  constexpr int kChunk = kSharedFloats / (kVectors * 4) / kGroup;  // groups
  __shared__ float4 shared[kChunk * kGroup * kVectors];
  if (stopped(task.ranges)) return;
  const int64_t base = static_cast<int64_t>(blockIdx.x) * (kThreads * P) + threadIdx.x;
  float x[P][D];
  float m[P];
  load_points<D, P>(task, base, x, m);
  // The models are shared out among blockIdx.y.
  const int first_range = static_cast<int>(static_cast<int64_t>(task.ranges.count) * blockIdx.y / gridDim.y);
  const int last_range = static_cast<int>(static_cast<int64_t>(task.ranges.count) * (blockIdx.y + 1) / gridDim.y);
  const PassRange last = task.ranges.at[last_range - 1];
  const int end = static_cast<int>((last.first + last.k + kGroup - 1) / kGroup);
  int chunk_first = 0;
  int chunk_last = 0;
  TopTwo<P> top;
  for (int r = first_range; r < last_range; ++r) {
    const PassRange range = task.ranges.at[r];
    int g = static_cast<int>(range.first / kGroup);
    const int range_end = static_cast<int>((range.first + range.k + kGroup - 1) / kGroup);
    top.begin(g);
    while (g < range_end) {
      if (g >= chunk_last) {
        __syncthreads();
        chunk_first = g;
        chunk_last = min(g + kChunk, end);
        const auto* from = reinterpret_cast<const float4*>(task.columns.starts) +
                           static_cast<int64_t>(chunk_first) * kGroup * kVectors;
        for (int i = threadIdx.x; i < (chunk_last - chunk_first) * kGroup * kVectors; i += kThreads) {
          shared[i] = from[i];
        }
        __syncthreads();
      }
      const int stop = min(range_end, chunk_last);
      for (; g < stop; ++g) look<D, P>(x, m, shared + (g - chunk_first) * kGroup * kVectors, g, top);
    }
    const bool far = task.columns.far[r] != 0;
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const int64_t row = base + p * kThreads;
      bool proved = true;
      if (row < task.points.n) {
        proved = conclude<D>(task, range, far, {row, m[p], top.best[p], top.second[p], top.group[p]});
      }
      const uint32_t word = __ballot_sync(~0U, !proved);
      if (threadIdx.x % 32 == 0 && row < task.points.n) task.marks[r * task.mark_stride + row / 32] = word;
    }
  }
}

template <int D, int P>
void launch(const FloatScreenTask& task, int multiprocessors, cudaStream_t stream) {
  const int64_t blocks = (task.points.n + kThreads * P - 1) / (kThreads * P);
  const int64_t wanted = (static_cast<int64_t>(multiprocessors) * 32 + blocks - 1) / blocks;
  const int64_t parts = std::clamp<int64_t>(wanted, 1, task.ranges.count);
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(parts));
  low_kernel<D, P><<<grid, kThreads, 0, stream>>>(task);
}

template <int D>
void choose(const FloatScreenTask& task, int multiprocessors, cudaStream_t stream) {
  constexpr int kMax = D <= 8 ? 4 : 2;
  if (task.points.n * task.ranges.count < static_cast<int64_t>(multiprocessors) * 2048) {
    launch<D, 1>(task, multiprocessors, stream);
  } else {
    launch<D, kMax>(task, multiprocessors, stream);
  }
}

template <int D>
void find_columns(const FloatScreenTask& task, int multiprocessors, cudaStream_t stream) {
  if (task.points.d == D) return choose<D>(task, multiprocessors, stream);
  if constexpr (D < kLowColumns) find_columns<D + 1>(task, multiprocessors, stream);
}

}  // namespace

void low_screen(const FloatScreenTask& task, int multiprocessors, cudaStream_t stream) {
  find_columns<1>(task, multiprocessors, stream);
  check_launch("screening");
}

}  // namespace manymeans::cuda
