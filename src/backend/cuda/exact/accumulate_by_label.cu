// Sums by label order: a counting sort of the rows that entered or left a cluster, then sums over each cluster's rows.
//
// What bounds it: a row is read once for the cluster it enters and once for the one it leaves, that is changes x 2 x D
// values (x 1 in a first pass); the labels are read three times, and an entry is written and read, of 4 bytes.
#include <manymeans/error.h>

#include "backend/cuda/device/point_value.cuh"
#include "backend/cuda/exact/accumulate_by_label.h"
#include "backend/cuda/exact/column_terms.cuh"
#include "backend/cuda/exact/label_changes.cuh"
#include "backend/cuda/runtime/device_memory.h"

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int64_t kMostLocalClusters = 8192;  // of a range: a block counts them in its shared memory
constexpr int kScanThreads = 1024;
constexpr int kScanTogether = 4;
constexpr int kSumThreads = 128;
constexpr int kLaneColumns = kLabelOrderColumns / 32;  // of a lane
constexpr int kEntriesTogether = 4;                    // rows that a warp loads at once
constexpr uint32_t kLeaves = 1U << 31;                 // of an entry; the rest is the row, from the slice's first on

static_assert(kLabelOrderRows % kMostChunk == 0, "no chunk reaches into the next slice");

// Rows that are put in order together.
struct Slice {
  int64_t first;
  int64_t end;
};

