#include "backend/cuda/device_memory.h"
#include "backend/cuda/pass_device.cuh"
#include "backend/cuda/point_value.cuh"
#include "backend/cuda/resolve.h"

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kLanes = 8;  // of the canonical distance: a thread each

// d2 of a row and a prototype by the 8 neighbouring threads that call this together; all get it. kFloats: the points
// are float32, which lets loads of several steps be in flight together.
template <bool kFloats>
__device__ __forceinline__ double distance_by_lanes(const DevicePoints& points, int64_t row, const PassRange& range,
                                                    bool float64, int64_t k, int lane, unsigned mask) {
  const int64_t d = points.d;
  if constexpr (kFloats) {
    return canonical_distance_by_eight(static_cast<const float*>(points.data) + row * d,
                                       static_cast<const float*>(range.prototypes) + k * d, d, lane, mask);
  }
  double p = 0;
  for (int64_t j = lane; j < d; j += kLanes) {
    const double t = __dsub_rn(load_double(points, row * d + j), prototype_value(range, float64, k * d + j));
    p = __fma_rn(t, t, p);
  }
  return fold_eight(p, mask);
}

// One thread, all lanes.
__device__ double distance_alone(const DevicePoints& points, int64_t row, const PassRange& range, bool float64,
                                 int64_t k) {
  const int64_t d = points.d;
  double p[kLanes] = {};
  for (int64_t first = 0; first < d; first += kLanes) {
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      const int64_t j = first + lane;
      if (j >= d) continue;
      const double t = __dsub_rn(load_double(points, row * d + j), prototype_value(range, float64, k * d + j));
      p[lane] = __fma_rn(t, t, p[lane]);
    }
  }
  const double even = __dadd_rn(__dadd_rn(p[0], p[4]), __dadd_rn(p[2], p[6]));
  return __dadd_rn(even, __dadd_rn(__dadd_rn(p[1], p[5]), __dadd_rn(p[3], p[7])));
}

struct Nearest : SliceNearest {
  __device__ Nearest() = default;
  __device__ Nearest(double d2, long long index) : SliceNearest{d2, index} {}
  __device__ void take(double other_distance, long long other) {
    if (other_distance < distance || (other_distance == distance && other < k)) {
      distance = other_distance;
      k = other;
    }
  }
};

__device__ Nearest warp_nearest(Nearest mine) {
  for (int step = 16; step > 0; step /= 2) {
    const double distance = __shfl_xor_sync(~0U, mine.distance, step);
    const long long k = __shfl_xor_sync(~0U, mine.k, step);
    mine.take(distance, k);
  }
  return mine;
}

// The nearest of prototypes [begin, end), by all threads of the block; thread 0 has it.
template <bool kAlone, bool kFloats>
__device__ Nearest scan(const ResolveTask& task, const PassRange& range, int64_t row, int64_t begin, int64_t end,
                        SliceNearest* of_warps) {
  Nearest mine{INFINITY, range.k};
  if constexpr (kAlone) {
    for (int64_t k = begin + threadIdx.x; k < end; k += blockDim.x) {
      mine.take(distance_alone(task.points, row, range, task.ranges.float64, k), k);
    }
  } else {
    const int lane = threadIdx.x % kLanes;
    const unsigned mask = 0xffU << (threadIdx.x % 32 / kLanes * kLanes);
    for (int64_t k = begin + threadIdx.x / kLanes; k < end; k += blockDim.x / kLanes) {
      mine.take(distance_by_lanes<kFloats>(task.points, row, range, task.ranges.float64, k, lane, mask), k);
    }
  }
  __syncwarp();
  mine = warp_nearest(mine);
  if (blockDim.x == 32) return mine;
  __syncthreads();  // of_warps may still be read
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  for (unsigned w = 0; w < blockDim.x / 32; ++w) mine.take(of_warps[w].distance, of_warps[w].k);
  return mine;
}

