#include "backend/cuda/exact/label_changes.cuh"
#include "backend/cuda/exact/label_order.h"
#include "backend/cuda/exact/label_runs.cuh"
#include "backend/cuda/runtime/device_memory.h"

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int64_t kMaxLocalClusters = 8192;  // of a range: a block counts them in its shared memory
constexpr int kScanThreads = 1024;
constexpr int kScanTogether = 4;

static_assert(kLabelOrderRows % kMaxChunk == 0, "no chunk reaches into the next slice");

// A range's rows in a slice.
struct RangeSlice {
  const PassRange& range;
  bool first_pass;
  OrderedRows slice;
};

// Counts the entries of each cluster among the chunks of this block.
__device__ void count_entries(const AccumulateTask& task, const RangeSlice& of, uint32_t* counts, Changes& changes) {
  const auto& [range, first_pass, slice] = of;
  const int64_t step = static_cast<int64_t>(gridDim.x) * task.chunk;
  for (int64_t first = slice.first + static_cast<int64_t>(blockIdx.x) * task.chunk; first < slice.end; first += step) {
    list_changes(task, range, first_pass, first, changes);
    for (int c = threadIdx.x; c < changes.count; c += kChangeThreads) {
      const int64_t row = first + changes.place[c];
      atomicAdd(counts + load_label(task.next, range.slot, row), 1U);
      if (!first_pass) atomicAdd(counts + load_label(task.current, range.slot, row), 1U);
    }
    __syncthreads();
  }
}

// A block's own counts of a range's clusters.
__device__ void clear_counts(uint32_t* counts, int64_t clusters) {
  for (int64_t c = threadIdx.x; c < clusters; c += kChangeThreads) counts[c] = 0;
  __syncthreads();
}

// order.next: how many entries each cluster has. blockIdx.y is the range; the blocks of x share its chunks.
template <bool kLocal>
__global__ void __launch_bounds__(kChangeThreads) count_kernel(AccumulateTask task, OrderedRows slice) {
  if (stopped(task.ranges)) return;
  extern __shared__ uint32_t local[];
  __shared__ Changes changes;
  const PassRange range = task.ranges.at[blockIdx.y];
  const RangeSlice of{range, in_first_pass(task.ranges, range), slice};
  uint32_t* const counts = task.order.next + range.first;
  if constexpr (kLocal) {
    clear_counts(local, range.k);
    count_entries(task, of, local, changes);
    for (int64_t c = threadIdx.x; c < range.k; c += kChangeThreads) {
      if (local[c] != 0) atomicAdd(counts + c, local[c]);
    }
  } else {
    count_entries(task, of, counts, changes);
  }
}

// The sum of `v` over the threads of the block before this one; `total` over all of them.
__device__ uint32_t block_exclusive_sum(uint32_t v, uint32_t* of_warp, uint32_t& total) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const uint32_t inclusive = warp_inclusive_sum(v);
  if (lane == 31) of_warp[warp] = inclusive;
  __syncthreads();
  if (warp == 0) of_warp[lane] = warp_inclusive_sum(of_warp[lane]);
  __syncthreads();
  const uint32_t before = warp == 0 ? 0 : of_warp[warp - 1];
  total = of_warp[kScanThreads / 32 - 1];
  __syncthreads();  // of_warp may be written again
  return before + inclusive - v;
}

// From the counts in order.next to the place of each cluster's first entry, in order.first and order.next. One block.
__global__ void __launch_bounds__(kScanThreads) scan_kernel(PassRanges ranges, LabelOrder order) {
  if (stopped(ranges)) return;
  __shared__ uint32_t of_warp[kScanThreads / 32];
  static_assert(kScanThreads / 32 == 32, "one warp adds up the warps");
  uint32_t before = 0;
  for (int64_t base = 0; base < ranges.clusters; base += kScanThreads * kScanTogether) {
    const int64_t first = base + static_cast<int64_t>(threadIdx.x) * kScanTogether;
    uint32_t counts[kScanTogether];
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < kScanTogether; ++i) {
      counts[i] = first + i < ranges.clusters ? order.next[first + i] : 0;
      sum += counts[i];
    }
    uint32_t total = 0;
    uint32_t place = before + block_exclusive_sum(sum, of_warp, total);
#pragma unroll
    for (int i = 0; i < kScanTogether; ++i) {
      if (first + i < ranges.clusters) order.first[first + i] = order.next[first + i] = place;
      place += counts[i];
    }
    before += total;
  }
  if (threadIdx.x == 0) order.first[ranges.clusters] = before;
}

