// Sums of products over the rows that changed: a segmented update. The rows are in label order (label_order.h). A warp
// takes a share of the entries, one run of a cluster's rows after the other. It adds up 32 pairs of values, a lane
// each, in registers. At the end of a run the limbs go to the cluster's sums by integer atomics, whose order is free.
// The y index of a block is the group of 32 pairs; the blocks of x share the entries.
//
// Bound: a row adds (D + 2)(D + 3) / 2 - 1 pairs, each of two terms (one of float32 rows without weights). A term in G
// limbs takes 2 G - 1 conversions between binary64 and 64-bit integers. A multiprocessor of an H200 does at least 16 a
// clock: 1M rows of D = 16 with terms in three limbs take 0.5 ms or less. Rows are read once for each 32 pairs, from
// the second cache. All this is for a first pass; in later ones few rows change.
#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/exact/column_terms.cuh"
#include "backend/cuda/exact/label_changes.cuh"
#include "backend/cuda/exact/label_order.h"
#include "backend/cuda/exact/label_runs.cuh"
#include "backend/cuda/linear/linear_kernels.h"
#include "backend/cuda/linear/model_rows.cuh"
#include "backend/cuda/runtime/device_memory.h"

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;

// A value of a row, or the 1 behind all of them.
__device__ __forceinline__ double value_or_one(const DevicePoints& points, int64_t row, int j) {
  return j == points.d ? 1.0 : load_double(points, row * points.d + j);
}

__device__ __forceinline__ double weight_of(const DevicePoints& points, int64_t row) {
  return points.weights == nullptr ? 1.0 : points.weights[row];
}

// A pair and which one it is; lanes beyond the last pair repeat that one, and store nothing.
struct LanePair {
  int64_t number;
  ValuePair pair;
  bool stores;

  __device__ LanePair(int64_t wanted, int64_t d) {
    const int64_t count = ValuePair::count(d);
    stores = wanted < count;
    number = min(wanted, count - 1);
    pair.advance(static_cast<int>(number), static_cast<int>(d));
  }
};

// The addresses of one cluster's sums.
struct ClusterPlace {
  long long* sums;
  long long* weight;
  long long* count;
};

__device__ __forceinline__ ClusterPlace place_of(const ProductTask& task, const PassRange& range, int64_t label) {
  const int64_t of_cluster = 2 * ValuePair::count(task.rows.points.d) * task.formats.limbs;
  return {range.sums + label * of_cluster, range.weights + label, range.counts + label};
}

template <int kMax, bool kRests, bool kAll>
__device__ __forceinline__ void store_pair(const ProductTask& task, const LanePair& lane, long long* sums,
                                           const device::PairSums<kMax, kRests, kAll>& of_pair) {
  if (!lane.stores) return;
  const int64_t terms = 2 * ValuePair::count(task.rows.points.d);
#pragma unroll
  for (int s = 0; s < kMax; ++s) {
    if (s >= task.formats.limbs) continue;
    long long* const to = sums + (task.formats.limbs - 1 - s) * terms + 2 * lane.number;
    add_to(to, of_pair.product.limb[s]);
    if constexpr (kRests) add_to(to + 1, of_pair.rest.limb[s]);
  }
}

// Entries [begin, end), which are of one cluster.
struct Run {
  int64_t first_row;  // of the slice
  uint32_t begin;
  uint32_t end;
};

template <class Sums>
__device__ __forceinline__ Sums sum_of_run(const ProductTask& task, const Run& run, const LanePair& lane) {
  const DevicePoints& points = task.rows.points;
  Sums sums;
  for (uint32_t i = run.begin; i < run.end; i += kEntriesTogether) {
    double a[kEntriesTogether];
    double b[kEntriesTogether];
    double weight[kEntriesTogether];
#pragma unroll
    for (int r = 0; r < kEntriesTogether; ++r) {
      const uint32_t entry = task.rows.order.entries[min(i + r, run.end - 1)];
      const int64_t row = run.first_row + (entry & ~kLeaves);
      a[r] = value_or_one(points, row, lane.pair.i);
      b[r] = value_or_one(points, row, lane.pair.j);
      weight[r] = (entry & kLeaves) != 0 ? -weight_of(points, row) : weight_of(points, row);
    }
#pragma unroll
    for (int r = 0; r < kEntriesTogether; ++r) {
      if (i + r < run.end) sums.add(task.formats, lane.number, a[r], b[r], weight[r]);
    }
  }
  return sums;
}

