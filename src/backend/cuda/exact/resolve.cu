#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/exact/nearest.cuh"
#include "backend/cuda/exact/resolve.h"
#include "backend/cuda/runtime/dependent_launch.cuh"
#include "backend/cuda/runtime/device_memory.h"

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;

__device__ bool nothing_marked(const ResolveTask& task) {
  return stopped(task.ranges) || (task.marked != nullptr && *task.marked == 0);
}

__device__ void mark_row(const ResolveTask& task, int64_t range, int64_t row) {
  atomicOr(task.marks + range * task.mark_stride + row / 32, 1U << (row % 32));
  *task.marked = 1;
}

// A block looks at `together` words of marks at a time, at most 32; blockIdx.y is the range.
template <bool kFloats>
__global__ void scan_kernel(ResolveTask task, int together) {
  await_kernel_before();
  let_next_kernel_come();
  if (nothing_marked(task)) return;
  __shared__ SliceNearest of_warps[kThreads / 32];
  __shared__ uint32_t words_here[32];
  const PassRange range = task.ranges.at[blockIdx.y];
  const int64_t words = (task.points.n + 31) / 32;
  unsigned long long resolved = 0;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * together; first < words;
       first += static_cast<int64_t>(gridDim.x) * together) {
    uint32_t mine = 0;
    if (threadIdx.x < together && first + threadIdx.x < words) {
      uint32_t& word = task.marks[blockIdx.y * task.mark_stride + first + threadIdx.x];
      mine = word;
      if (mine != 0) word = 0;
    }
    if (__syncthreads_or(mine != 0) == 0) continue;
    if (threadIdx.x < 32) words_here[threadIdx.x] = mine;
    __syncthreads();
    for (int w = 0; w < together; ++w) {
      for (uint32_t word = words_here[w]; word != 0; word &= word - 1) {
        const int64_t row = (first + w) * 32 + __ffs(static_cast<int>(word)) - 1;
        const Nearest nearest =
            nearest_of<kFloats>(task.points, {range, task.ranges.float64, row, 0, range.k}, true, of_warps);
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
__global__ void split_kernel(ResolveTask task) {
  if (nothing_marked(task)) return;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at * 32 >= task.points.n) return;
  uint32_t& word = task.marks[blockIdx.y * task.mark_stride + at];
  // Without room the count does not matter, and it stops growing here. So it cannot wrap around to places that are
  // taken, for any number of rows and models.
  if (word == 0 || *static_cast<const volatile uint32_t*>(task.split_count) >= kMaxSplit) return;
  take_marked(word, at, task.split_count, kMaxSplit,
              [&](int64_t place, int64_t row) { task.split[place] = {row, static_cast<int32_t>(blockIdx.y)}; });
}

// blockIdx.x is the slice; the blocks of y share the rows.
template <bool kFloats>
__global__ void slice_kernel(ResolveTask task) {
  if (stopped(task.ranges)) return;
  __shared__ SliceNearest of_warps[kThreads / 32];
  const uint32_t count = min(*task.split_count, static_cast<uint32_t>(kMaxSplit));
  for (uint32_t i = blockIdx.y; i < count; i += gridDim.y) {
    const SplitRow row = task.split[i];
    const PassRange range = task.ranges.at[row.range];
    const Nearest nearest =
        nearest_of<kFloats>(task.points,
                            {range, task.ranges.float64, row.row, range.k * blockIdx.x / kSplitSlices,
                             range.k * (blockIdx.x + 1) / kSplitSlices},
                            true, of_warps);
    if (threadIdx.x == 0) task.nearest[i * kSplitSlices + blockIdx.x] = nearest;
  }
}

// A thread a row.
__global__ void join_kernel(ResolveTask task) {
  if (stopped(task.ranges)) return;
  const uint32_t count = min(*task.split_count, static_cast<uint32_t>(kMaxSplit));
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const SplitRow row = task.split[i];
  const PassRange range = task.ranges.at[row.range];
  Nearest nearest{INFINITY, range.k};
  for (int s = 0; s < kSplitSlices; ++s) {
    nearest.take(task.nearest[i * kSplitSlices + s].distance, task.nearest[i * kSplitSlices + s].k);
  }
  store_label(task.next, range.slot, row.row, static_cast<uint32_t>(nearest.k));
  PassCounters& counters = task.ranges.counters[row.range];
  atomicAdd(&counters.resolved, 1ULL);
  atomicAdd(&counters.candidates, static_cast<unsigned long long>(range.k));
}

// A thread a word of marks; blockIdx.y is the range.
__global__ void overflow_kernel(ResolveTask task) {
  if (stopped(task.ranges)) return;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at * 32 >= task.points.n) return;
  const OverflowRows& overflow = task.overflow;
  OverflowRow* const rows = overflow.rows + static_cast<int64_t>(blockIdx.y) * overflow.capacity;
  const bool left =
      take_marked(task.marks[blockIdx.y * task.mark_stride + at], at, overflow.counts + blockIdx.y, overflow.capacity,
                  [&](int64_t place, int64_t row) { rows[place] = {static_cast<int32_t>(row), -INFINITY}; });
  if (left) *task.marked = 1;
}

// Rows and candidates that a block has resolved; added to the ranges' counters at its end.
struct Tally {
  unsigned long long rows = 0, candidates = 0;
};

// The nearest of a row's candidates, by eight threads; the first writes its label.
template <bool kFloats>
__device__ __forceinline__ void choose(const ResolveTask& task, const PassRange& range, int64_t row,
                                       const uint32_t* candidates, int count) {
  const int lane = threadIdx.x % kLanes;
  const unsigned mask = 0xffU << (threadIdx.x % 32 / kLanes * kLanes);
  Nearest nearest{INFINITY, range.k};
  int c = 0;
  for (; c + 1 < count; c += 2) {
    const auto two =
        distances_of_two<kFloats>(task.points, {range, task.ranges.float64, row, candidates + c}, lane, mask);
    nearest.take(two.d2[0], candidates[c]);
    nearest.take(two.d2[1], candidates[c + 1]);
  }
  if (c < count) {
    const long long k = candidates[c];
    nearest.take(distance_by_lanes<kFloats>(task.points, {range, task.ranges.float64, row, k}, lane, mask), k);
  }
  if (lane == 0) store_label(task.next, range.slot, row, static_cast<uint32_t>(nearest.k));
}

// Eight threads an entry of the list; a few of the blocks.
template <bool kFloats>
__device__ void choose_few(const ResolveTask& task, Tally& tally) {
  const uint32_t listed = min(*task.few_count, task.few_capacity);
  const int64_t teams = static_cast<int64_t>(task.few_blocks) * (kThreads / kLanes);
  for (int64_t i = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kLanes; i < listed; i += teams) {
    const FewRow& entry = task.few[i];
    if (entry.count == 0 || task.far[entry.range] != 0) continue;
    choose<kFloats>(task, task.ranges.at[entry.range], entry.row, entry.candidates, entry.count);
    if (threadIdx.x % kLanes != 0) continue;
    if (task.ranges.count == 1) {
      ++tally.rows;
      tally.candidates += static_cast<unsigned>(entry.count);
      continue;
    }
    PassCounters& counters = task.ranges.counters[entry.range];
    atomicAdd(&counters.resolved, 1ULL);
    atomicAdd(&counters.candidates, static_cast<unsigned long long>(entry.count));
  }
}

// The blocks that share the overflow rows of a range, and which of them this one is.
struct Share {
  int range;
  int64_t block;
  int64_t blocks;
};

// Eight threads an overflow row of the range, whose prototypes were gathered.
template <bool kFloats>
__device__ void choose_gathered(const ResolveTask& task, const Share& share, Tally& tally) {
  const auto& [r, block, blocks] = share;
  const OverflowRows& overflow = task.overflow;
  const PassRange range = task.ranges.at[r];
  const int64_t first = static_cast<int64_t>(r) * overflow.capacity;
  const int64_t count = min(overflow.counts[r], overflow.capacity);
  for (int64_t i = (block * kThreads + threadIdx.x) / kLanes; i < count; i += blocks * (kThreads / kLanes)) {
    const int64_t row = overflow.rows[first + i].row;
    const uint32_t found = overflow.found[first + i];
    if (found == 0 || found > kMaxGathered) {
      if (threadIdx.x % kLanes == 0) mark_row(task, r, row);
      continue;
    }
    choose<kFloats>(task, range, row, overflow.prototypes + (first + i) * kMaxGathered, static_cast<int>(found));
    if (threadIdx.x % kLanes != 0) continue;
    ++tally.rows;
    tally.candidates += found;
  }
}

// The overflow rows of the range get all canonical distances: each by a block if they are few, else by a warp.
template <bool kFloats>
__device__ void choose_of_all(const ResolveTask& task, const Share& share, SliceNearest* of_warps, Tally& tally) {
  const auto& [r, block, blocks] = share;
  const OverflowRows& overflow = task.overflow;
  const PassRange range = task.ranges.at[r];
  const int64_t count = min(overflow.counts[r], overflow.capacity);
  const bool by_block = count <= blocks;
  const int64_t team = by_block ? block : block * (kThreads / 32) + threadIdx.x / 32;
  const int64_t teams = by_block ? blocks : blocks * (kThreads / 32);
  for (int64_t i = team; i < count; i += teams) {
    const int64_t row = overflow.rows[static_cast<int64_t>(r) * overflow.capacity + i].row;
    const Nearest nearest =
        nearest_of<kFloats>(task.points, {range, task.ranges.float64, row, 0, range.k}, by_block, of_warps);
    if ((by_block ? threadIdx.x : threadIdx.x % 32) != 0) continue;
    store_label(task.next, range.slot, row, static_cast<uint32_t>(nearest.k));
    ++tally.rows;
    tally.candidates += static_cast<unsigned long long>(range.k);
  }
}

// 32 marks, but for those beyond the last row.
__device__ __forceinline__ uint32_t all_marks(int64_t rows, int64_t word) {
  const int64_t left = rows - word * 32;
  return left >= 32 ? ~0U : (1U << left) - 1;
}

// A range that could not be screened: every prototype is possible for its rows.
__device__ void mark_range(const ResolveTask& task, const Share& share) {
  const auto& [r, block, blocks] = share;
  uint32_t* const marks = task.marks + r * task.mark_stride;
  for (int64_t word = block * kThreads + threadIdx.x; word * 32 < task.points.n; word += blocks * kThreads) {
    marks[word] = all_marks(task.points.n, word);
  }
  *task.marked = 1;
}

// The first blocks take the list, the others the overflow rows, range by range in turn.
template <bool kFloats>
__global__ void few_kernel(ResolveTask task) {
  await_kernel_before();
  if (stopped(task.ranges)) return;
  __shared__ SliceNearest of_warps[kThreads / 32];
  __shared__ unsigned long long rows_here, candidates_here;
  if (threadIdx.x == 0) rows_here = candidates_here = 0;
  __syncthreads();
  Tally tally;
  int range = 0;
  if (blockIdx.x < task.few_blocks) {
    choose_few<kFloats>(task, tally);
  } else {
    const unsigned other = blockIdx.x - task.few_blocks;
    const auto ranges = static_cast<unsigned>(task.ranges.count);
    range = static_cast<int>(other % ranges);
    const Share share{range, other / ranges, (gridDim.x - task.few_blocks) / ranges};
    if (task.far != nullptr && task.far[range] != 0) {
      mark_range(task, share);
    } else if (task.gathered) {
      choose_gathered<kFloats>(task, share, tally);
    } else {
      choose_of_all<kFloats>(task, share, of_warps, tally);
    }
  }
  if (tally.rows != 0) {
    atomicAdd(&rows_here, tally.rows);
    atomicAdd(&candidates_here, tally.candidates);
  }
  __syncthreads();
  if (threadIdx.x != 0 || rows_here == 0) return;
  atomicAdd(&task.ranges.counters[range].resolved, rows_here);
  atomicAdd(&task.ranges.counters[range].candidates, candidates_here);
}

__global__ void mark_kernel(uint32_t* marks, int64_t mark_stride, int64_t rows) {
  const int64_t word = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (word * 32 >= rows) return;
  marks[blockIdx.y * mark_stride + word] = all_marks(rows, word);
}

__global__ void renumber_kernel(LabelRows labels, int slot, int64_t rows, const uint32_t* table) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (row < rows) store_label(labels, slot, row, table[load_label(labels, slot, row)]);
}

