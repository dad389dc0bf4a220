// Kernels of a step of seeding. All of them are exact: what the screen lets through gets a canonical distance, and all
// sums are of integers.
#pragma once

#include "backend/cuda/device/canonical.cuh"
#include "backend/cuda/device/limbs.cuh"
#include "backend/cuda/queries/seed_tasks.h"

#include <cmath>
#include <cstdint>

namespace manymeans::cuda {

constexpr int kSeedThreads = 256;
constexpr int kSeedWarps = kSeedThreads / 32;
constexpr int kSeedUnitRows = 256;  ///< rows that a warp takes at a time; a row of a unit is one byte
constexpr int kSeedQueue = 32 + 32 * kSeedTileColumns;
constexpr unsigned kAllLanes = 0xffffffffu;

__device__ inline double weight_of(const DevicePoints& points, int64_t row) {
  return points.weights == nullptr ? 1.0 : points.weights[row];
}

// Adds to a 64-bit number in shared memory by two native 32-bit atomics; the sum is mod 2^64, each carry is seen once.
__device__ inline void shared_add(unsigned* low_high, int64_t value) {
  const auto low = static_cast<unsigned>(value);
  const unsigned before = atomicAdd(low_high, low);
  const unsigned carry = before + low < before ? 1u : 0u;
  atomicAdd(low_high + 1, static_cast<unsigned>(static_cast<uint64_t>(value) >> 32) + carry);
}

// What a canonical distance does: lowers the row's least distance, or adds to the candidate's gain and marks the row.
__device__ inline void use_distance(const SeedArguments& a, int64_t row, int column, double d2, unsigned* gains) {
  const SeedTile& tile = a.tile[column / kSeedTileColumns];
  const double least = tile.least[row];
  if (!(d2 < least)) return;
  if (a.lowering) {
    // Numbers that are not negative are in the order of their bits.
    atomicMin(reinterpret_cast<unsigned long long*>(&tile.least[row]),
              static_cast<unsigned long long>(__double_as_longlong(d2)));
    return;
  }
  const double weight = weight_of(a.points, row);
  int64_t gain[kDistanceLimbs] = {};
  add_limbs(tile.splitter, __dmul_rn(weight, least), 1, gain);
  add_limbs(tile.splitter, __dmul_rn(weight, d2), -1, gain);
#pragma unroll
  for (int g = 0; g < kDistanceLimbs; ++g) {
    if (gain[g] != 0) shared_add(gains + 2 * (column * kDistanceLimbs + g), gain[g]);
  }
  atomicOr(&tile.hits[row / 4], 1u << (row % 4 * 8 + column % kSeedTileColumns));
}

// Up to 32 queued pairs (row of the unit * 64 + column): eight threads a distance, four at a time; each thread keeps
// one result, so that the sums are then made by all threads at once.
// Not inlined: it is called once in many products, and its registers would crowd theirs.
template <class T>
__device__ __noinline__ void drain(const SeedArguments& a, int64_t unit_row, const uint16_t* queue, int count,
                                   unsigned* gains) {
  const auto* x = static_cast<const T*>(a.points.data);
  const int64_t d = a.points.d;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  double mine = 0;
  for (int round = 0; round * 4 < count; ++round) {
    const int entry = queue[min(round * 4 + lane / 8, count - 1)];
    const double d2 =
        canonical_distance_by_eight(x + (unit_row + entry / 64) * d, a.centres + entry % 64 * d, d, lane & 7);
    if (round == (lane & 7)) mine = d2;
  }
  const int own = (lane & 7) * 4 + lane / 8;
  if (own < count) use_distance(a, unit_row + queue[own] / 64, queue[own] % 64, mine, gains);
}

// Appends the pairs whose bit is set in the lanes' four flags; all lanes call it. Bit q of `flags`: row (lane / 4) +
// 8 * (q / 2) of 16 rows, candidate 2 * (lane % 4) + q % 2 of the tile.
__device__ inline int enqueue(unsigned flags, int first_row, int first_column, uint16_t* queue, int count) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    const unsigned ballot = __ballot_sync(kAllLanes, (flags >> q & 1) != 0);
    if ((flags >> q & 1) != 0) {
      const int at = count + __popc(ballot & ((1u << lane) - 1));
      queue[at] =
          static_cast<uint16_t>((first_row + lane / 4 + 8 * (q / 2)) * 64 + first_column + 2 * (lane % 4) + q % 2);
    }
    count += __popc(ballot);
  }
  return count;
}

// 16 x 8 products of 32 columns, all exact: integers below 2^31.
__device__ inline void multiply(int (&sum)[4], const uint4& a, const uint2& b) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
               : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
}

// Points are read once and kept out of the way of what is read again.
__device__ inline uint4 load_once(const int8_t* from) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
}

