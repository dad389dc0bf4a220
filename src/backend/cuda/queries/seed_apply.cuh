// The best candidates become centres.
#pragma once

#include "backend/cuda/queries/seed_state_kernels.cuh"

#include <cstdint>

namespace manymeans::cuda {

// The candidate of a model that lowers the potential most, the first of equals. A warp's work, for all of its lanes.
__device__ inline int best_candidate(const int64_t* gains, int draws, int bits) {
  auto candidate = static_cast<int>(threadIdx.x % 32);
  Wide<3> gain;
  gain.add_shifted(-1, 0);  // less than any
  if (candidate < draws) gain = recombined<3>(gains + candidate * kDistanceLimbs, kDistanceLimbs, bits);
  for (int offset = 16; offset > 0; offset /= 2) {
    Wide<3> other;
#pragma unroll
    for (int i = 0; i < 3; ++i) other.word[i] = __shfl_xor_sync(kAllLanes, gain.word[i], offset);
    const int other_candidate = __shfl_xor_sync(kAllLanes, candidate, offset);
    const bool equal = !gain.less(other) && !other.less(gain);
    if (gain.less(other) || (equal && other_candidate < candidate)) {
      gain = other;
      candidate = other_candidate;
    }
  }
  return candidate;
}

// The centre that a model gets, and the marks of the rows that it lowers.
struct ChosenCentre {
  SeedRows rows;
  const unsigned char* hits = nullptr;
  int bit = 0;
  int column = 0;
};

// Bit 8 r: of row 32 r + lane of a unit.
__device__ inline uint64_t marks_of(const SeedArguments& a, const ChosenCentre& chosen, int64_t first) {
  uint64_t marks = 0;
#pragma unroll
  for (int r = 0; r < kMaxUnitRows / 32; ++r) {
    const int64_t row = first + 32 * r + threadIdx.x % 32;
    const bool there = 32 * r < a.unit_rows && row < a.points.n;
    const unsigned mark = there ? chosen.hits[row] : 0u;
    marks |= static_cast<uint64_t>(mark >> chosen.bit & 1) << (8 * r);
  }
  return marks;
}

// A row's least distance falls; adds by how much that changes its term.
struct LoweredRow {
  int64_t row = 0;
  double d2 = 0;
};
__device__ inline void lower_row(const SeedArguments& a, const SeedFrame& frame, const SeedRows& rows,
                                 const LoweredRow& lowered, int64_t (&change)[kDistanceLimbs]) {
  const auto& [row, d2] = lowered;
  const double weight = weight_of(a.points, row);
  add_limbs(rows.splitter, __dmul_rn(weight, rows.least[row]), -1, change);
  add_limbs(rows.splitter, __dmul_rn(weight, d2), 1, change);
  rows.least[row] = d2;
  if (rows.thresholds != nullptr) rows.thresholds[row] = threshold_of(frame, rows.squares[row], weight, d2);
}

// Lists the marked rows of a unit, as offsets; how many. A warp's work.
__device__ inline int list_marked(uint64_t marks, int unit_rows, uint8_t* offsets) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int count = 0;
  for (int r = 0; r * 32 < unit_rows; ++r) {
    const bool mine = (marks >> (8 * r) & 1) != 0;
    const unsigned ballot = __ballot_sync(kAllLanes, mine);
    if (mine) offsets[count + __popc(ballot & ((1u << lane) - 1))] = static_cast<uint8_t>(32 * r + lane);
    count += __popc(ballot);
  }
  __syncwarp();
  return count;
}