// A thread a word of marks, a y a range.
dim3 grid_of_marks(int64_t rows, int ranges) {
  const int64_t words = (rows + 31) / 32;
  return dim3(static_cast<unsigned>((words + kThreads - 1) / kThreads), static_cast<unsigned>(ranges));
}

// Calls launch with whether points are float32.
template <class Launch>
void for_points(const ResolveTask& task, const Launch& launch) {
  if (task.points.type == DataType::kFloat32) return launch.template operator()<true>();
  launch.template operator()<false>();
}

// A few rows and many prototypes: every row by many blocks.
void resolve_in_slices(const ResolveTask& task, cudaStream_t stream) {
  gather_split_rows(task, stream);
  for_points(task,
             [&]<bool kFloats>() { slice_kernel<kFloats><<<dim3(kSplitSlices, 128), kThreads, 0, stream>>>(task); });
  check_launch("resolving");
  join_kernel<<<kMaxSplit / kThreads, kThreads, 0, stream>>>(task);
  check_launch("resolving");
}

}  // namespace

void overflow_marked(const ResolveTask& task, cudaStream_t stream) {
  overflow_kernel<<<grid_of_marks(task.points.n, task.ranges.count), kThreads, 0, stream>>>(task);
  check_launch("gathering rows");
}

void gather_split_rows(const ResolveTask& task, cudaStream_t stream) {
  split_kernel<<<grid_of_marks(task.points.n, task.ranges.count), kThreads, 0, stream>>>(task);
  check_launch("gathering rows");
}

