#include "backend/cuda/accumulate.h"
#include "backend/cuda/accumulate_by_label.h"
#include "backend/cuda/column_terms.cuh"
#include "backend/cuda/device_memory.h"
#include "backend/cuda/label_changes.cuh"
#include "backend/cuda/point_value.cuh"

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = kChangeThreads;

// Where a block adds: its shared memory or the statistics themselves.
struct GlobalSums {
  long long* sums;
  long long* weights;
  long long* counts;

  __device__ void add_to(long long* to, int64_t value) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
  }
  __device__ void add_sum(int64_t at, int64_t value) const { add_to(sums + at, value); }
  __device__ void add_weight(int64_t k, int64_t value) const { add_to(weights + k, value); }
  __device__ void add_count(int64_t k, int64_t value) const { add_to(counts + k, value); }
};

// 64-bit sums in shared memory by two 32-bit atomics, which are native there: the low half's carry goes into the high.
struct SharedSums {
  uint32_t* words;  // (low, high) pairs: sums, weights, counts
  int64_t sums;     // how many
  int64_t k;

  __device__ void add_to(int64_t at, int64_t value) const {
    if (value == 0) return;
    const auto low = static_cast<uint32_t>(value);
    const uint32_t before = atomicAdd(words + 2 * at, low);
    const uint32_t high = static_cast<uint32_t>(value >> 32) + (before + low < before ? 1U : 0U);
    if (high != 0) atomicAdd(words + 2 * at + 1, high);
  }
  __device__ void add_sum(int64_t at, int64_t value) const { add_to(at, value); }
  __device__ void add_weight(int64_t c, int64_t value) const { add_to(sums + c, value); }
  __device__ void add_count(int64_t c, int64_t value) const { add_to(sums + k + c, value); }
};

// One value of a row: into `to`, out of `from`.
template <class Sums>
__device__ void move_value(const AccumulateTask& task, const Sums& sums, int64_t row, int64_t j, uint32_t from,
                           uint32_t to) {
  double v = load_double(task.points, row * task.points.d + j);
  if (task.points.weights != nullptr) v = __dmul_rn(task.points.weights[row], v);
  const ColumnTerms& terms = task.terms;
  split_term<0>(terms, scaled_term(terms, v, top_of(terms, j), j), [&](int g, int64_t part) {
    if (part == 0) return;
    if (to != kNoLabel) sums.add_sum((static_cast<int64_t>(to) * terms.limbs + g) * task.points.d + j, part);
    if (from != kNoLabel) sums.add_sum((static_cast<int64_t>(from) * terms.limbs + g) * task.points.d + j, -part);
  });
}

template <class Sums>
__device__ void move_count(const AccumulateTask& task, const Sums& sums, int64_t row, uint32_t from, uint32_t to) {
  const int64_t weight = integer_weight(task, row);
  if (to != kNoLabel) {
    sums.add_weight(to, weight);
    sums.add_count(to, 1);
  }
  if (from != kNoLabel) {
    sums.add_weight(from, -weight);
    sums.add_count(from, -1);
  }
}

// Adds what changed, and brings the labels up to date.
template <class Sums>
__device__ void apply_changes(const AccumulateTask& task, const PassRange& range, const Sums& sums, bool first_pass,
                              int64_t first, const Changes& changes, LabelSumWords& hash) {
  const auto d = static_cast<int>(task.points.d);
  const auto before = [&](int64_t row) { return label_before(task, range, first_pass, row); };
  // Neighbouring threads take neighbouring values of a row.
  const int64_t values = static_cast<int64_t>(changes.count) * d;
  int64_t i = threadIdx.x / d;
  int64_t j = threadIdx.x % d;
  const int64_t row_step = kThreads / d;
  const int64_t value_step = kThreads % d;
  for (int64_t at = threadIdx.x; at < values; at += kThreads) {
    const int64_t row = first + changes.place[i];
    move_value(task, sums, row, j, before(row), load_label(task.next, range.slot, row));
    i += row_step;
    j += value_step;
    if (j >= d) {
      j -= d;
      ++i;
    }
  }
  __syncthreads();  // the labels before are still read above
  for (int c = threadIdx.x; c < changes.count; c += kThreads) {
    const int64_t row = first + changes.place[c];
    const uint32_t from = before(row);
    const uint32_t to = load_label(task.next, range.slot, row);
    move_count(task, sums, row, from, to);
    store_label(task.current, range.slot, row, to);
    if (first_pass) continue;
    hash.add(device_label_term(task.points.first + row, to));
    hash.subtract(device_label_term(task.points.first + row, from));
  }
}

// blockIdx.y is the range; the blocks of x share its chunks.
template <bool kShared>
__global__ void __launch_bounds__(kThreads) accumulate_kernel(AccumulateTask task) {
  if (stopped(task.ranges)) return;
  extern __shared__ uint32_t words[];
  __shared__ Changes changes;
  const PassRange range = task.ranges.at[blockIdx.y];
  const int64_t sums = range.k * task.terms.limbs * task.points.d;
  const GlobalSums global{range.sums, range.weights, range.counts};
  const SharedSums shared{words, sums, range.k};
  if constexpr (kShared) {
    for (int64_t i = threadIdx.x; i < 2 * (sums + 2 * range.k); i += kThreads) words[i] = 0;
  }
  const bool first_pass = in_first_pass(task.ranges, range);
  LabelSumWords hash;
  unsigned long long changed = 0;
  const int64_t chunks = (task.points.n + task.chunk - 1) / task.chunk;
  for (int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    list_changes(task, range, first_pass, chunk * task.chunk, changes);
    if (changes.count == 0) continue;
    changed += static_cast<unsigned long long>(changes.count);
    if constexpr (kShared) {
      apply_changes(task, range, shared, first_pass, chunk * task.chunk, changes, hash);
    } else {
      apply_changes(task, range, global, first_pass, chunk * task.chunk, changes, hash);
    }
    __syncthreads();
  }
  count_changes(task.ranges.counters[blockIdx.y], changed, hash);
  if constexpr (kShared) {
    if (changed == 0) return;
    for (int64_t i = threadIdx.x; i < sums + 2 * range.k; i += kThreads) {
      const auto value = static_cast<int64_t>(words[2 * i] | static_cast<uint64_t>(words[2 * i + 1]) << 32);
      if (value == 0) continue;
      if (i < sums) {
        global.add_sum(i, value);
      } else if (i < sums + range.k) {
        global.add_weight(i - sums, value);
      } else {
        global.add_count(i - sums - range.k, value);
      }
    }
  }
}