// A place in the order for each entry of this block: counted first and reserved together, so that few atomic operations
// go to the device's memory.
__device__ void reserve_places(const AccumulateTask& task, const RangeSlice& of, uint32_t* local, Changes& changes) {
  clear_counts(local, of.range.k);
  count_entries(task, of, local, changes);
  for (int64_t c = threadIdx.x; c < of.range.k; c += kChangeThreads) {
    if (local[c] != 0) local[c] = atomicAdd(task.order.next + of.range.first + c, local[c]);
  }
  __syncthreads();
}

// Writes the entries, counts the changes and brings the labels up to date. `places`: each cluster's next place.
__device__ void place_entries(const AccumulateTask& task, const RangeSlice& of, uint32_t* places, Changes& changes) {
  const auto& [range, first_pass, slice] = of;
  LabelSumWords hash;
  unsigned long long changed = 0;
  const int64_t step = static_cast<int64_t>(gridDim.x) * task.chunk;
  for (int64_t first = slice.first + static_cast<int64_t>(blockIdx.x) * task.chunk; first < slice.end; first += step) {
    list_changes(task, range, first_pass, first, changes);
    changed += static_cast<unsigned long long>(changes.count);
    for (int c = threadIdx.x; c < changes.count; c += kChangeThreads) {
      const int64_t row = first + changes.place[c];
      const auto entry = static_cast<uint32_t>(row - slice.first);
      const uint32_t to = load_label(task.next, range.slot, row);
      const uint32_t from = label_before(task, range, first_pass, row);
      task.order.entries[atomicAdd(places + to, 1U)] = entry;
      store_label(task.current, range.slot, row, to);
      if (first_pass) continue;
      task.order.entries[atomicAdd(places + from, 1U)] = entry | kLeaves;
      hash.add(device_label_term(task.points.number + row, to));
      hash.subtract(device_label_term(task.points.number + row, from));
    }
    __syncthreads();
  }
  count_changes(task.ranges.counters[blockIdx.y], changed, hash);
}

// blockIdx.y is the range; the blocks of x share its chunks.
template <bool kLocal>
__global__ void __launch_bounds__(kChangeThreads) place_kernel(AccumulateTask task, OrderedRows slice) {
  if (stopped(task.ranges)) return;
  extern __shared__ uint32_t local[];
  __shared__ Changes changes;
  const PassRange range = task.ranges.at[blockIdx.y];
  const RangeSlice of{range, in_first_pass(task.ranges, range), slice};
  if constexpr (kLocal) {
    reserve_places(task, of, local, changes);
    place_entries(task, of, local, changes);
  } else {
    place_entries(task, of, task.order.next + range.first, changes);
  }
}

}  // namespace

void put_in_label_order(AccumulateTask task, const OrderedRows& slice, int multiprocessors, cudaStream_t stream) {
  const int64_t blocks = std::max<int64_t>(1, 4 * multiprocessors / task.ranges.count);
  const int64_t rows = slice.end - slice.first;
  task.chunk = kMaxChunk;
  while (task.chunk > 256 && rows < blocks * task.chunk) task.chunk /= 2;
  const dim3 grid(static_cast<unsigned>(std::min(blocks, (rows + task.chunk - 1) / task.chunk)),
                  static_cast<unsigned>(task.ranges.count));
  const bool local = task.ranges.max_clusters <= kMaxLocalClusters;
  const size_t shared = local ? static_cast<size_t>(task.ranges.max_clusters) * sizeof(uint32_t) : 0;
  fill_zero(task.order.next, static_cast<size_t>(task.ranges.clusters), stream, "clearing counts of changes");
  (local ? count_kernel<true> : count_kernel<false>)<<<grid, kChangeThreads, shared, stream>>>(task, slice);
  check_launch("counting changes");
  scan_kernel<<<1, kScanThreads, 0, stream>>>(task.ranges, task.order);
  check_launch("ordering changes");
  (local ? place_kernel<true> : place_kernel<false>)<<<grid, kChangeThreads, shared, stream>>>(task, slice);
  check_launch("ordering changes");
}

int64_t ordered_together(const AccumulateTask& task) {
  return task.order.capacity / (2 * task.ranges.count) / kLabelOrderRows * kLabelOrderRows;
}

}  // namespace manymeans::cuda
