// Parts shared by the kernels of seeding. All are exact: rows that pass the screen get a canonical distance, and all
// sums are of integers.
#pragma once

#include "backend/cuda/device/canonical.cuh"
#include "backend/cuda/device/limbs.cuh"
#include "backend/cuda/queries/seed_tasks.h"
#include "backend/cuda/runtime/dependent_launch.cuh"

#include <cstdint>

namespace manymeans::cuda {

constexpr int kSeedThreads = 128;
constexpr int kSeedWarps = kSeedThreads / 32;
constexpr int kSeedGains = kSeedTileColumns * kDistanceLimbs;  ///< numbers of a tile
constexpr unsigned kAllLanes = 0xffffffffu;

__device__ inline double weight_of(const DevicePoints& points, int64_t row) {
  return points.weights == nullptr ? 1.0 : points.weights[row];
}

// Returns true if there is no work: a tile is padding, its model has its centres, or all of its rows are centres.
__device__ inline bool idle(const SeedArguments& a, int tile) {
  const bool padding = a.candidates.tiles[tile].columns == 0;
  const bool none = a.candidates.picked[tile * kSeedTileColumns] < 0;
  return padding | (a.chooses & none);
}

// The centre of a column.
template <class T>
__device__ const typename PrototypeOf<T>::type* centre_of(const SeedArguments& a, int column) {
  return static_cast<const typename PrototypeOf<T>::type*>(a.candidates.centres) + column * a.points.d;
}

// Adds to a 64-bit number in shared memory by two native 32-bit atomics; the sum is mod 2^64, each carry is seen once.
__device__ inline void shared_add(unsigned* low_high, int64_t value) {
  const auto low = static_cast<unsigned>(value);
  const unsigned before = atomicAdd(low_high, low);
  const unsigned carry = before + low < before ? 1u : 0u;
  atomicAdd(low_high + 1, static_cast<unsigned>(static_cast<uint64_t>(value) >> 32) + carry);
}

// Numbers that are not negative are in the order of their bits.
__device__ inline void lower_least(double* least, double d2) {
  atomicMin(reinterpret_cast<unsigned long long*>(least), static_cast<unsigned long long>(__double_as_longlong(d2)));
}

// By how much the term of a row falls.
__device__ inline void add_gain(const SeedArguments& a, const SeedTile& tile, int64_t row, double d2,
                                int64_t (&gain)[kDistanceLimbs]) {
  const double weight = weight_of(a.points, row);
  add_limbs(tile.splitter, __dmul_rn(weight, tile.least[row]), 1, gain);
  add_limbs(tile.splitter, __dmul_rn(weight, d2), -1, gain);
}

// Sums of a tile's gains as blocks have them: two words a number.
__device__ inline void add_to_gains(unsigned* gains, int column, const int64_t (&gain)[kDistanceLimbs]) {
#pragma unroll
  for (int g = 0; g < kDistanceLimbs; ++g) {
    if (gain[g] != 0) shared_add(gains + 2 * (column * kDistanceLimbs + g), gain[g]);
  }
}

// Adds a block's sums to all blocks' sums. All threads call it.
__device__ inline void give_gains(const SeedArguments& a, int first_tile, int tiles, const unsigned* gains) {
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < tiles * kSeedGains; i += kSeedThreads) {
    const auto sum = static_cast<int64_t>(static_cast<uint64_t>(gains[2 * i + 1]) << 32 | gains[2 * i]);
    if (sum != 0) atomic_add(&a.candidates.gains[first_tile * kSeedGains + i], sum);
  }
}

// Reads a byte of each of a row's lines, an eighth of the lines a thread. So all lines are on their way to the first
// cache at once: canonical_distance_by_eight() reads 64 columns at a time and would wait each time.
template <class V>
__device__ unsigned touch_lines(const V* row, int64_t d, int lane) {
  constexpr uintptr_t kLine = 128;
  const auto first = reinterpret_cast<uintptr_t>(row);
  const uintptr_t last = first + static_cast<uintptr_t>(d) * sizeof(V);
  unsigned touched = 0;
#pragma unroll 4
  for (uintptr_t at = first / kLine * kLine + static_cast<uintptr_t>(lane) * kLine; at < last; at += 8 * kLine) {
    touched |= *reinterpret_cast<const unsigned char*>(max(at, first));
  }
  return touched;
}

// Uses the touched bytes, or the compiler would remove the reads.
__device__ inline void use_touched(unsigned touched) {
  if (touched == 0x100u) __nanosleep(0);
}

// Computes distances of up to 32 pairs of rows and centres, eight threads a distance, four at a time. Each thread gets
// the distance of pair lane % 8 * 4 + lane / 8, so all threads work on the results at once. The functions row_of(i) and
// centre_of(i) return places of pair i. With `touching` their lines are touched a round ahead. A kernel has this code
// once: with separate copies for touched pairs and others the screen took 39 us instead of 29 (H200, MNIST). A kernel
// waits for code that runs once as it waits for data.
template <class RowOf, class CentreOf>
__device__ double distances_of_pairs(bool touching, int count, int64_t d, RowOf&& row_of, CentreOf&& centre_of) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto pair_of = [&](int round) { return min(round * 4 + lane / 8, count - 1); };
  const auto touch = [&](int round) {
    const int pair = pair_of(round);
    return touch_lines(row_of(pair), d, lane & 7) | touch_lines(centre_of(pair), d, lane & 7);
  };
  double mine = 0;
  unsigned touched = touching ? touch(0) : 0;
  for (int round = 0; round * 4 < count; ++round) {
    if (touching && round * 4 + 4 < count) touched |= touch(round + 1);
    const double d2 = canonical_distance_by_eight<16>(row_of(pair_of(round)), centre_of(pair_of(round)), d, lane & 7);
    if (round == (lane & 7)) mine = d2;
  }
  use_touched(touched);
  return mine;
}

// Returns the number of this thread's pair.
__device__ inline int own_pair() {
  return static_cast<int>(threadIdx.x % 8 * 4 + threadIdx.x % 32 / 8);
}

}  // namespace manymeans::cuda
