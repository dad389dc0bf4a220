// Sums by label order: a counting sort of the rows that entered or left a cluster, then sums over each cluster's rows.
//
// Cost: a row is read once for the cluster it enters and once for the one it leaves. So changes x 2 x D values are read
// (x 1 in a first pass). The labels are read three times. An entry of 4 bytes is written and read.
#include <manymeans/error.h>

#include "backend/cuda/device/point_value.cuh"
#include "backend/cuda/exact/accumulate_by_label.h"
#include "backend/cuda/exact/column_terms.cuh"
#include "backend/cuda/exact/label_changes.cuh"
#include "backend/cuda/exact/label_order.h"
#include "backend/cuda/exact/label_runs.cuh"
#include "backend/cuda/runtime/device_memory.h"

#include <algorithm>
#include <type_traits>

namespace manymeans::cuda {
namespace {

constexpr int kSumThreads = 128;
constexpr int kMaxRounds = kLabelOrderColumns / 32;

// A kernel's case. kRounds: the number of columns of each lane, 32 apart; 0: it differs between groups. kPlain:
// AccumulateTask::plain().
template <class T_, int kLimbs_, bool kPlain_, int kRounds_>
struct SumCase {
  using T = T_;
  static constexpr int kLimbs = kLimbs_;
  static constexpr bool kPlain = kPlain_;
  static constexpr int kRounds = kRounds_;
  static constexpr int kColumns = kRounds > 0 ? kRounds : kMaxRounds;  // of a lane
  static constexpr int kTogether = kColumns <= 2 ? 8 : 4;              // rows that a warp loads at once
  // Of a multiprocessor: as many as have room for the registers.
  static constexpr int kBlocks = !kPlain || kLimbs > 2 || sizeof(T) > 4 ? 4 : kColumns == 4 ? 5 : 6;
};

// The columns of a lane, and the sums over a run of rows of one cluster.
template <class Case>
struct LaneSums {
  static constexpr int kColumns = Case::kColumns;
  int rounds;                // columns of the warp's lanes, as far as the points have them
  int32_t column[kColumns];  // those beyond the last column read the last one, and are not stored
  double factor[kColumns];   // factor_of() in plain kernels, else top_of()
  int64_t sums[kColumns][Case::kLimbs];
  int64_t weight;
  int64_t count;

  __device__ __forceinline__ int32_t first_column() const {
    return static_cast<int32_t>(blockIdx.y) * kLabelOrderColumns + static_cast<int32_t>(threadIdx.x) % 32;
  }
  __device__ __forceinline__ bool has(int c) const { return Case::kRounds > 0 || c < rounds; }
  __device__ __forceinline__ void start(const AccumulateTask& task) {
    const auto d = static_cast<int32_t>(task.points.d);
    const int32_t left = d - static_cast<int32_t>(blockIdx.y) * kLabelOrderColumns;
    rounds = left >= kLabelOrderColumns ? kMaxRounds : (left + 31) / 32;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      column[c] = min(first_column() + 32 * c, d - 1);
      factor[c] = Case::kPlain ? factor_of<typename Case::T>(task.terms, column[c]) : top_of(task.terms, column[c]);
    }
    clear();
  }
  __device__ __forceinline__ void clear() {
    weight = count = 0;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
#pragma unroll
      for (int g = 0; g < Case::kLimbs; ++g) sums[c][g] = 0;
    }
  }
};

template <class Case>
__device__ __forceinline__ void load_row(const AccumulateTask& task, int64_t row, const LaneSums<Case>& lane,
                                         typename Case::T (&values)[Case::kColumns]) {
  const auto* from = static_cast<const typename Case::T*>(task.points.data) + row * task.points.d;
#pragma unroll
  for (int c = 0; c < Case::kColumns; ++c) {
    if (lane.has(c)) values[c] = from[lane.column[c]];
  }
}

template <class Case>
__device__ __forceinline__ void add_row(const AccumulateTask& task, int64_t row, bool leaves,
                                        const typename Case::T (&values)[Case::kColumns], LaneSums<Case>& lane) {
  const double* weights = Case::kPlain ? nullptr : task.points.weights;
  const double weight = weights != nullptr ? weights[row] : 1;
#pragma unroll
  for (int c = 0; c < Case::kColumns; ++c) {
    if (!lane.has(c)) continue;
    const auto add = [&](int g, int64_t part) { lane.sums[c][g] += part; };
    if constexpr (Case::kPlain) {
      split_rounded<Case::kLimbs>(task.terms, narrowed(values[c], leaves ? 1U << 31 : 0), lane.factor[c], add);
    } else {
      double v = widened(values[c]);
      if (weights != nullptr) v = __dmul_rn(weight, v);
      const double y = scaled_term(task.terms, v, lane.factor[c], lane.column[c]);
      split_term<Case::kLimbs>(task.terms, leaves ? -y : y, add);
    }
  }
  if (blockIdx.y != 0) return;
  const int64_t integer = Case::kPlain ? 1 : integer_weight(task, row);
  lane.weight += leaves ? -integer : integer;
  lane.count += leaves ? -1 : 1;
}