// Products of 32 rows with all candidates. The product's inner index may be permuted freely, so a thread's 16 bytes of
// a row serve as its operands of two products of 32 columns, and candidates are stored likewise: no exchange, no shared
// memory for points.
template <int kTiles>
__device__ void multiply_rows(const SeedArguments& a, const uint4* fragments, int64_t first,
                              int (&sums)[kTiles][2][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t chunks = a.code_bytes / 64;
  const int8_t* row[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int64_t at = min(first + lane / 4 + 8 * i, a.points.n - 1);
    row[i] = a.codes + at * a.code_bytes + lane % 4 * 16;
  }
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int i = 0; i < 8; ++i) sums[t][i / 4][i % 4] = 0;
  }
  constexpr int kUnroll = kTiles < 4 ? 2 : 1;
#pragma unroll kUnroll
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    uint4 x[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = load_once(row[i] + chunk * 64);
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      const uint4 c = fragments[(t * chunks + chunk) * 32 + lane];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        multiply(sums[t][m], {x[2 * m].x, x[2 * m + 1].x, x[2 * m].y, x[2 * m + 1].y}, {c.x, c.y});
        multiply(sums[t][m], {x[2 * m].z, x[2 * m + 1].z, x[2 * m].w, x[2 * m + 1].w}, {c.z, c.w});
      }
    }
  }
}

// What the screen compares with, for the four of 32 rows that a thread sees: rows lane / 4 + 8 i. Fetched before the
// product, so that their latency and the codes' are one. Rows beyond the last exclude every candidate.
template <int kTiles>
struct SeedLimits {
  float radius[4];
  float threshold[kTiles][4];
};

template <int kTiles>
__device__ SeedLimits<kTiles> limits_of(const SeedArguments& a, int64_t first) {
  SeedLimits<kTiles> limits;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int64_t row = first + static_cast<int>(threadIdx.x) % 32 / 4 + 8 * i;
    const bool real = row < a.points.n;
    limits.radius[i] = real ? a.radii[row] : 0.0f;
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      limits.threshold[t][i] = real ? a.tile[t].thresholds[row] : __int_as_float(0x7f800000);
    }
  }
  return limits;
}

// Which of this thread's four pairs of 16 rows (number `half` of the 32) the screen cannot exclude. A comparison that
// is not true, with NaN too, excludes nothing.
template <int kHalf, int kTiles>
__device__ unsigned possible(const SeedLimits<kTiles>& limits, int tile, const SeedColumn* columns,
                             const int (&sum)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  unsigned flags = 0;
#pragma unroll
  for (int q = 0; q < 2; ++q) {
    const SeedColumn c = columns[2 * (lane % 4) + q];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float reach = fmaf(limits.radius[2 * kHalf + i], c.slope, c.offset);
      const float bound = fmaf(c.scale, static_cast<float>(sum[2 * i + q]), reach);
      if (!(bound <= limits.threshold[tile][2 * kHalf + i])) flags |= 1u << (2 * i + q);
    }
  }
  return flags;
}

// Where candidates and gains are while a block works.
struct SeedShared {
  uint16_t queue[kSeedWarps][kSeedQueue];
  unsigned gains[kMostSeedTiles * kSeedTileColumns * kDistanceLimbs * 2];
  SeedColumn columns[kMostSeedTiles * kSeedTileColumns];
  unsigned exact;
};

__device__ inline void begin_block(const SeedArguments& a, SeedShared& s) {
  const int columns = a.tiles * kSeedTileColumns;
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kSeedThreads) s.columns[i] = a.columns[i];
  for (int i = static_cast<int>(threadIdx.x); i < columns * kDistanceLimbs * 2; i += kSeedThreads) s.gains[i] = 0;
  if (threadIdx.x == 0) s.exact = 0;
}

__device__ inline void end_block(const SeedArguments& a, SeedShared& s) {
  __syncthreads();
  const int numbers = a.tiles * kSeedTileColumns * kDistanceLimbs;
  for (int i = static_cast<int>(threadIdx.x); i < numbers; i += kSeedThreads) {
    const auto sum = static_cast<int64_t>(static_cast<uint64_t>(s.gains[2 * i + 1]) << 32 | s.gains[2 * i]);
    if (sum != 0) atomic_add(&a.gains[i], sum);
  }
  if (threadIdx.x == 0) atomicAdd(a.exact, static_cast<unsigned long long>(s.exact));
}

// A warp at work on a unit of rows.
struct SeedWarp {
  SeedShared& shared;
  uint16_t* queue;
  unsigned exact = 0;  // distances so far, of all its units
  int64_t unit_row = 0;
  int count = 0;  // of pairs in the queue
};

// The queue's full rounds are worked off; what is left moves to the front.
template <class T>
__device__ void drain_full_rounds(const SeedArguments& a, SeedWarp& warp) {
  uint16_t* queue = warp.queue;
  __syncwarp();
  int done = 0;
  for (; warp.count - done >= 32; done += 32) drain<T>(a, warp.unit_row, queue + done, 32, warp.shared.gains);
  warp.exact += done;
  __syncwarp();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int left = warp.count - done;
  const uint16_t kept = lane < left ? queue[done + lane] : uint16_t{0};
  __syncwarp();
  if (lane < left) queue[lane] = kept;
  warp.count = left;
}