void resolve_few(const ResolveTask& given, int multiprocessors, cudaStream_t stream) {
  ResolveTask task = given;
  const auto blocks = static_cast<unsigned>(multiprocessors * 8);
  task.few_blocks = task.few == nullptr ? 0 : blocks;
  const auto ranges = static_cast<unsigned>(task.ranges.count);
  const unsigned grid = task.few_blocks + std::max(1U, blocks / ranges) * ranges;
  for_points(task, [&]<bool kFloats>() {
    launch_dependent(few_kernel<kFloats>, {grid, kThreads, 0, stream}, "resolving listed rows", task);
  });
}

void resolve_all(const ResolveTask& task, int multiprocessors, cudaStream_t stream) {
  const int64_t words = (task.points.n + 31) / 32;
  const bool direct = task.ranges.max_clusters * task.points.d <= kDirectValues;
  const int threads = direct ? 32 : kThreads;
  if (!direct) resolve_in_slices(task, stream);
  const int64_t resident = static_cast<int64_t>(multiprocessors) * (direct ? 32 : 8);
  const int64_t all = words * task.ranges.count;
  const int together = static_cast<int>(std::clamp<int64_t>(all / resident, 1, 32));
  // Where there are hardly any marks, a launch costs what its blocks do.
  const int64_t most = std::max<int64_t>(1, (task.marked == nullptr ? resident : resident / 8) / task.ranges.count);
  const dim3 grid(static_cast<unsigned>(std::min((words + together - 1) / together, most)),
                  static_cast<unsigned>(task.ranges.count));
  for_points(task, [&]<bool kFloats>() {
    launch_dependent(scan_kernel<kFloats>, {grid, threads, 0, stream}, "resolving", task, together);
  });
}

void mark_all(uint32_t* marks, int64_t mark_stride, int ranges, int64_t rows, cudaStream_t stream) {
  mark_kernel<<<grid_of_marks(rows, ranges), kThreads, 0, stream>>>(marks, mark_stride, rows);
  check_launch("marking rows");
}

void renumber_rows(const LabelRows& labels, int slot, int64_t rows, const uint32_t* table, cudaStream_t stream) {
  renumber_kernel<<<static_cast<unsigned>((rows + kThreads - 1) / kThreads), kThreads, 0, stream>>>(labels, slot, rows,
                                                                                                    table);
  check_launch("replacing labels");
}

}  // namespace manymeans::cuda