// A block looks at `together` words of marks at a time, at most 32; blockIdx.y is the range.
template <bool kAlone, bool kFloats>
__global__ void scan_kernel(ResolveTask task, int together) {
  if (stopped(task.ranges)) return;
  __shared__ SliceNearest of_warps[kThreads / 32];
  __shared__ uint32_t words_here[32];
  const PassRange range = task.ranges.at[blockIdx.y];
  const int64_t words = (task.points.n + 31) / 32;
  unsigned long long resolved = 0;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * together; first < words;
       first += static_cast<int64_t>(gridDim.x) * together) {
    uint32_t mine = 0;
    if (threadIdx.x < together && first + threadIdx.x < words) {
      mine = task.marks[blockIdx.y * task.mark_stride + first + threadIdx.x];
    }
    if (__syncthreads_or(mine != 0) == 0) continue;
    if (threadIdx.x < 32) words_here[threadIdx.x] = mine;
    __syncthreads();
    for (int w = 0; w < together; ++w) {
      for (uint32_t word = words_here[w]; word != 0; word &= word - 1) {
        const int64_t row = (first + w) * 32 + __ffs(static_cast<int>(word)) - 1;
        const Nearest nearest = scan<kAlone, kFloats>(task, range, row, 0, range.k, of_warps);
        if (threadIdx.x == 0) store_label(task.next, range.slot, row, static_cast<uint32_t>(nearest.k));
        ++resolved;
      }
    }
  }
  if (threadIdx.x != 0 || resolved == 0) return;
  PassCounters& counters = task.ranges.counters[blockIdx.y];
  atomicAdd(&counters.resolved, resolved);
  atomicAdd(&counters.candidates, resolved * static_cast<unsigned long long>(range.k));
}

// A thread a word of marks; blockIdx.y is the range. Takes rows out of the marks, as far as there is room.
__global__ void left_kernel(ResolveTask task) {
  if (stopped(task.ranges)) return;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at * 32 >= task.points.n) return;
  uint32_t& word = task.marks[blockIdx.y * task.mark_stride + at];
  uint32_t marks = word;
  if (marks == 0) return;
  uint32_t place = atomicAdd(task.left_count, static_cast<uint32_t>(__popc(static_cast<int>(marks))));
  for (; marks != 0 && place < kMostLeft; marks &= marks - 1) {
    task.left[place++] = {at * 32 + __ffs(static_cast<int>(marks)) - 1, static_cast<int32_t>(blockIdx.y)};
  }
  word = marks;
}

// blockIdx.x is the slice; the blocks of y share the rows.
template <bool kAlone, bool kFloats>
__global__ void slice_kernel(ResolveTask task) {
  if (stopped(task.ranges)) return;
  __shared__ SliceNearest of_warps[kThreads / 32];
  const uint32_t count = min(*task.left_count, static_cast<uint32_t>(kMostLeft));
  for (uint32_t i = blockIdx.y; i < count; i += gridDim.y) {
    const LeftRow left = task.left[i];
    const PassRange range = task.ranges.at[left.range];
    const Nearest nearest = scan<kAlone, kFloats>(task, range, left.row, range.k * blockIdx.x / kLeftSlices,
                                                  range.k * (blockIdx.x + 1) / kLeftSlices, of_warps);
    if (threadIdx.x == 0) task.nearest[i * kLeftSlices + blockIdx.x] = nearest;
  }
}

// A thread a row.
__global__ void join_kernel(ResolveTask task) {
  if (stopped(task.ranges)) return;
  const uint32_t count = min(*task.left_count, static_cast<uint32_t>(kMostLeft));
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const LeftRow left = task.left[i];
  const PassRange range = task.ranges.at[left.range];
  Nearest nearest{INFINITY, range.k};
  for (int s = 0; s < kLeftSlices; ++s) {
    nearest.take(task.nearest[i * kLeftSlices + s].distance, task.nearest[i * kLeftSlices + s].k);
  }
  store_label(task.next, range.slot, left.row, static_cast<uint32_t>(nearest.k));
  PassCounters& counters = task.ranges.counters[left.range];
  atomicAdd(&counters.resolved, 1ULL);
  atomicAdd(&counters.candidates, static_cast<unsigned long long>(range.k));
}

// Eight threads an entry of the list.
template <bool kFloats>
__global__ void list_kernel(ResolveTask task) {
  if (stopped(task.ranges)) return;
  __shared__ uint32_t rows_here;
  __shared__ uint32_t candidates_here;
  if (threadIdx.x == 0) rows_here = candidates_here = 0;
  __syncthreads();
  const bool one_range = task.ranges.count == 1;
  const uint32_t listed = min(*task.listed, task.capacity);
  const int lane = threadIdx.x % kLanes;
  const unsigned mask = 0xffU << (threadIdx.x % 32 / kLanes * kLanes);
  const int64_t teams = static_cast<int64_t>(gridDim.x) * (kThreads / kLanes);
  for (int64_t i = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kLanes; i < listed; i += teams) {
    const Unproved& entry = task.list[i];
    if (task.far[entry.range] != 0) continue;
    const PassRange range = task.ranges.at[entry.range];
    Nearest nearest{INFINITY, range.k};
    for (int c = 0; c < entry.count; ++c) {
      const long long k = entry.candidates[c];
      nearest.take(distance_by_lanes<kFloats>(task.points, entry.row, range, task.ranges.float64, k, lane, mask), k);
    }
    if (lane != 0) continue;
    store_label(task.next, range.slot, entry.row, static_cast<uint32_t>(nearest.k));
    if (one_range) {
      atomicAdd(&rows_here, 1U);
      atomicAdd(&candidates_here, static_cast<uint32_t>(entry.count));
      continue;
    }
    PassCounters& counters = task.ranges.counters[entry.range];
    atomicAdd(&counters.resolved, 1ULL);
    atomicAdd(&counters.candidates, static_cast<unsigned long long>(entry.count));
  }
  __syncthreads();
  if (threadIdx.x != 0 || rows_here == 0) return;
  atomicAdd(&task.ranges.counters[0].resolved, static_cast<unsigned long long>(rows_here));
  atomicAdd(&task.ranges.counters[0].candidates, static_cast<unsigned long long>(candidates_here));
}