// Queues what the products of 32 rows, from number `first` of the unit on, cannot exclude.
template <class T, int kTiles>
__device__ void judge(const SeedArguments& a, SeedWarp& warp, const SeedLimits<kTiles>& limits,
                      const int (&sums)[kTiles][2][4], int first) {
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
    const SeedColumn* columns = warp.shared.columns + t * kSeedTileColumns;
    const unsigned low = possible<0>(limits, t, columns, sums[t][0]);
    const unsigned high = possible<1>(limits, t, columns, sums[t][1]);
    if (!__any_sync(kAllLanes, (low | high) != 0)) continue;
    warp.count = enqueue(low, first, t * kSeedTileColumns, warp.queue, warp.count);
    warp.count = enqueue(high, first + 16, t * kSeedTileColumns, warp.queue, warp.count);
    if (warp.count >= 32) drain_full_rounds<T>(a, warp);
  }
}

/// Screens all rows against all candidates and resolves what may be nearer. A warp takes 256 rows at a time, 32 per
/// product; pairs wait in a queue until a full round of distances is there. Copying codes ahead through rings in
/// shared memory lost (H200, N = 8M, D = 128, 8 candidates: 0.48 ms a step instead of 0.37): 24 warps with 4 KB of
/// loads each keep the memory busy (3.3 TB/s), and the copies' small stages cost more waits than they save.
template <class T, int kTiles>
__global__ void __launch_bounds__(kSeedThreads, kTiles == 1 ? 3 : 2)
    seed_screen_kernel(const __grid_constant__ SeedArguments a, bool fragments_fit) {
  __shared__ SeedShared s;
  extern __shared__ uint4 staged[];
  begin_block(a, s);
  const int64_t words = a.tiles * a.code_bytes / 2;
  const uint4* fragments = a.fragments;
  if (fragments_fit) {
    for (int64_t i = threadIdx.x; i < words; i += kSeedThreads) staged[i] = a.fragments[i];
    fragments = staged;
  }
  __syncthreads();
  const int number = static_cast<int>(threadIdx.x) / 32;
  SeedWarp warp{s, s.queue[number]};
  const int64_t units = (a.points.n + kSeedUnitRows - 1) / kSeedUnitRows;
  for (int64_t unit = static_cast<int64_t>(blockIdx.x) * kSeedWarps + number; unit < units;
       unit += static_cast<int64_t>(gridDim.x) * kSeedWarps) {
    warp.unit_row = unit * kSeedUnitRows;
    warp.count = 0;
    for (int r = 0; r < kSeedUnitRows && warp.unit_row + r < a.points.n; r += 32) {
      const SeedLimits<kTiles> limits = limits_of<kTiles>(a, warp.unit_row + r);
      int sums[kTiles][2][4];
      multiply_rows<kTiles>(a, fragments, warp.unit_row + r, sums);
      judge<T, kTiles>(a, warp, limits, sums, r);
    }
    __syncwarp();
    if (warp.count > 0) drain<T>(a, warp.unit_row, warp.queue, warp.count, s.gains);
    warp.exact += warp.count;
    __syncwarp();
  }
  if (threadIdx.x % 32 == 0) atomicAdd(&s.exact, warp.exact);
  end_block(a, s);
}

/// The same without a screen: every canonical distance; a thread a row where kEight is false, for short rows.
template <class T, bool kEight>
__global__ void __launch_bounds__(kSeedThreads) seed_exact_kernel(const __grid_constant__ SeedArguments a) {
  __shared__ SeedShared s;
  begin_block(a, s);
  __syncthreads();
  const auto* x = static_cast<const T*>(a.points.data);
  const int64_t d = a.points.d;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  unsigned exact = 0;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kSeedThreads;
  for (int64_t first = blockIdx.x * static_cast<int64_t>(kSeedThreads) + threadIdx.x / 32 * 32; first < a.points.n;
       first += stride) {
    const int64_t row = first + lane;
    for (int column = 0; column < a.tiles * kSeedTileColumns; ++column) {
      if (column % kSeedTileColumns >= a.tile[column / kSeedTileColumns].columns) continue;
      double d2 = 0;
      if constexpr (kEight) {
        for (int i = 0; i < 8; ++i) {
          const int64_t at = min(first + (lane & 24) + i, a.points.n - 1);
          const double other = canonical_distance_by_eight(x + at * d, a.centres + column * d, d, lane & 7);
          if (i == (lane & 7)) d2 = other;
        }
      } else {
        d2 = canonical_distance(x + min(row, a.points.n - 1) * d, a.centres + column * d, d);
      }
      exact += min(static_cast<int64_t>(32), a.points.n - first);
      if (row < a.points.n) use_distance(a, row, column, d2, s.gains);
    }
  }
  if (lane == 0) atomicAdd(&s.exact, exact);
  end_block(a, s);
}

}  // namespace manymeans::cuda