__global__ void row_kernel(AccumulateTask task, PassRange range, int64_t row, uint32_t from, uint32_t to) {
  const GlobalSums sums{range.sums, range.weights, range.counts};
  for (int64_t j = threadIdx.x; j < task.points.d; j += kThreads) move_value(task, sums, row, j, from, to);
  if (threadIdx.x == 0) move_count(task, sums, row, from, to);
}

// Notes the clusters without weight; the blocks share those of all ranges.
__device__ void count_empty(const PassRanges& ranges) {
  const int64_t all = ranges.most_clusters * ranges.count;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < all;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int64_t r = i / ranges.most_clusters;
    const int64_t k = i % ranges.most_clusters;
    if (k < ranges.at[r].k && ranges.at[r].weights[k] == 0) atomicAdd(&ranges.counters[r].empty, 1ULL);
  }
}

__global__ void empty_kernel(PassRanges ranges) {
  if (!stopped(ranges)) count_empty(ranges);
}

// One block, after everything else of a pass. Clearing numbers here spares a launch.
__global__ void judge_kernel(PassRanges ranges, bool count) {
  __shared__ int judge;
  if (stopped(ranges)) return;
  if (threadIdx.x == 0) judge = 0;
  if (count) count_empty(ranges);
  __syncthreads();
  for (int r = threadIdx.x; r < ranges.count; r += kThreads) {
    const PassCounters& counters = ranges.counters[r];
    if (changed_nothing(counters, in_first_pass(ranges, ranges.at[r])) || counters.empty != 0) judge = 1;
  }
  for (int i = threadIdx.x; i < ranges.number_count; i += kThreads) ranges.numbers[i] = 0;
  __syncthreads();
  if (threadIdx.x != 0) return;
  ++ranges.control->passes;
  ranges.control->stopped = static_cast<uint32_t>(judge);
}

}  // namespace

void accumulate(const AccumulateTask& given, int multiprocessors, cudaStream_t stream) {
  AccumulateTask task = given;
  const int64_t sums = task.ranges.most_clusters * (task.terms.limbs * task.points.d + 2);
  const int64_t bytes = 8 * sums;
  // One wave of blocks; rows are shared out in whole chunks.
  const int64_t fitting = bytes <= kMostSharedSums ? std::clamp<int64_t>((220 << 10) / (bytes + 10240), 1, 4) : 4;
  const int64_t blocks = std::max<int64_t>(1, fitting * multiprocessors / task.ranges.count);
  const int64_t rows_a_block = (task.points.n + blocks - 1) / blocks;
  task.chunk = static_cast<int32_t>(std::clamp<int64_t>((rows_a_block + 255) / 256 * 256, 256, kMostChunk));
  // Adding a block's sums to the others' costs as much as about a fifth of as many rows.
  const bool in_shared = bytes <= kMostSharedSums && rows_a_block * 5 * task.points.d >= sums;
  const int64_t chunks = (task.points.n + task.chunk - 1) / task.chunk;
  const dim3 grid(static_cast<unsigned>(std::min(chunks, in_shared ? blocks : 4 * blocks)),
                  static_cast<unsigned>(task.ranges.count));
  if (in_shared) {
    check(cudaFuncSetAttribute(accumulate_kernel<true>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(kMostSharedSums)),
          "sizing the shared memory of sums");
    accumulate_kernel<true><<<grid, kThreads, static_cast<size_t>(bytes), stream>>>(task);
  } else if (task.order.capacity > 0) {
    accumulate_by_label(task, multiprocessors, stream);
  } else {
    accumulate_kernel<false><<<grid, kThreads, 0, stream>>>(task);
  }
  check_launch("adding up clusters");
}

void end_pass(const PassRanges& ranges, int multiprocessors, cudaStream_t stream) {
  // Few clusters are looked at by the block that ends the pass.
  const int64_t clusters = ranges.most_clusters * ranges.count;
  const bool few = clusters <= 4 * kThreads;
  if (!few) {
    const int64_t most = int64_t{4} * multiprocessors;
    empty_kernel<<<static_cast<unsigned>(std::min((clusters + kThreads - 1) / kThreads, most)), kThreads, 0, stream>>>(
        ranges);
    check_launch("looking for empty clusters");
  }
  judge_kernel<<<1, kThreads, 0, stream>>>(ranges, few);
  check_launch("ending a pass");
}

void accumulate_row(const AccumulateTask& task, const PassRange& range, int64_t row, int64_t cluster, int sign,
                    cudaStream_t stream) {
  const auto label = static_cast<uint32_t>(cluster);
  row_kernel<<<1, kThreads, 0, stream>>>(task, range, row, sign < 0 ? label : kNoLabel, sign > 0 ? label : kNoLabel);
  check_launch("moving a row");
}

}  // namespace manymeans::cuda
