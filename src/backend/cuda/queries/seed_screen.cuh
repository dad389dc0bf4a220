// The screen of seeding (docs/developer/screens.md, "Seeding on a GPU"). It finds rows that may be nearer to a
// candidate than to their centres, and how much candidates lower the potential.
#pragma once

#include "backend/cuda/queries/seed_device.cuh"

#include <cmath>
#include <cstdint>

namespace manymeans::cuda {

constexpr int kSeedQueue = 32 + 32 * kSeedTileColumns;

// State of a warp of the screen. Marks have a byte for each of the unit's rows and a bit for each candidate that lowers
// it.
template <int kTiles>
struct SeedWarp {
  uint16_t queue[kSeedQueue];
  unsigned marks[kTiles][kMaxUnitRows / 4];
};

// Shared memory of a block of the screen.
template <int kTiles>
struct SeedShared {
  SeedTile tiles[kTiles];
  SeedColumn columns[kTiles * kSeedTileColumns];
  unsigned gains[kTiles * kSeedGains * 2];
  SeedWarp<kTiles> warps[kSeedWarps];
};

// Pairs of a unit's rows and candidates that wait in a warp's queue: row of the unit * 64 + column of the group.
struct SeedPairs {
  const uint16_t* queue = nullptr;
  int count = 0;
  int64_t unit_row = 0;
  int first_column = 0;  // of the group
};

// A warp's unit of rows.
template <int kTiles>
struct SeedUnit {
  SeedShared<kTiles>& shared;
  SeedWarp<kTiles>& warp;
  int first_column = 0;
  int64_t row = 0;
  int count = 0;       // of pairs in the queue
  unsigned exact = 0;  // distances so far, of all its units

  __device__ SeedPairs pairs(int first, int number) const { return {warp.queue + first, number, row, first_column}; }
};

// Uses a canonical distance: lowers the row's least distance, or adds to the candidate's gain and marks the row.
template <int kTiles>
__device__ void use_distance(const SeedArguments& a, SeedShared<kTiles>& s, int64_t unit_row, int pair, double d2) {
  const int column = pair % 64;
  const int row_of_unit = pair / 64;
  const SeedTile& tile = s.tiles[column / kSeedTileColumns];
  const int64_t row = unit_row + row_of_unit;
  if (!(d2 < tile.least[row])) return;
  if (a.lowering) return lower_least(&tile.least[row], d2);
  int64_t gain[kDistanceLimbs] = {};
  add_gain(a, tile, row, d2, gain);
  add_to_gains(s.gains, column, gain);
  SeedWarp<kTiles>& warp = s.warps[threadIdx.x / 32];
  atomicOr(&warp.marks[column / kSeedTileColumns][row_of_unit / 4],
           1u << (row_of_unit % 4 * 8 + column % kSeedTileColumns));
}

// Computes up to 32 queued pairs; a pair beyond the last row reads the last row in vain. Lines are touched if pairs are
// few: many warps' many lines would evict each other. Not inlined: it is called once in many products, and its
// registers would crowd theirs.
template <class T, int kTiles>
__device__ __noinline__ void drain(const SeedArguments& a, SeedShared<kTiles>& s, const SeedPairs pairs) {
  constexpr int kFewPairs = 8;
  constexpr int64_t kLongRow = 128;
  const int64_t d = a.points.d;
  const auto* x = static_cast<const T*>(a.points.data) + pairs.unit_row * d;
  const auto last = static_cast<int>(min(a.points.n - pairs.unit_row, int64_t{kMaxUnitRows})) - 1;  // of the unit
  const double d2 = distances_of_pairs(
      pairs.count <= kFewPairs && d > kLongRow, pairs.count, d,
      [&](int i) { return x + min(pairs.queue[i] / 64, last) * d; },
      [&](int i) { return centre_of<T>(a, pairs.first_column + pairs.queue[i] % 64); });
  if (own_pair() >= pairs.count) return;
  const int pair = pairs.queue[own_pair()];
  if (pair / 64 <= last) use_distance(a, s, pairs.unit_row, pair, d2);
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

// Multiplies 32 rows with all candidates. The product's inner index may be permuted freely. So a thread's 16 bytes of a
// row serve as operands of two products of 32 columns. Candidates are stored in the same order: no exchange, no shared
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

// Limits of the screen for the four of 32 rows that a thread sees: rows lane / 4 + 8 i. They are fetched before the
// product, so their latency overlaps with the codes'. Limits of rows beyond the last exclude every candidate except one
// whose slope is infinite. Pairs with it have NaN bounds, and drain() drops them.
template <int kTiles>
struct SeedLimits {
  float radius[4];
  float threshold[kTiles][4];
};

template <int kTiles>
__device__ SeedLimits<kTiles> limits_of(const SeedArguments& a, const SeedTile* tiles, int64_t first) {
  SeedLimits<kTiles> limits;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int64_t row = first + static_cast<int>(threadIdx.x) % 32 / 4 + 8 * i;
    const bool real = row < a.points.n;
    limits.radius[i] = real ? a.radii[row] : 0.0f;
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      limits.threshold[t][i] = real ? tiles[t].thresholds[row] : __int_as_float(0x7f800000);
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

// The queue's full rounds are worked off; what is left moves to the front.
template <class T, int kTiles>
__device__ void drain_full_rounds(const SeedArguments& a, SeedUnit<kTiles>& unit) {
  uint16_t* queue = unit.warp.queue;
  __syncwarp();
  int done = 0;
  for (; unit.count - done >= 32; done += 32) drain<T>(a, unit.shared, unit.pairs(done, 32));
  unit.exact += done;
  __syncwarp();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int left = unit.count - done;
  const uint16_t kept = lane < left ? queue[done + lane] : uint16_t{0};
  __syncwarp();
  if (lane < left) queue[lane] = kept;
  unit.count = left;
}

// Queues what the products of 32 rows, from number `first` of the unit on, cannot exclude.
template <class T, int kTiles>
__device__ void judge(const SeedArguments& a, SeedUnit<kTiles>& unit, const SeedLimits<kTiles>& limits,
                      const int (&sums)[kTiles][2][4], int first) {
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
    if (unit.shared.tiles[t].columns == 0) continue;  // padding
    const SeedColumn* columns = unit.shared.columns + t * kSeedTileColumns;
    const unsigned low = possible<0>(limits, t, columns, sums[t][0]);
    const unsigned high = possible<1>(limits, t, columns, sums[t][1]);
    if (!__any_sync(kAllLanes, (low | high) != 0)) continue;
    unit.count = enqueue(low, first, t * kSeedTileColumns, unit.warp.queue, unit.count);
    unit.count = enqueue(high, first + 16, t * kSeedTileColumns, unit.warp.queue, unit.count);
    if (unit.count >= 32) drain_full_rounds<T>(a, unit);
  }
}

// The unit's last pairs, and its marks.
template <class T, int kTiles>
__device__ void end_unit(const SeedArguments& a, SeedUnit<kTiles>& unit) {
  __syncwarp();
  if (unit.count > 0) drain<T>(a, unit.shared, unit.pairs(0, unit.count));
  unit.exact += unit.count;
  unit.count = 0;
  __syncwarp();
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
    unsigned* hits = unit.shared.tiles[t].hits;
    if (hits == nullptr) continue;
    for (int i = static_cast<int>(threadIdx.x) % 32; i < a.unit_rows / 4; i += 32) {
      hits[unit.row / 4 + i] = unit.warp.marks[t][i];
      unit.warp.marks[t][i] = 0;
    }
  }
}

template <int kTiles>
__device__ void begin_block(const SeedArguments& a, SeedShared<kTiles>& s, int first_tile) {
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread < kTiles) s.tiles[thread] = a.candidates.tiles[first_tile + thread];
  if (thread < kTiles * kSeedTileColumns) {
    s.columns[thread] = a.candidates.columns[first_tile * kSeedTileColumns + thread];
  }
  for (int i = thread; i < kTiles * kSeedGains * 2; i += kSeedThreads) s.gains[i] = 0;
  for (int i = thread; i < kSeedWarps * kTiles * kMaxUnitRows / 4; i += kSeedThreads) {
    constexpr int kWords = kTiles * kMaxUnitRows / 4;
    s.warps[i / kWords].marks[i % kWords / (kMaxUnitRows / 4)][i % (kMaxUnitRows / 4)] = 0;
  }
}

