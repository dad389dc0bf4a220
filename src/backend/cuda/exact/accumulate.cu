#include "backend/cuda/device/point_value.cuh"
#include "backend/cuda/exact/accumulate.h"
#include "backend/cuda/exact/accumulate_by_label.h"
#include "backend/cuda/exact/cluster_sums.cuh"
#include "backend/cuda/exact/column_terms.cuh"
#include "backend/cuda/exact/label_changes.cuh"
#include "backend/cuda/runtime/dependent_launch.cuh"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "backend/cuda/runtime/ptx.cuh"

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = kChangeThreads;
constexpr int kBlocks = 3;      // of a multiprocessor; what they wait for is more than more registers would save
constexpr int kLogMinTeam = 3;  // of longer rows: 32 bytes are fetched together

// A row that moves, and where: `from` and `to` are the first of their clusters' sums.
template <class Index>
struct Move {
  bool leaves;
  bool enters;
  Index from;
  Index to;
};

template <class Index>
__device__ __forceinline__ Move<Index> move_of(const AccumulateTask& task, uint32_t from, uint32_t to) {
  const auto of_cluster = static_cast<Index>(task.terms.limbs * task.points.d);
  return {from != kNoLabel, to != kNoLabel, static_cast<Index>(from) * of_cluster, static_cast<Index>(to) * of_cluster};
}

// One value of a row: into a cluster, out of another. How it is done for any points, and anywhere.
struct MoveAny {
  using Value = double;
  static __device__ __forceinline__ double load(const AccumulateTask& task, int64_t row, int j) {
    const double v = load_double(task.points, row * task.points.d + j);
    return task.points.weights != nullptr ? __dmul_rn(task.points.weights[row], v) : v;
  }

  template <class Sums>
  static __device__ void move_value(const AccumulateTask& task, const Sums& sums,
                                    const Move<typename Sums::Index>& move, int j, double v) {
    using Index = typename Sums::Index;
    const ColumnTerms& terms = task.terms;
    split_term<0>(terms, scaled_term(terms, v, top_of(terms, j), j), [&](int g, int64_t part) {
      if (part == 0) return;
      const auto place = static_cast<Index>(g) * static_cast<Index>(task.points.d) + j;
      if (move.enters) sums.add_sum(move.to + place, part);
      if (move.leaves) sums.add_sum(move.from + place, -part);
    });
  }
};

// And for float32 points without weights, whose terms have a top. All low halves are added to before the first of them
// has answered.
template <int kLimbs>
struct MoveFloats {
  using Value = float;
  static __device__ __forceinline__ float load(const AccumulateTask& task, int64_t row, int j) {
    return static_cast<const float*>(task.points.data)[row * task.points.d + j];
  }

  static __device__ __forceinline__ void move_value(const AccumulateTask& task, const SharedSums& sums,
                                                    const Move<int>& move, int j, float v) {
    if (v == 0) return;
    int64_t parts[kLimbs];
    split_rounded<kLimbs>(task.terms, narrowed(v, 0), factor_of<float>(task.terms, j),
                          [&](int g, int64_t part) { parts[g] = part; });
    const auto d = static_cast<int>(task.points.d);
    uint32_t to[kLimbs];
#pragma unroll
    for (int g = 0; g < kLimbs; ++g) to[g] = sums.add_low(move.to + g * d + j, parts[g]);
    if (move.leaves) {
      uint32_t from[kLimbs];
#pragma unroll
      for (int g = 0; g < kLimbs; ++g) from[g] = sums.add_low(move.from + g * d + j, -parts[g]);
#pragma unroll
      for (int g = 0; g < kLimbs; ++g) sums.add_high(move.from + g * d + j, -parts[g], from[g]);
    }
#pragma unroll
    for (int g = 0; g < kLimbs; ++g) sums.add_high(move.to + g * d + j, parts[g], to[g]);
  }
};

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

// A row that moves, and its value that a thread takes first.
template <class Value>
struct Moving {
  int64_t row;
  uint32_t from;
  uint32_t to;
  Value value;
};

// A chunk of a range's rows, from `first` on, and which of them changed.
struct ChangedRows {
  const PassRange& range;
  bool first_pass;
  int64_t first;
  const Changes& changes;
};