// A range's rows in a slice.
struct RangeSlice {
  const PassRange& range;
  bool first_pass;
  Slice slice;
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
__global__ void __launch_bounds__(kChangeThreads) count_kernel(AccumulateTask task, Slice slice) {
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
__global__ void __launch_bounds__(kChangeThreads) place_kernel(AccumulateTask task, Slice slice) {
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

// The columns of a lane, 32 apart, and the sums over a run of rows of one cluster.
template <int kLimbs>
struct LaneSums {
  int rounds;                    // columns of the warp's lanes, as far as the points have them
  int32_t column[kLaneColumns];  // those beyond the last column read the last one, and are not stored
  double top[kLaneColumns];
  int64_t sums[kLaneColumns][kLimbs];
  int64_t weight;
  int64_t count;

  __device__ __forceinline__ int32_t first_column() const {
    return static_cast<int32_t>(blockIdx.y) * kLabelOrderColumns + static_cast<int32_t>(threadIdx.x) % 32;
  }
  __device__ __forceinline__ void start(const AccumulateTask& task) {
    const auto d = static_cast<int32_t>(task.points.d);
    const int32_t left = d - static_cast<int32_t>(blockIdx.y) * kLabelOrderColumns;
    rounds = left >= kLabelOrderColumns ? kLaneColumns : (left + 31) / 32;
#pragma unroll
    for (int c = 0; c < kLaneColumns; ++c) {
      column[c] = min(first_column() + 32 * c, d - 1);
      top[c] = top_of(task.terms, column[c]);
    }
    clear();
  }
  __device__ __forceinline__ void clear() {
    weight = count = 0;
#pragma unroll
    for (int c = 0; c < kLaneColumns; ++c) {
#pragma unroll
      for (int g = 0; g < kLimbs; ++g) sums[c][g] = 0;
    }
  }
};

template <class T, int kLimbs>
__device__ __forceinline__ void load_row(const AccumulateTask& task, int64_t row, const LaneSums<kLimbs>& lane,
                                         T (&values)[kLaneColumns]) {
  const T* from = static_cast<const T*>(task.points.data) + row * task.points.d;
#pragma unroll
  for (int c = 0; c < kLaneColumns; ++c) {
    if (c < lane.rounds) values[c] = from[lane.column[c]];
  }
}

// kPlain: there are no weights, and the columns' powers of two are at hand.
template <bool kPlain, class T, int kLimbs>
__device__ __forceinline__ void add_row(const AccumulateTask& task, int64_t row, bool leaves,
                                        const T (&values)[kLaneColumns], LaneSums<kLimbs>& lane) {
  const double* weights = kPlain ? nullptr : task.points.weights;
  const double weight = weights != nullptr ? weights[row] : 1;
#pragma unroll
  for (int c = 0; c < kLaneColumns; ++c) {
    if (c >= lane.rounds) continue;
    double v = widened(values[c]);
    if (weights != nullptr) v = __dmul_rn(weight, v);
    const double y = kPlain ? __dmul_rn(v, lane.top[c]) : scaled_term(task.terms, v, lane.top[c], lane.column[c]);
    split_term<kLimbs>(task.terms, leaves ? -y : y, [&](int g, int64_t part) { lane.sums[c][g] += part; });
  }
  if (blockIdx.y != 0) return;
  const int64_t integer = kPlain ? 1 : integer_weight(task, row);
  lane.weight += leaves ? -integer : integer;
  lane.count += leaves ? -1 : 1;
}

// Adds the rows of the entries from `begin` to `end`, which are of one cluster.
template <class T, bool kPlain, int kLimbs>
__device__ __forceinline__ void add_run(const AccumulateTask& task, int64_t first_row, uint32_t begin, uint32_t end,
                                        LaneSums<kLimbs>& lane) {
  for (uint32_t i = begin; i < end; i += kEntriesTogether) {
    uint32_t entry[kEntriesTogether];
    T values[kEntriesTogether][kLaneColumns];
#pragma unroll
    for (int r = 0; r < kEntriesTogether; ++r) entry[r] = task.order.entries[min(i + r, end - 1)];
#pragma unroll
    for (int r = 0; r < kEntriesTogether; ++r) load_row(task, first_row + (entry[r] & ~kLeaves), lane, values[r]);
#pragma unroll
    for (int r = 0; r < kEntriesTogether; ++r) {
      if (i + r >= end) continue;
      add_row<kPlain>(task, first_row + (entry[r] & ~kLeaves), (entry[r] & kLeaves) != 0, values[r], lane);
    }
  }
}

// The range of a cluster among those of all ranges.
__device__ __forceinline__ PassRange range_of_cluster(const PassRanges& ranges, int64_t cluster) {
  int low = 0;
  int high = ranges.count - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (ranges.at[middle].first <= cluster) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return ranges.at[low];
}

// The lanes' sums into the cluster's, and from zero again.
template <int kLimbs>
__device__ __forceinline__ void store_sums(const AccumulateTask& task, int64_t cluster, LaneSums<kLimbs>& lane) {
  const PassRange range = range_of_cluster(task.ranges, cluster);
  const int64_t label = cluster - range.first;
  const int64_t d = task.points.d;
#pragma unroll
  for (int c = 0; c < kLaneColumns; ++c) {
    const int32_t j = lane.first_column() + 32 * c;
    if (j >= d) continue;
#pragma unroll
    for (int g = 0; g < kLimbs; ++g) add_to(range.sums + (label * kLimbs + g) * d + j, lane.sums[c][g]);
  }
  if (blockIdx.y == 0 && threadIdx.x % 32 == 0) {
    add_to(range.weights + label, lane.weight);
    add_to(range.counts + label, lane.count);
  }
  lane.clear();
}

// The cluster of an entry: the last one of `from` and those after it that does not start behind the entry.
__device__ __forceinline__ int64_t cluster_of_entry(const LabelOrder& order, int64_t clusters, int64_t from,
                                                    uint32_t entry) {
  if (order.first[from + 1] > entry) return from;
  int64_t low = from + 1;
  int64_t high = clusters - 1;
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (order.first[middle] <= entry) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// The entries that a warp takes at once: few where there are few, so that all warps have some; many where there are
// many, so that sums are stored seldom.
__device__ __forceinline__ uint32_t entries_at_once(uint32_t count, uint32_t warps) {
  const uint32_t share = (count + warps - 1) / warps;
  return min(max((share + kEntriesTogether - 1) / kEntriesTogether * kEntriesTogether, 16U), 256U);
}

// blockIdx.y is a group of columns; the warps of x share the entries.
template <class T, int kLimbs, bool kPlain>
__global__ void __launch_bounds__(kSumThreads, kPlain&& kLimbs < 3 && sizeof(T) < 8 ? 5 : 4)
    sum_kernel(const __grid_constant__ AccumulateTask task, int64_t first_row) {
  if (stopped(task.ranges)) return;
  const LabelOrder& order = task.order;
  const int64_t clusters = task.ranges.clusters;
  const uint32_t count = order.first[clusters];
  const uint32_t warps = gridDim.x * (kSumThreads / 32);
  const uint32_t chunk = entries_at_once(count, warps);
  const uint32_t warp = blockIdx.x * (kSumThreads / 32) + threadIdx.x / 32;
  if (warp * chunk >= count) return;
  LaneSums<kLimbs> lane;
  lane.start(task);
  for (uint32_t start = warp * chunk; start < count; start += warps * chunk) {
    const uint32_t end = min(start + chunk, count);
    int64_t cluster = 0;
    for (uint32_t begin = start; begin < end;) {
      cluster = cluster_of_entry(order, clusters, cluster, begin);
      const uint32_t run_end = min(end, order.first[cluster + 1]);
      add_run<T, kPlain>(task, first_row, begin, run_end, lane);
      store_sums(task, cluster, lane);
      begin = run_end;
      ++cluster;
    }
  }
}

void put_in_order(AccumulateTask task, const Slice& slice, int multiprocessors, cudaStream_t stream) {
  const int64_t blocks = std::max<int64_t>(1, 4 * multiprocessors / task.ranges.count);
  const int64_t rows = slice.end - slice.first;
  task.chunk = kMostChunk;
  while (task.chunk > 256 && rows < blocks * task.chunk) task.chunk /= 2;
  const dim3 grid(static_cast<unsigned>(std::min(blocks, (rows + task.chunk - 1) / task.chunk)),
                  static_cast<unsigned>(task.ranges.count));
  const bool local = task.ranges.most_clusters <= kMostLocalClusters;
  const size_t shared = local ? static_cast<size_t>(task.ranges.most_clusters) * sizeof(uint32_t) : 0;
  fill_zero(task.order.next, static_cast<size_t>(task.ranges.clusters), stream, "clearing counts of changes");
  (local ? count_kernel<true> : count_kernel<false>)<<<grid, kChangeThreads, shared, stream>>>(task, slice);
  check_launch("counting changes");
  scan_kernel<<<1, kScanThreads, 0, stream>>>(task.ranges, task.order);
  check_launch("ordering changes");
  (local ? place_kernel<true> : place_kernel<false>)<<<grid, kChangeThreads, shared, stream>>>(task, slice);
  check_launch("ordering changes");
}

template <class T, int kLimbs>
void launch_sums(const AccumulateTask& task, int64_t first_row, int multiprocessors, cudaStream_t stream) {
  const int64_t groups = (task.points.d + kLabelOrderColumns - 1) / kLabelOrderColumns;
  const dim3 grid(static_cast<unsigned>(std::max<int64_t>(1, 10 * multiprocessors / groups)),
                  static_cast<unsigned>(groups));
  const bool plain = task.terms.tops != nullptr && task.points.weights == nullptr;
  const auto kernel = plain ? sum_kernel<T, kLimbs, true> : sum_kernel<T, kLimbs, false>;
  kernel<<<grid, kSumThreads, 0, stream>>>(task, first_row);
  check_launch("adding up clusters");
}

template <class T>
void add_in_order(const AccumulateTask& task, int64_t first_row, int multiprocessors, cudaStream_t stream) {
  switch (task.terms.limbs) {
    case 1: return launch_sums<T, 1>(task, first_row, multiprocessors, stream);
    case 2: return launch_sums<T, 2>(task, first_row, multiprocessors, stream);
    case 3: return launch_sums<T, 3>(task, first_row, multiprocessors, stream);
    default: throw Error(ErrorCode::kInternal, "sums by label", "they have registers for three limbs");
  }
}

}  // namespace

void accumulate_by_label(const AccumulateTask& task, int multiprocessors, cudaStream_t stream) {
  const int64_t most = task.order.capacity / (2 * task.ranges.count) / kLabelOrderRows * kLabelOrderRows;
  if (most == 0) throw Error(ErrorCode::kInternal, "sums by label", "there is no room for the rows of a slice");
  for (int64_t first = 0; first < task.points.n; first += most) {
    const Slice slice{first, std::min(task.points.n, first + most)};
    put_in_order(task, slice, multiprocessors, stream);
    dispatch_type(task.points.type,
                  [&](auto sample) { add_in_order<decltype(sample)>(task, slice.first, multiprocessors, stream); });
  }
}

}  // namespace manymeans::cuda