/// Screens all rows against kTiles tiles and resolves what may be nearer; gridDim.x / (tiles / kTiles) blocks share the
/// rows. A warp takes a unit of rows at a time, 32 per product. Pairs wait in a queue until a full round of distances
/// is there. Copying codes ahead through rings in shared memory lost (H200, N = 8M, D = 128, 8 candidates: 0.48 ms a
/// step, not 0.37). The 24 warps with 4 KB of loads each keep the memory busy (3.3 TB/s). The copies' small stages cost
/// more waits than they save.
template <class T, int kTiles>
__global__ void __launch_bounds__(kSeedThreads, kTiles == 1 ? 6 : 4)
    seed_screen_kernel(const __grid_constant__ SeedArguments a, bool fragments_fit) {
  await_kernel_before();
  __shared__ SeedShared<kTiles> s;
  extern __shared__ uint4 staged[];
  const int blocks = static_cast<int>(gridDim.x) / (a.candidates.count / kTiles);
  const int first_tile = static_cast<int>(blockIdx.x) / blocks * kTiles;
  bool all_idle = true;
  for (int t = 0; t < kTiles; ++t) all_idle &= idle(a, first_tile + t);
  if (all_idle) return;
  begin_block(a, s, first_tile);
  const int64_t words = kTiles * a.code_bytes / 2;
  const uint4* fragments = reinterpret_cast<const uint4*>(a.candidates.fragments) + first_tile * (a.code_bytes / 2);
  if (fragments_fit) {
    for (int64_t i = threadIdx.x; i < words; i += kSeedThreads) staged[i] = fragments[i];
    fragments = staged;
  }
  __syncthreads();
  const int64_t units = (a.points.n + a.unit_rows - 1) / a.unit_rows;
  const int64_t first_unit =
      static_cast<int64_t>(blockIdx.x % static_cast<unsigned>(blocks)) * kSeedWarps + threadIdx.x / 32;
  SeedUnit<kTiles> unit{s, s.warps[threadIdx.x / 32], first_tile * kSeedTileColumns};
  for (int64_t u = first_unit; u < units; u += static_cast<int64_t>(blocks) * kSeedWarps) {
    unit.row = u * a.unit_rows;
    for (int r = 0; r < a.unit_rows && unit.row + r < a.points.n; r += 32) {
      const SeedLimits<kTiles> limits = limits_of<kTiles>(a, s.tiles, unit.row + r);
      int sums[kTiles][2][4];
      multiply_rows<kTiles>(a, fragments, unit.row + r, sums);
      judge<T, kTiles>(a, unit, limits, sums, r);
    }
    end_unit<T>(a, unit);
  }
  if (threadIdx.x % 32 == 0 && unit.exact > 0) atomicAdd(a.exact, static_cast<unsigned long long>(unit.exact));
  give_gains(a, first_tile, kTiles, s.gains);
}

}  // namespace manymeans::cuda