// Adds what changed, and brings the labels up to date.
template <class Mover, class Sums>
__device__ void apply_changes(const AccumulateTask& task, const ChangedRows& rows, const Sums& sums,
                              LabelSumWords& hash) {
  const PassRange& range = rows.range;
  const bool first_pass = rows.first_pass;
  const int64_t first = rows.first;
  const Changes& changes = rows.changes;
  const auto d = static_cast<int>(task.points.d);
  const auto before = [&](int64_t row) { return label_before(task, range, first_pass, row); };
  // Neighbouring threads, a team, take neighbouring values of a row. The next value is fetched before its use.
  const int team = 1 << task.log_team;
  const int lane = static_cast<int>(threadIdx.x) & (team - 1);
  const int step = kThreads >> task.log_team;
  const auto fetch = [&](int c) -> Moving<typename Mover::Value> {
    if (c >= changes.count) return {};
    const int64_t row = first + changes.place[c];
    return {row, before(row), load_label(task.next, range.slot, row), Mover::load(task, row, min(lane, d - 1))};
  };
  int c = static_cast<int>(threadIdx.x) >> task.log_team;
  for (auto next = fetch(c); c < changes.count; c += step) {
    const auto now = next;
    next = fetch(c + step);
    const auto move = move_of<typename Sums::Index>(task, now.from, now.to);
    auto value = now.value;
    for (int j = lane; j < d; j += team) {
      const auto following = Mover::load(task, now.row, min(j + team, d - 1));
      Mover::move_value(task, sums, move, j, value);
      value = following;
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
    hash.add(device_label_term(task.points.number + row, to));
    hash.subtract(device_label_term(task.points.number + row, from));
  }
}

// blockIdx.y is the range; the blocks of x share its chunks.
template <bool kShared, class Mover>
__global__ void __launch_bounds__(kThreads, kShared ? kBlocks : 1) accumulate_kernel(AccumulateTask task) {
  await_kernel_before();
  if (stopped(task.ranges)) return;
  extern __shared__ uint32_t words[];
  __shared__ Changes changes;
  const PassRange range = task.ranges.at[blockIdx.y];
  const int64_t sums = range.k * task.terms.limbs * task.points.d;
  const GlobalSums global{range.sums, range.weights, range.counts};
  const SharedSums shared{shared_address(words), static_cast<int>(sums), static_cast<int>(range.k)};
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
      apply_changes<Mover>(task, {range, first_pass, chunk * task.chunk, changes}, shared, hash);
    } else {
      apply_changes<Mover>(task, {range, first_pass, chunk * task.chunk, changes}, global, hash);
    }
    __syncthreads();
  }
  count_changes(task.ranges.counters[blockIdx.y], changed, hash);
  if constexpr (kShared) {
    if (changed == 0) return;
    for (int64_t i = threadIdx.x; i < sums + 2 * range.k; i += kThreads) {
      const auto value = static_cast<int64_t>(words[i] | static_cast<uint64_t>(words[shared.all() + i]) << 32);
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
  const auto move = move_of<int64_t>(task, from, to);
  for (int j = static_cast<int>(threadIdx.x); j < task.points.d; j += kThreads) {
    MoveAny::move_value(task, sums, move, j, MoveAny::load(task, row, j));
  }
  if (threadIdx.x == 0) move_count(task, sums, row, from, to);
}

// Counts the clusters without weight; the blocks share the clusters of all ranges.
__device__ void count_empty(const PassRanges& ranges) {
  const int64_t all = ranges.max_clusters * ranges.count;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < all;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int64_t r = i / ranges.max_clusters;
    const int64_t k = i % ranges.max_clusters;
    if (k < ranges.at[r].k && ranges.at[r].weights[k] == 0) atomicAdd(&ranges.counters[r].empty, 1ULL);
  }
}

__global__ void empty_kernel(PassRanges ranges) {
  await_kernel_before();
  let_next_kernel_come();
  if (!stopped(ranges)) count_empty(ranges);
}

// One block, after everything else of a pass. Clearing numbers here spares a launch.
__global__ void judge_kernel(PassRanges ranges, bool count) {
  await_kernel_before();
  let_next_kernel_come();
  __shared__ int judge;
  if (stopped(ranges)) return;
  if (threadIdx.x == 0) judge = 0;
  if (count) count_empty(ranges);
  __syncthreads();
  for (int r = threadIdx.x; r < ranges.count; r += kThreads) {
    const PassCounters& counters = ranges.counters[r];
    const bool few = changed_few(counters, *ranges.control, in_first_pass(ranges, ranges.at[r]));
    if (few || counters.empty != 0) judge = 1;
  }
  for (int i = threadIdx.x; i < ranges.number_count; i += kThreads) ranges.numbers[i] = 0;
  __syncthreads();
  if (threadIdx.x != 0) return;
  ++ranges.control->passes;
  ranges.control->stopped = judge != 0 ? device::kByPass : device::kGoesOn;
}

