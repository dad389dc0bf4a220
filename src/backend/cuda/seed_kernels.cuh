// Kernels of a step of seeding. All of them are exact: what the screen lets through gets a canonical distance, and all
// sums are of integers.
#pragma once

#include "backend/cuda/canonical.cuh"
#include "backend/cuda/seed_screen.h"

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
  tile.splitter.add_fixed(__dmul_rn(weight, least), 1, gain);
  tile.splitter.add_fixed(__dmul_rn(weight, d2), -1, gain);
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
__device__ inline void multiply(int (&sum)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                                uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Codes come through a ring of stages in shared memory, a ring for each warp, so that reading never waits for the
// products, the queue or the distances. A stage is 64 bytes of codes of each of 32 rows and, with the rows' last bytes,
// what the screen compares with.
template <int kTiles>
struct SeedStage {
  uint4 codes[32][4];
  float radius[32];
  float threshold[kTiles][32];
};

template <int kTiles>
constexpr int kSeedStages = kTiles == 1 ? 3 : 4;

template <int kTiles>
constexpr size_t kSeedRingBytes = kSeedWarps * kSeedStages<kTiles> * sizeof(SeedStage<kTiles>);

__device__ inline void copy_16(void* to, const void* from) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}

__device__ inline void copy_4(void* to, const void* from) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from) : "memory");
}

__device__ inline void end_of_stage() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int kPending>
__device__ void wait_for_stage() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Which 32 rows and which 64 bytes of them a stage holds: all chunks of 32 rows, the groups of 32 of a unit, the units
// of this warp.
struct SeedCursor {
  int64_t unit;
  int row = 0;  // of the unit
  int chunk = 0;

  __device__ bool valid(const SeedArguments& a) const { return unit * kSeedUnitRows < a.points.n; }
  __device__ int64_t first() const { return unit * kSeedUnitRows + row; }
  __device__ void advance(const SeedArguments& a, int chunks) {
    if (++chunk < chunks) return;
    chunk = 0;
    row += 32;
    if (row < kSeedUnitRows && first() < a.points.n) return;
    row = 0;
    unit += static_cast<int64_t>(gridDim.x) * kSeedWarps;
  }
};

// Starts the copies of a stage. Rows beyond the last repeat the last; the comparison leaves them out.
template <int kTiles>
__device__ void fetch(const SeedArguments& a, const SeedCursor& cursor, int chunks, SeedStage<kTiles>& stage) {
  if (cursor.valid(a)) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + 8 * i;
      const int64_t at = min(cursor.first() + row, a.points.n - 1);
      copy_16(&stage.codes[row][lane % 4], a.codes + at * a.code_bytes + cursor.chunk * 64 + lane % 4 * 16);
    }
    if (cursor.chunk == chunks - 1) {
      const int64_t at = min(cursor.first() + lane, a.points.n - 1);
      copy_4(&stage.radius[lane], a.radii + at);
#pragma unroll
      for (int t = 0; t < kTiles; ++t) copy_4(&stage.threshold[t][lane], a.tile[t].thresholds + at);
    }
  }
  end_of_stage();
}

// Adds the products of a stage. The product's inner index may be permuted freely, so a thread's 16 bytes of a row serve
// as its operands of two products of 32 columns, and candidates are stored likewise; eight threads read 128 bytes.
template <int kTiles>
__device__ void multiply_stage(const SeedStage<kTiles>& stage, const uint4* fragments, int chunks, int chunk,
                               int (&sums)[kTiles][2][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  uint4 x[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = stage.codes[lane / 4 + 8 * i][lane % 4];
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
    const uint4 c = fragments[(t * chunks + chunk) * 32 + lane];
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      multiply(sums[t][m], x[2 * m].x, x[2 * m + 1].x, x[2 * m].y, x[2 * m + 1].y, c.x, c.y);
      multiply(sums[t][m], x[2 * m].z, x[2 * m + 1].z, x[2 * m].w, x[2 * m + 1].w, c.z, c.w);
    }
  }
}