// Calls use(row, d2) for the marked rows of a unit, all lanes for the rows of all.
template <class T, class Use>
__device__ void for_each_marked_together(const SeedArguments& a, int column, int64_t first, uint64_t marks, Use&& use) {
  __shared__ uint8_t lists[kSeedWarps][kMaxUnitRows];
  uint8_t* offsets = lists[threadIdx.x / 32];
  const int count = list_marked(marks, a.unit_rows, offsets);
  const auto* x = static_cast<const T*>(a.points.data) + first * a.points.d;
  const auto* centre = centre_of<T>(a, column);
  for (int done = 0; done < count; done += 32) {
    const double d2 = distances_of_pairs(
        true, min(32, count - done), a.points.d, [&](int i) { return x + offsets[done + i] * a.points.d; },
        [&](int) { return centre; });
    if (done + own_pair() < count) use(first + offsets[done + own_pair()], d2);
    __syncwarp();
  }
}
// Each lane for its own, where rows are short.
template <class T, class Use>
__device__ void for_each_marked_alone(const SeedArguments& a, int column, int64_t first, uint64_t marks, Use&& use) {
  const auto* x = static_cast<const T*>(a.points.data);
  for (; marks != 0; marks &= marks - 1) {
    const int64_t row = first + (__ffsll(static_cast<long long>(marks)) - 1) / 8 * 32 + threadIdx.x % 32;
    use(row, canonical_distance(x + row * a.points.d, centre_of<T>(a, column), a.points.d));
  }
}

// The least distances of a unit's marked rows fall, and the sum of its block.
template <class T, bool kEight>
__device__ void lower_unit(const SeedArguments& a, const SeedFrame& frame, const ChosenCentre& chosen, int64_t first) {
  const uint64_t marks = marks_of(a, chosen, first);
  if (!__any_sync(kAllLanes, marks != 0)) return;
  int64_t change[kDistanceLimbs] = {};
  const auto use = [&](int64_t row, double d2) { lower_row(a, frame, chosen.rows, {row, d2}, change); };
  if constexpr (kEight) {
    for_each_marked_together<T>(a, chosen.column, first, marks, use);
  } else {
    for_each_marked_alone<T>(a, chosen.column, first, marks, use);
  }
#pragma unroll
  for (int g = 0; g < kDistanceLimbs; ++g) {
    const int64_t sum = warp_sum(change[g]);
    if (threadIdx.x % 32 == 0) atomic_add(&chosen.rows.blocks[first / kSeedSumRows * kDistanceLimbs + g], sum);
  }
}

/// Makes the chosen candidates centres. Rows that one lowers are marked, so only they are read. gridDim.x / models
/// blocks share a model's rows; a warp takes a unit at a time.
template <class T, bool kEight>
__global__ void __launch_bounds__(kSeedThreads)
    seed_apply_kernel(const __grid_constant__ SeedArguments a, const __grid_constant__ SeedFrame frame,
                      const __grid_constant__ SeedStep step) {
  await_kernel_before();
  let_next_kernel_come();
  const int blocks = static_cast<int>(gridDim.x) / step.count;
  const int number = static_cast<int>(blockIdx.x) / blocks;
  const int block = static_cast<int>(blockIdx.x) % blocks;
  const SeedModel model = step.models[number];
  const bool none = idle(a, model.tile);
  const int first_column = model.tile * kSeedTileColumns;
  int candidate = model.chosen;
  if (candidate < 0 && !none) {
    candidate =
        best_candidate(a.candidates.gains + first_column * kDistanceLimbs, model.draws, model.rows.splitter.bits);
  }
  if (step.chosen != nullptr && block == 0 && threadIdx.x == 0) {
    step.chosen[number] = none ? -1 : a.candidates.picked[first_column + candidate];
  }
  if (none) return;
  const unsigned* hits = model.hits + candidate / kSeedTileColumns * step.hit_words;
  const ChosenCentre chosen{model.rows, reinterpret_cast<const unsigned char*>(hits), candidate % kSeedTileColumns,
                            first_column + candidate};
  const int64_t stride = static_cast<int64_t>(blocks) * kSeedWarps * a.unit_rows;
  for (int64_t first = (static_cast<int64_t>(block) * kSeedWarps + threadIdx.x / 32) * a.unit_rows; first < a.points.n;
       first += stride) {
    lower_unit<T, kEight>(a, frame, chosen, first);
  }
}

}  // namespace manymeans::cuda