__global__ void mark_kernel(uint32_t* marks, int64_t mark_stride, int64_t rows) {
  const int64_t word = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (word * 32 >= rows) return;
  const int64_t left = rows - word * 32;
  marks[blockIdx.y * mark_stride + word] = left >= 32 ? ~0U : (1U << left) - 1;
}

__global__ void relabel_kernel(LabelRows labels, int slot, int64_t rows, const uint32_t* table) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (row < rows) store_label(labels, slot, row, table[load_label(labels, slot, row)]);
}

// A few rows and many prototypes: every row by many blocks.
void resolve_in_slices(const ResolveTask& task, bool alone, cudaStream_t stream) {
  const int64_t words = (task.points.n + 31) / 32;
  fill_zero(task.left_count, 1, stream, "clearing a count");
  const dim3 gather(static_cast<unsigned>((words + kThreads - 1) / kThreads), static_cast<unsigned>(task.ranges.count));
  left_kernel<<<gather, kThreads, 0, stream>>>(task);
  check_launch("gathering rows");
  const dim3 slices(kLeftSlices, 128);
  if (alone) {
    slice_kernel<true, false><<<slices, kThreads, 0, stream>>>(task);
  } else if (task.points.type == DataType::kFloat32) {
    slice_kernel<false, true><<<slices, kThreads, 0, stream>>>(task);
  } else {
    slice_kernel<false, false><<<slices, kThreads, 0, stream>>>(task);
  }
  check_launch("resolving");
  join_kernel<<<kMostLeft / kThreads, kThreads, 0, stream>>>(task);
  check_launch("resolving");
}

}  // namespace

void resolve(const ResolveTask& task, int multiprocessors, cudaStream_t stream) {
  const int64_t words = (task.points.n + 31) / 32;
  const int64_t values = task.ranges.most_clusters * task.points.d;
  // One prototype is the work of one thread where it is short, else of eight.
  const bool alone = task.points.d <= 2 * kLanes;
  const unsigned threads = values <= 16384 ? 32 : kThreads;
  if (values > 16384) resolve_in_slices(task, alone, stream);
  const int64_t resident = static_cast<int64_t>(multiprocessors) * (alone || threads == 32 ? 32 : 8);
  const int64_t all = words * task.ranges.count;
  const int together = static_cast<int>(std::clamp<int64_t>(all / resident, 1, 32));
  const int64_t most = std::max<int64_t>(1, resident / task.ranges.count);
  const dim3 grid(static_cast<unsigned>(std::min((words + together - 1) / together, most)),
                  static_cast<unsigned>(task.ranges.count));
  const bool floats = task.points.type == DataType::kFloat32;
  if (alone) {
    scan_kernel<true, false><<<grid, threads, 0, stream>>>(task, together);
  } else if (floats) {
    scan_kernel<false, true><<<grid, threads, 0, stream>>>(task, together);
  } else {
    scan_kernel<false, false><<<grid, threads, 0, stream>>>(task, together);
  }
  check_launch("resolving");
  if (task.list == nullptr) return;
  const auto blocks = static_cast<unsigned>(multiprocessors * 8);
  if (floats) {
    list_kernel<true><<<blocks, kThreads, 0, stream>>>(task);
  } else {
    list_kernel<false><<<blocks, kThreads, 0, stream>>>(task);
  }
  check_launch("resolving listed rows");
}

void mark_all(uint32_t* marks, int64_t mark_stride, int ranges, int64_t rows, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(((rows + 31) / 32 + kThreads - 1) / kThreads), static_cast<unsigned>(ranges));
  mark_kernel<<<grid, kThreads, 0, stream>>>(marks, mark_stride, rows);
  check_launch("marking rows");
}

void relabel_rows(const LabelRows& labels, int slot, int64_t rows, const uint32_t* table, cudaStream_t stream) {
  relabel_kernel<<<static_cast<unsigned>((rows + kThreads - 1) / kThreads), kThreads, 0, stream>>>(labels, slot, rows,
                                                                                                   table);
  check_launch("replacing labels");
}

}  // namespace manymeans::cuda