// Which of this thread's four pairs of 16 rows (number `half` of the 32) the screen cannot exclude; of the 32 rows
// `rows` exist. A comparison that is not true, with NaN too, excludes nothing.
__device__ inline unsigned possible(const float* radius, const float* threshold, const SeedColumn* columns, int half,
                                    int rows, const int (&sum)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  unsigned flags = 0;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = 16 * half + 8 * i + lane / 4;
    const float r = radius[row];
    const float limit = threshold[row];
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      const SeedColumn c = columns[2 * (lane % 4) + q];
      const float bound = fmaf(c.scale, static_cast<float>(sum[2 * i + q]), fmaf(r, c.slope, c.offset));
      if (!(bound <= limit) && row < rows) flags |= 1u << (2 * i + q);
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

// The queue's full rounds are worked off; what is left moves to the front. Returns how much that is.
template <class T>
__device__ int drain_full_rounds(const SeedArguments& a, int64_t unit_row, uint16_t* queue, int count, unsigned* gains,
                                 unsigned& exact) {
  __syncwarp();
  int done = 0;
  for (; count - done >= 32; done += 32) drain<T>(a, unit_row, queue + done, 32, gains);
  exact += done;
  __syncwarp();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int left = count - done;
  const uint16_t kept = lane < left ? queue[done + lane] : uint16_t{0};
  __syncwarp();
  if (lane < left) queue[lane] = kept;
  return left;
}

// Queues what the products of 32 rows cannot exclude.
template <class T, int kTiles>
__device__ int judge(const SeedArguments& a, SeedShared& s, const SeedStage<kTiles>& stage,
                     const int (&sums)[kTiles][2][4], const SeedCursor& at, int count, unsigned& exact) {
  uint16_t* queue = s.queue[threadIdx.x / 32];
  const int rows = static_cast<int>(min(a.points.n - at.first(), static_cast<int64_t>(32)));
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
    const SeedColumn* columns = s.columns + t * kSeedTileColumns;
    const unsigned low = possible(stage.radius, stage.threshold[t], columns, 0, rows, sums[t][0]);
    const unsigned high = possible(stage.radius, stage.threshold[t], columns, 1, rows, sums[t][1]);
    if (!__any_sync(kAllLanes, (low | high) != 0)) continue;
    count = enqueue(low, at.row, t * kSeedTileColumns, queue, count);
    count = enqueue(high, at.row + 16, t * kSeedTileColumns, queue, count);
    if (count >= 32) count = drain_full_rounds<T>(a, at.unit * kSeedUnitRows, queue, count, s.gains, exact);
  }
  return count;
}

// The rows of this warp: fetched ahead, multiplied, judged; the queue is emptied at the end of a unit.
template <class T, int kTiles>
__device__ unsigned screen_rows(const SeedArguments& a, SeedShared& s, const uint4* fragments,
                                SeedStage<kTiles>* ring) {
  constexpr int kStages = kSeedStages<kTiles>;
  const int chunks = static_cast<int>(a.code_bytes / 64);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  SeedCursor at{static_cast<int64_t>(blockIdx.x) * kSeedWarps + warp};
  SeedCursor ahead = at;
  for (int i = 0; i < kStages - 1; ++i) {
    fetch(a, ahead, chunks, ring[i]);
    ahead.advance(a, chunks);
  }
  unsigned exact = 0;
  int count = 0;
  int stage = 0;
  int sums[kTiles][2][4] = {};
  while (at.valid(a)) {
    wait_for_stage<kStages - 2>();
    __syncwarp();  // the copies of all lanes are there, and all have read the stage before: it is filled anew
    fetch(a, ahead, chunks, ring[stage == 0 ? kStages - 1 : stage - 1]);
    ahead.advance(a, chunks);
    multiply_stage<kTiles>(ring[stage], fragments, chunks, at.chunk, sums);
    if (at.chunk == chunks - 1) {
      count = judge<T, kTiles>(a, s, ring[stage], sums, at, count, exact);
#pragma unroll
      for (int i = 0; i < kTiles * 8; ++i) sums[i / 8][i / 4 % 2][i % 4] = 0;
    }
    stage = stage == kStages - 1 ? 0 : stage + 1;
    const int64_t unit = at.unit;
    at.advance(a, chunks);
    if (at.unit == unit || count == 0) continue;
    __syncwarp();
    drain<T>(a, unit * kSeedUnitRows, s.queue[warp], count, s.gains);
    exact += count;
    count = 0;
  }
  return exact;
}

/// Screens all rows against all candidates and resolves what may be nearer. A warp takes 256 rows at a time, 32 per
/// product; pairs wait in a queue until a full round of distances is there. Dynamic shared memory: the rings of the
/// warps, then the candidates' codes if they fit.
template <class T, int kTiles>
__global__ void __launch_bounds__(kSeedThreads, kTiles == 1 ? 3 : 2)
    seed_screen_kernel(const __grid_constant__ SeedArguments a, bool fragments_fit) {
  __shared__ SeedShared s;
  extern __shared__ uint4 dynamic[];
  begin_block(a, s);
  uint4* staged = dynamic + kSeedRingBytes<kTiles> / sizeof(uint4);
  const int64_t words = a.tiles * a.code_bytes / 2;
  if (fragments_fit) {
    for (int64_t i = threadIdx.x; i < words; i += kSeedThreads) staged[i] = a.fragments[i];
  }
  __syncthreads();
  auto* ring = reinterpret_cast<SeedStage<kTiles>*>(dynamic) + threadIdx.x / 32 * kSeedStages<kTiles>;
  const unsigned exact = screen_rows<T, kTiles>(a, s, fragments_fit ? staged : a.fragments, ring);
  if (threadIdx.x % 32 == 0) atomicAdd(&s.exact, exact);
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
