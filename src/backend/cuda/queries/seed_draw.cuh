// Choosing rows by their integer terms: rows that are picked by sums, candidates that are drawn, samples.
#pragma once

#include "backend/cuda/device/philox.cuh"
#include "backend/cuda/queries/seed_state_kernels.cuh"

#include <cstdint>

namespace manymeans::cuda {

struct LimbTriple {
  int64_t v[kDistanceLimbs] = {};

  __device__ void add(const LimbTriple& other) {
#pragma unroll
    for (int g = 0; g < kDistanceLimbs; ++g) v[g] += other.v[g];
  }
  // Limbs of terms that are not negative: sums of them never overflow, and recombine to the sum of the terms.
  __device__ bool exceeds(const Wide<3>& threshold, int bits) const {
    return threshold.less(recombined<3>(v, kDistanceLimbs, bits));
  }
};

// Inclusive prefixes over the warp.
__device__ inline LimbTriple warp_prefix(LimbTriple t) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int offset = 1; offset < 32; offset *= 2) {
    LimbTriple other;
#pragma unroll
    for (int g = 0; g < kDistanceLimbs; ++g) other.v[g] = __shfl_up_sync(kAllLanes, t.v[g], offset);
    if (lane >= offset) t.add(other);
  }
  return t;
}

__device__ inline LimbTriple from_lane(const LimbTriple& t, int lane) {
  LimbTriple result;
#pragma unroll
  for (int g = 0; g < kDistanceLimbs; ++g) result.v[g] = __shfl_sync(kAllLanes, t.v[g], lane);
  return result;
}

// One level of a search for the first item whose inclusive prefix exceeds the threshold; all lanes call it. Lane l has
// item l (0 beyond the last); `before` is the sum of what lies before them and grows to the sum before the item found.
// Not inlined: a search calls it at every level, and code that runs once has to be fetched from memory.
__device__ __noinline__ int find_lane(const LimbTriple& own, const Wide<3>& threshold, int bits, LimbTriple& before) {
  LimbTriple prefix = warp_prefix(own);
  prefix.add(before);
  const unsigned over = __ballot_sync(kAllLanes, prefix.exceeds(threshold, bits));
  const int found = over != 0 ? __ffs(static_cast<int>(over)) - 1 : 31;
  if (found > 0) before = from_lane(prefix, found - 1);
  return found;
}

__device__ inline LimbTriple block_term(const SeedRows& rows, int64_t block) {
  LimbTriple t;
#pragma unroll
  for (int g = 0; g < kDistanceLimbs; ++g) t.v[g] = rows.blocks[block * kDistanceLimbs + g];
  return t;
}

// Blocks begin .. end - 1 in 32 parts of `part` blocks: the sum of this lane's part.
__device__ inline LimbTriple sum_of_blocks(const SeedRows& rows, int64_t begin, int64_t part, int64_t end) {
  LimbTriple sum;
  const int64_t first = begin + static_cast<int64_t>(threadIdx.x % 32) * part;
#pragma unroll 4
  for (int64_t i = 0; i < part; ++i) {
    if (first + i < end) sum.add(block_term(rows, first + i));
  }
  return sum;
}

// Rows begin .. end - 1 in 32 parts of kPart rows: the sum of this lane's part. All of them are loaded at once; rows
// that are not there have the term 0.
template <int kPart>
__device__ LimbTriple sum_of_rows(const DevicePoints& points, const SeedRows& rows, int64_t begin, int64_t end) {
  const int64_t first = begin + static_cast<int64_t>(threadIdx.x % 32) * kPart;
  double v[kPart];
#pragma unroll
  for (int i = 0; i < kPart; ++i) {
    const int64_t row = min(first + i, points.n - 1);
    v[i] = __dmul_rn(weight_of(points, row), rows.least[row]);
    if (first + i >= end) v[i] = 0;
  }
  LimbTriple sum;
#pragma unroll
  for (int i = 0; i < kPart; ++i) add_limbs(rows.splitter, v[i], 1, sum.v);
  return sum;
}

constexpr int kPickThreads = 1024;

// A model's terms summed up: over ranges of blocks, one a thread, and over the ranges of a warp.
struct RangeSums {
  LimbTriple ranges[kPickThreads];
  LimbTriple warps[32];
};

__device__ inline int64_t blocks_of(const DevicePoints& points) {
  return (points.n + kSeedSumRows - 1) / kSeedSumRows;
}