// Weights and numbers of a run's rows, by all lanes of a warp.
__device__ void count_run(const ProductTask& task, const Run& run, const ClusterPlace& to) {
  int64_t weight = 0;
  int64_t count = 0;
  for (uint32_t i = run.begin + threadIdx.x % 32; i < run.end; i += 32) {
    const uint32_t entry = task.rows.order.entries[i];
    const int64_t of_row = integer_weight(task.rows, run.first_row + (entry & ~kLeaves));
    weight += (entry & kLeaves) != 0 ? -of_row : of_row;
    count += (entry & kLeaves) != 0 ? -1 : 1;
  }
  weight = warp_sum(weight);
  count = warp_sum(count);
  if (threadIdx.x % 32 != 0) return;
  add_to(to.weight, weight);
  add_to(to.count, count);
}

template <class Sums>
__global__ void __launch_bounds__(kThreads)
    product_kernel(const __grid_constant__ ProductTask task, int64_t first_row) {
  const PassRanges& ranges = task.rows.ranges;
  if (stopped(ranges)) return;
  const LabelOrder& order = task.rows.order;
  const uint32_t count = order.first[ranges.clusters];
  const uint32_t warps = gridDim.x * kWarps;
  const uint32_t chunk = entries_at_once(count, warps);
  const uint32_t warp = blockIdx.x * kWarps + threadIdx.x / 32;
  const LanePair lane(static_cast<int64_t>(blockIdx.y) * 32 + threadIdx.x % 32, task.rows.points.d);
  for (uint32_t start = warp * chunk; start < count; start += warps * chunk) {
    const uint32_t end = min(start + chunk, count);
    int64_t cluster = 0;
    for (uint32_t begin = start; begin < end;) {
      cluster = cluster_of_entry(order, ranges.clusters, cluster, begin);
      const Run run{first_row, begin, min(end, order.first[cluster + 1])};
      const PassRange range = range_of_cluster(ranges, cluster);
      const ClusterPlace to = place_of(task, range, cluster - range.first);
      store_pair(task, lane, to.sums, sum_of_run<Sums>(task, run, lane));
      if (blockIdx.y == 0) count_run(task, run, to);
      begin = run.end;
      ++cluster;
    }
  }
}

// One row; a thread takes every kThreads-th pair.
__global__ void __launch_bounds__(kThreads)
    product_row_kernel(ProductTask task, PassRange range, uint32_t label, int sign) {
  const DevicePoints& points = task.rows.points;
  const ClusterPlace to = place_of(task, range, label);
  const double weight = sign * weight_of(points, 0);
  for (int64_t p = threadIdx.x; p < ValuePair::count(points.d); p += kThreads) {
    const LanePair lane(p, points.d);
    device::PairSums<kMaxLimbs, true> sums;
    sums.add(task.formats, p, value_or_one(points, 0, lane.pair.i), value_or_one(points, 0, lane.pair.j), weight);
    store_pair(task, lane, to.sums, sums);
  }
  if (threadIdx.x != 0) return;
  add_to(to.weight, sign * integer_weight(task.rows, 0));
  add_to(to.count, sign);
}

template <class Sums>
void launch(const ProductTask& task, int64_t first_row, int multiprocessors, cudaStream_t stream) {
  const int64_t groups = (ValuePair::count(task.rows.points.d) + 31) / 32;
  const dim3 grid(static_cast<unsigned>(std::max<int64_t>(1, 10 * multiprocessors / groups)),
                  static_cast<unsigned>(groups));
  product_kernel<Sums><<<grid, kThreads, 0, stream>>>(task, first_row);
  check_launch("adding up products");
}

// Registers for all limbs, or some more; usual numbers of limbs are not tested in the kernel.
void add_in_order(const ProductTask& task, int64_t first_row, int multiprocessors, cudaStream_t stream) {
  using device::PairSums;
  const int limbs = task.formats.limbs;
  if (task.rests && limbs > 4) return launch<PairSums<kMaxLimbs, true>>(task, first_row, multiprocessors, stream);
  if (task.rests) return launch<PairSums<4, true>>(task, first_row, multiprocessors, stream);
  if (limbs <= 2) return launch<PairSums<2, false>>(task, first_row, multiprocessors, stream);
  if (limbs == 3) return launch<PairSums<3, false, true>>(task, first_row, multiprocessors, stream);
  launch<PairSums<4, false, true>>(task, first_row, multiprocessors, stream);
}

}  // namespace

void accumulate_products(const ProductTask& task, int multiprocessors, cudaStream_t stream) {
  const int64_t most = ordered_together(task.rows);
  for (int64_t first = 0; first < task.rows.points.n; first += most) {
    put_in_label_order(task.rows, {first, std::min(task.rows.points.n, first + most)}, multiprocessors, stream);
    add_in_order(task, first, multiprocessors, stream);
  }
}

void accumulate_products_of_row(const ProductTask& task, const PassRange& range, uint32_t cluster, int sign,
                                cudaStream_t stream) {
  product_row_kernel<<<1, kThreads, 0, stream>>>(task, range, cluster, sign);
  check_launch("moving a row");
}

}  // namespace manymeans::cuda