// Adds the rows of the entries from `begin` to `end`, which are of one cluster. (Loading the next rows before these are
// added took 1.6 times as long: fewer warps have room.)
template <class Case>
__device__ __forceinline__ void add_run(const AccumulateTask& task, int64_t first_row, uint32_t begin, uint32_t end,
                                        LaneSums<Case>& lane) {
  constexpr int kTogether = Case::kTogether;
  for (uint32_t i = begin; i < end; i += kTogether) {
    uint32_t entry[kTogether];
    typename Case::T values[kTogether][Case::kColumns];
#pragma unroll
    for (int r = 0; r < kTogether; ++r) entry[r] = task.order.entries[min(i + r, end - 1)];
#pragma unroll
    for (int r = 0; r < kTogether; ++r) load_row(task, first_row + (entry[r] & ~kLeaves), lane, values[r]);
#pragma unroll
    for (int r = 0; r < kTogether; ++r) {
      if (i + r >= end) continue;
      add_row(task, first_row + (entry[r] & ~kLeaves), (entry[r] & kLeaves) != 0, values[r], lane);
    }
  }
}

// The lanes' sums into the cluster's, and from zero again.
template <class Case>
__device__ __forceinline__ void store_sums(const AccumulateTask& task, int64_t cluster, LaneSums<Case>& lane) {
  const PassRange range = range_of_cluster(task.ranges, cluster);
  const int64_t label = cluster - range.first;
  const int64_t d = task.points.d;
#pragma unroll
  for (int c = 0; c < Case::kColumns; ++c) {
    const int32_t j = lane.first_column() + 32 * c;
    if (j >= d) continue;
#pragma unroll
    for (int g = 0; g < Case::kLimbs; ++g) {
      add_to(range.sums + (label * Case::kLimbs + g) * d + j, lane.sums[c][g]);
    }
  }
  if (blockIdx.y == 0 && threadIdx.x % 32 == 0) {
    add_to(range.weights + label, lane.weight);
    add_to(range.counts + label, lane.count);
  }
  lane.clear();
}

// blockIdx.y is a group of columns; the warps of x share the entries.
template <class Case>
__global__ void __launch_bounds__(kSumThreads, Case::kBlocks)
    sum_kernel(const __grid_constant__ AccumulateTask task, int64_t first_row) {
  if (stopped(task.ranges)) return;
  const LabelOrder& order = task.order;
  const int64_t clusters = task.ranges.clusters;
  const uint32_t count = order.first[clusters];
  const uint32_t warps = gridDim.x * (kSumThreads / 32);
  const uint32_t chunk = entries_at_once(count, warps);
  const uint32_t warp = blockIdx.x * (kSumThreads / 32) + threadIdx.x / 32;
  if (warp * chunk >= count) return;
  LaneSums<Case> lane;
  lane.start(task);
  for (uint32_t start = warp * chunk; start < count; start += warps * chunk) {
    const uint32_t end = min(start + chunk, count);
    int64_t cluster = 0;
    for (uint32_t begin = start; begin < end;) {
      cluster = cluster_of_entry(order, clusters, cluster, begin);
      const uint32_t run_end = min(end, order.first[cluster + 1]);
      add_run(task, first_row, begin, run_end, lane);
      store_sums(task, cluster, lane);
      begin = run_end;
      ++cluster;
    }
  }
}

template <class Case>
void launch_case(const AccumulateTask& task, int64_t first_row, int multiprocessors, cudaStream_t stream) {
  const int64_t groups = (task.points.d + kLabelOrderColumns - 1) / kLabelOrderColumns;
  const dim3 grid(static_cast<unsigned>(std::max<int64_t>(1, 2 * Case::kBlocks * multiprocessors / groups)),
                  static_cast<unsigned>(groups));
  sum_kernel<Case><<<grid, kSumThreads, 0, stream>>>(task, first_row);
  check_launch("adding up clusters");
}

// The rounds of every group of columns; 0 if they differ.
int rounds_of(int64_t d) {
  if (d <= kLabelOrderColumns) return static_cast<int>((d + 31) / 32);
  const int64_t last = d % kLabelOrderColumns;
  return last == 0 || last > kLabelOrderColumns - 32 ? kMaxRounds : 0;
}

template <class T, int kLimbs>
void launch_sums(const AccumulateTask& task, int64_t first_row, int multiprocessors, cudaStream_t stream) {
  const auto launch = [&]<class Case>(Case) { launch_case<Case>(task, first_row, multiprocessors, stream); };
  if (!task.plain()) return launch(SumCase<T, kLimbs, false, 0>());
  if constexpr (std::is_same_v<T, float>) {
    switch (rounds_of(task.points.d)) {
      case 1: return launch(SumCase<T, kLimbs, true, 1>());
      case 2: return launch(SumCase<T, kLimbs, true, 2>());
      case 3: return launch(SumCase<T, kLimbs, true, 3>());
      case 4: return launch(SumCase<T, kLimbs, true, 4>());
      default: break;
    }
  }
  launch(SumCase<T, kLimbs, true, 0>());
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
  const int64_t most = ordered_together(task);
  if (most == 0) throw Error(ErrorCode::kInternal, "sums by label", "there is no room for the rows of a slice");
  for (int64_t first = 0; first < task.points.n; first += most) {
    const OrderedRows slice{first, std::min(task.points.n, first + most)};
    put_in_label_order(task, slice, multiprocessors, stream);
    dispatch_type(task.points.type,
                  [&](auto sample) { add_in_order<decltype(sample)>(task, slice.first, multiprocessors, stream); });
  }
}

}  // namespace manymeans::cuda