// kPickThreads threads call it; ends with the block synchronised.
__device__ inline void sum_ranges(const DevicePoints& points, const SeedRows& rows, RangeSums& sums) {
  const auto thread = static_cast<int64_t>(threadIdx.x);
  const int64_t blocks = blocks_of(points);
  const int64_t range = (blocks + kPickThreads - 1) / kPickThreads;
  LimbTriple mine;
#pragma unroll 4
  for (int64_t b = thread * range; b < min(blocks, (thread + 1) * range); ++b) mine.add(block_term(rows, b));
  sums.ranges[thread] = mine;
#pragma unroll
  for (int g = 0; g < kDistanceLimbs; ++g) mine.v[g] = warp_sum(mine.v[g]);
  if (threadIdx.x % 32 == 0) sums.warps[threadIdx.x / 32] = mine;
  __syncthreads();
}

// The sum of all; all lanes of a warp call it.
__device__ inline Wide<3> total_of(const RangeSums& sums, int bits) {
  LimbTriple all = sums.warps[threadIdx.x % 32];
#pragma unroll
  for (int g = 0; g < kDistanceLimbs; ++g) all.v[g] = warp_sum(all.v[g]);
  return recombined<3>(all.v, kDistanceLimbs, bits);
}

// The first row i with T_0 + .. + T_i > target, which is less than the total. A warp searches 32 parts at a time:
// ranges of ranges, ranges, blocks, parts of a block, rows. Every level ends at a sum that exceeds what is sought,
// since the total does.
__device__ inline int64_t find_row(const DevicePoints& points, const SeedRows& rows, const RangeSums& sums,
                                   const Wide<3>& target) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int bits = rows.splitter.bits;
  const int64_t blocks = blocks_of(points);
  const int64_t range = (blocks + kPickThreads - 1) / kPickThreads;
  LimbTriple before;
  const int of_warp = find_lane(sums.warps[lane], target, bits, before);
  const int64_t r = of_warp * 32 + find_lane(sums.ranges[of_warp * 32 + lane], target, bits, before);
  // A range has as many blocks as there are quarters of a million rows: parts of parts until a part is one block.
  int64_t first = r * range;
  int64_t width = range;
  const int64_t end = min(blocks, (r + 1) * range);
  while (width > 1) {
    const int64_t part = (width + 31) / 32;
    first += find_lane(sum_of_blocks(rows, first, part, min(end, first + width)), target, bits, before) * part;
    width = part;
  }
  const int64_t row = first * kSeedSumRows;
  constexpr int kPart = kSeedSumRows / 32;
  const int64_t last = min(points.n, row + kSeedSumRows);
  const int64_t part_row = row + find_lane(sum_of_rows<kPart>(points, rows, row, last), target, bits, before) * kPart;
  const int64_t part_end = min(last, part_row + kPart);
  return part_row + find_lane(sum_of_rows<1>(points, rows, part_row, part_end), target, bits, before);
}

/// For each target, less than the total, the row that it picks. One block.
__global__ void __launch_bounds__(kPickThreads)
    seed_pick_kernel(DevicePoints points, SeedRows rows, const __grid_constant__ SeedTargets targets, int64_t* picked) {
  __shared__ RangeSums sums;
  sum_ranges(points, rows, sums);
  for (int i = static_cast<int>(threadIdx.x) / 32; i < targets.count; i += kPickThreads / 32) {
    const int64_t row = find_row(points, rows, sums, targets.target[i]);
    if (threadIdx.x % 32 == 0) picked[i] = row;
  }
}

// Returns the target of candidate number `draw` for this centre: floor(u * total / 2^64).
__device__ inline Wide<3> target_of(const SeedModel& model, int64_t centre, int draw, const Wide<3>& total) {
  constexpr uint32_t kCandidate = 3;  // Purpose::kCandidate
  const Wide<4> product =
      total.times(device_random_u64(model.key, static_cast<uint64_t>(centre), static_cast<uint32_t>(draw), kCandidate));
  return {{product.word[1], product.word[2], product.word[3]}};
}