// Returns log2 of the largest team that leaves the fewest threads without a value of their row.
int log_team_of(int64_t columns) {
  const auto idle = [&](int log_team) {
    const int64_t team = int64_t{1} << log_team;
    return (columns + team - 1) / team * team - columns;
  };
  int best = 5;
  for (int log_team = 4; log_team >= 0; --log_team) {
    const bool narrow = columns <= int64_t{1} << log_team;
    if (narrow || (log_team >= kLogMinTeam && idle(log_team) < idle(best))) best = log_team;
  }
  return best;
}

static_assert(kMaxSharedSums + sizeof(Changes) <= kSharedEverywhere);

template <class Mover>
void launch_shared(const AccumulateTask& task, dim3 grid, int64_t bytes, cudaStream_t stream) {
  const auto kernel = accumulate_kernel<true, Mover>;
  allow_all_shared_memory(kernel, "sizing the shared memory of sums");
  launch_dependent(kernel, {grid, kThreads, static_cast<size_t>(bytes), stream}, "adding up clusters", task);
}

void accumulate_shared(const AccumulateTask& task, dim3 grid, int64_t bytes, cudaStream_t stream) {
  const bool plain = task.plain_floats();
  if (plain && task.terms.limbs == 1) return launch_shared<MoveFloats<1>>(task, grid, bytes, stream);
  if (plain && task.terms.limbs == 2) return launch_shared<MoveFloats<2>>(task, grid, bytes, stream);
  launch_shared<MoveAny>(task, grid, bytes, stream);
}

}  // namespace

void accumulate(const AccumulateTask& given, int multiprocessors, cudaStream_t stream) {
  AccumulateTask task = given;
  task.log_team = log_team_of(task.points.d);
  const int64_t sums = task.ranges.max_clusters * (task.terms.limbs * task.points.d + 2);
  const int64_t bytes = 8 * sums;
  // One wave of blocks; rows are shared out in whole chunks.
  const int64_t fitting = bytes <= kMaxSharedSums ? std::clamp<int64_t>((220 << 10) / (bytes + 10240), 1, kBlocks) : 4;
  const int64_t blocks = std::max<int64_t>(1, fitting * multiprocessors / task.ranges.count);
  const int64_t rows_a_block = (task.points.n + blocks - 1) / blocks;
  task.chunk = static_cast<int32_t>(std::clamp<int64_t>((rows_a_block + 255) / 256 * 256, 256, kMaxChunk));
  // Adding a block's sums to the others' costs as much as a fifth of that number of rows.
  const bool in_shared = bytes <= kMaxSharedSums && rows_a_block * 5 * task.points.d >= sums;
  const int64_t chunks = (task.points.n + task.chunk - 1) / task.chunk;
  const dim3 grid(static_cast<unsigned>(std::min(chunks, in_shared ? blocks : 4 * blocks)),
                  static_cast<unsigned>(task.ranges.count));
  if (in_shared) {
    accumulate_shared(task, grid, bytes, stream);
  } else if (task.order.capacity > 0) {
    accumulate_by_label(task, multiprocessors, stream);
  } else {
    launch_dependent(accumulate_kernel<false, MoveAny>, {grid, kThreads, 0, stream}, "adding up clusters", task);
  }
}

void end_pass(const PassRanges& ranges, int multiprocessors, cudaStream_t stream) {
  // Few clusters are looked at by the block that ends the pass.
  const int64_t clusters = ranges.max_clusters * ranges.count;
  const bool few = clusters <= 4 * kThreads;
  if (!few) {
    const int64_t most = int64_t{4} * multiprocessors;
    const dim3 grid(static_cast<unsigned>(std::min((clusters + kThreads - 1) / kThreads, most)));
    launch_dependent(empty_kernel, {grid, kThreads, 0, stream}, "looking for empty clusters", ranges);
  }
  launch_dependent(judge_kernel, {dim3(1), kThreads, 0, stream}, "ending a pass", ranges, few);
}

void accumulate_row(const AccumulateTask& task, const PassRange& range, uint32_t cluster, int sign,
                    cudaStream_t stream) {
  row_kernel<<<1, kThreads, 0, stream>>>(task, range, 0, sign < 0 ? cluster : kNoLabel, sign > 0 ? cluster : kNoLabel);
  check_launch("moving a row");
}

}  // namespace manymeans::cuda