// By kCoders threads.
template <class T, class C>
__device__ void copy_row(const T* from, C* to, int64_t d) {
  for (int64_t first = threadIdx.x % kCoders; first < d; first += kCodedTogether * kCoders) {
    T values[kCodedTogether];
#pragma unroll
    for (int i = 0; i < kCodedTogether; ++i) values[i] = from[min(first + i * kCoders, d - 1)];
#pragma unroll
    for (int i = 0; i < kCodedTogether; ++i) {
      if (first + i * kCoders < d) to[first + i * kCoders] = static_cast<C>(widened(values[i]));
    }
  }
}

/// A block a model: draws its candidates, copies their rows and codes them. Of a model that has its centres, or whose
/// rows are all centres, tiles become idle.
template <class T>
__global__ void __launch_bounds__(kPickThreads)
    seed_draw_kernel(const __grid_constant__ SeedArguments a, const __grid_constant__ SeedFrame frame,
                     const __grid_constant__ SeedStep step) {
  await_kernel_before();
  let_next_kernel_come();
  __shared__ RangeSums sums;
  __shared__ int64_t picked[32];
  const SeedModel model = step.models[blockIdx.x];
  const SeedCandidates& to = a.candidates;
  const auto thread = static_cast<int>(threadIdx.x);
  const int tiles = (model.draws + kSeedTileColumns - 1) / kSeedTileColumns;
  const int first_column = model.tile * kSeedTileColumns;
  for (int i = thread; i < tiles * kSeedGains; i += kPickThreads) to.gains[first_column * kDistanceLimbs + i] = 0;
  if (thread < 32) picked[thread] = -1;
  sum_ranges(a.points, model.rows, sums);
  const Wide<3> total = total_of(sums, model.rows.splitter.bits);
  const int draw = thread / 32;
  const int64_t centre_number = model.centres + step.index;
  if (draw < model.draws && centre_number < model.k && !total.is_zero()) {
    const int64_t row = find_row(a.points, model.rows, sums, target_of(model, centre_number, draw, total));
    if (thread % 32 == 0) picked[draw] = row;
  }
  __syncthreads();
  if (thread < tiles * kSeedTileColumns) to.picked[first_column + thread] = picked[thread];
  using C = typename PrototypeOf<T>::type;
  for (int round = 0; round < tiles; ++round) {
    const int draw_of_team = round * kSeedTileColumns + thread / kCoders;
    const int64_t row = picked[draw_of_team];
    const T* x = static_cast<const T*>(a.points.data) + row * a.points.d;
    C* centre = static_cast<C*>(to.centres) + (first_column + draw_of_team) * a.points.d;
    if (row >= 0) copy_row(x, centre, a.points.d);
    if (a.codes == nullptr) continue;
    code_candidate(a, frame, first_column + draw_of_team, row >= 0, [&](int64_t j) { return widened(x[j]); });
  }
}

/// Lists the rows with u_i * total < factor * T_i * 2^64, in any order. A comparison in binary64 decides all but the
/// rows within 2^-40 of equality.
__global__ void __launch_bounds__(kSeedThreads)
    seed_sample_kernel(DevicePoints points, SeedRows rows, SeedDraw draw, SeedRowsFound found) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kSeedThreads;
  for (int64_t row = blockIdx.x * static_cast<int64_t>(kSeedThreads) + threadIdx.x; row < points.n; row += stride) {
    int64_t limbs[kDistanceLimbs] = {};
    add_limbs(rows.splitter, __dmul_rn(weight_of(points, row), rows.least[row]), 1, limbs);
    const auto term = recombined<3>(limbs, kDistanceLimbs, rows.splitter.bits);
    constexpr uint32_t kOversample = 5;  // Purpose::kOversample
    const uint64_t u = device_random_u64(draw.key, static_cast<uint64_t>(points.number + row), draw.draw, kOversample);
    const double number = __ull2double_rn(u);
    const double limit = term.to_double() * draw.ratio;
    if (number > limit * (1 + 0x1p-40)) continue;
    if (!(number < limit * (1 - 0x1p-40))) {
      const Wide<4> left = draw.total.times(u);
      const Wide<4> right = term.times(draw.factor);
      Wide<5> a;
      Wide<5> b;
      for (int i = 0; i < 4; ++i) {
        a.word[i] = left.word[i];
        b.word[i + 1] = right.word[i];
      }
      if (!a.less(b)) continue;
    }
    const auto at = static_cast<int64_t>(atomicAdd(found.length, 1ull));
    if (at < found.capacity) found.rows[at] = row;
  }
}

}  // namespace manymeans::cuda
