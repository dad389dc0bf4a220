// Parts shared by the kernels that screen products: tiles, copies of their chunks into shared memory, and proofs of
// their sums. Bounds: product_screen.cu.
#pragma once

#include "backend/cuda/runtime/wait_point.cuh"
#include "product/cuda/matrix_unit.cuh"
#include "product/cuda/packed_product.h"
#include "product/cuda/quick_proof.h"
#include "product/cuda/resolve_entry.cuh"
#include "product/cuda/unproved.cuh"
#include "product/product_certify.h"

#include <cstdint>

namespace manymeans::cuda {

constexpr int kThreads = 128;
constexpr int kGroupTiles =
    16;  // tiles of rows whose blocks follow each other, so that columns are read from the cache

// The slices that are multiplied for high, middle and low sums.
struct SlicePair {
  int a, b;
};
__constant__ const SlicePair kPairs[3][3] = {
    {{0, 0}, {0, 0}, {0, 0}}, {{0, 1}, {1, 0}, {0, 0}}, {{0, 2}, {2, 0}, {3, 3}}};

struct ScreenTask {
  ProductBlock block;
  int32_t tiles_down, tiles_across;
  int32_t tiles;  // of all parts
  int32_t split_chunks;
  bool pairs_of_entries;  // two neighbours may be written at once
};

inline ScreenTask screen_task(const ProductBlock& block, int tile_rows, int tile_columns) {
  ScreenTask task = {block, 0, 0, 0, 0, false};
  task.tiles_down = (block.rows() + tile_rows - 1) / tile_rows;
  task.tiles_across = (block.columns() + tile_columns - 1) / tile_columns;
  task.tiles = task.tiles_down * task.tiles_across * block.parts();
  task.split_chunks = (block.a.chunks + block.splits - 1) / block.splits;
  task.pairs_of_entries = block.column_stride == 1 && block.row_stride % 2 == 0 &&
                          reinterpret_cast<uintptr_t>(block.out) % sizeof(float2) == 0;
  return task;
}

// ---- Copies that the device makes while threads compute.

__device__ __forceinline__ void copy_unit(std::byte* to, const std::byte* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}

// Zeros instead, if it is not there.
__device__ __forceinline__ void copy_unit_if(bool there, std::byte* to, const std::byte* from) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
      "l"(from), "r"(there ? 16 : 0)
      : "memory");
}

__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int kPending>
__device__ __forceinline__ void await_copies() {
  wait_point();
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
  wait_point();
}

// A block's tile.
struct TilePlace {
  int32_t row, column;  // the first
  int part;             // of the sums
  int kind;             // of float64: high, middle, low
  int32_t first_chunk, chunks;
};

template <int kM, int kN>
__device__ TilePlace tile_place(const ScreenTask& task, int32_t id) {
  const int32_t of_part = task.tiles_down * task.tiles_across;
  const int32_t parts_before = id / of_part;
  const int32_t of_group = kGroupTiles * task.tiles_across;
  const int32_t first = id % of_part / of_group * kGroupTiles;
  const int32_t down = min(kGroupTiles, task.tiles_down - first);
  const int32_t in_group = id % of_part % of_group;
  TilePlace place;
  place.row = (first + in_group % down) * kM;
  place.column = in_group / down * kN;
  place.part = task.block.parts() - 1 - parts_before;  // low sums take longest and come first
  place.kind = place.part / task.block.splits;
  place.first_chunk = place.part % task.block.splits * task.split_chunks;
  place.chunks = min(task.split_chunks, task.block.a.chunks - place.first_chunk);
  return place;
}

template <int kM, int kN>
__device__ int32_t chunks_of_part(const ScreenTask& task, int32_t id) {
  const TilePlace place = tile_place<kM, kN>(task, id);
  return place.chunks * (task.block.wide ? place.kind + 1 : 1);
}

// The block's walk through the chunks of both lines: pair of slices after pair, tile after tile. It is some stages
// ahead of the sums, so a tile's first chunks are on their way while the tile before is certified. It keeps numbers of
// chunks: registers are few.
template <class Value, int kM, int kN>
class Walk {
 public:
  __device__ explicit Walk(const ScreenTask& task) : task_(task), id_(static_cast<int32_t>(blockIdx.x)) {
    if (id_ < task_.tiles) begin_pair();
  }

  // A thread copies 16 bytes of each band.
  __device__ __forceinline__ void copy_next(std::byte* stage) {
    if (left_ <= 0) return;
    const int own = static_cast<int>(threadIdx.x) * 16;
    copy_bands<kM>(stage + own, task_.block.a.values + slice_a() + own, a_);
    copy_bands<kN>(stage + kM * kChunkBytes + own, task_.block.b.values + slice_b() + own, b_);
    ++a_;
    ++b_;
    if (--left_ == 0) go_on();
  }

 private:
  static constexpr bool kHasPairs = sizeof(Value) == 8;

  template <int kLines>
  __device__ __forceinline__ void copy_bands(std::byte* to, const std::byte* from, uint32_t chunk) const {
    const std::byte* at = from + uint64_t{chunk} * kBandBytes;
    const int64_t band_bytes = int64_t{task_.block.a.chunks} * kBandBytes;
#pragma unroll
    for (int band = 0; band < kLines / kBandLines; ++band) copy_unit(to + band * kBandBytes, at + band * band_bytes);
  }
  __device__ __forceinline__ int64_t slice_a() const {
    return kHasPairs ? kPairs[kind_][pair_].a * task_.block.a.slice_bytes : 0;
  }
  __device__ __forceinline__ int64_t slice_b() const {
    return kHasPairs ? kPairs[kind_][pair_].b * task_.block.b.slice_bytes : 0;
  }
  // To the next pair of slices, or the next tile.
  __device__ __forceinline__ void go_on() {
    if (kHasPairs && pair_ < kind_) {
      ++pair_;
      return begin_pair();
    }
    pair_ = 0;
    id_ += static_cast<int32_t>(gridDim.x);
    if (id_ < task_.tiles) begin_pair();
  }
  __device__ __forceinline__ void begin_pair() {
    const TilePlace place = tile_place<kM, kN>(task_, id_);
    left_ = place.chunks;
    kind_ = place.kind;
    a_ = static_cast<uint32_t>(place.row / kBandLines) * static_cast<uint32_t>(task_.block.a.chunks) +
         static_cast<uint32_t>(place.first_chunk);
    b_ = static_cast<uint32_t>(place.column / kBandLines) * static_cast<uint32_t>(task_.block.a.chunks) +
         static_cast<uint32_t>(place.first_chunk);
  }

  const ScreenTask& task_;
  int32_t id_;
  int32_t left_ = 0;  // chunks of this pair
  int kind_ = 0, pair_ = 0;
  uint32_t a_ = 0, b_ = 0;  // chunks of bands before the next ones
};

// Entries of a warp: kM x kN of them, as the matrix unit leaves them in its lanes.
template <class Value, int kM, int kN>
struct WarpTile {
  static constexpr int kDown = kM / 16, kAcross = kN / 8;
  static constexpr int kValues = Unit<Value>::kValues;
  double sums[kDown][kAcross][4];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int e = 0; e < kDown * kAcross * 4; ++e) sums[e / 4 / kAcross][e / 4 % kAcross][e % 4] = 0;
  }

  // `a`, `b`: the lane's 16 bytes of the first line.
  __device__ __forceinline__ void add_chunk(const std::byte* a, const std::byte* b) {
    double columns[kAcross][kValues];
#pragma unroll
    for (int j = 0; j < kAcross; ++j) Unit<Value>::load(b + j * 8 * kChunkBytes, columns[j], 1);
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
      double rows[2 * kValues];
      Unit<Value>::load(a + i * 16 * kChunkBytes, rows, 2);
      Unit<Value>::load(a + (i * 16 + 8) * kChunkBytes, rows + 1, 2);
#pragma unroll
      for (int j = 0; j < kAcross; ++j) multiply_add(sums[i][j], rows, columns[j]);
    }
  }

  // Adds the thread's sums to those in its own places of shared memory.
  __device__ __forceinline__ void add_to(double* kept) const {
#pragma unroll
    for (int e = 0; e < kDown * kAcross * 4; ++e) {
      double& to = kept[e * kThreads + static_cast<int>(threadIdx.x)];
      to = __dadd_rn(to, sums[e / 4 / kAcross][e / 4 % kAcross][e % 4]);
    }
  }
  // Adds like add_to() if sums were `begun` there, else overwrites what is there.
  __device__ __forceinline__ void keep(double* kept, bool begun) const {
    if (begun) return add_to(kept);
#pragma unroll
    for (int e = 0; e < kDown * kAcross * 4; ++e) {
      kept[e * kThreads + static_cast<int>(threadIdx.x)] = sums[e / 4 / kAcross][e / 4 % kAcross][e % 4];
    }
  }
  // Adds those to the thread's sums.
  __device__ __forceinline__ void add_from(const double* kept) {
#pragma unroll
    for (int e = 0; e < kDown * kAcross * 4; ++e) {
      double& to = sums[e / 4 / kAcross][e / 4 % kAcross][e % 4];
      to = __dadd_rn(kept[e * kThreads + static_cast<int>(threadIdx.x)], to);
      if (e % 8 == 7) asm volatile("" : "+d"(to)::"memory");  // all of them at once would need as many registers again
    }
  }
};

struct LanePlace {
  int row, column;  // of the lane's first entry, in the product
};

// The place of entry e of a lane, and its bit in a set of entries.
template <class Tile>
struct LaneEntries {
  LanePlace place;
  static constexpr int kCount = Tile::kDown * Tile::kAcross * 4;

  __device__ __forceinline__ int row(int e) const { return place.row + e / 4 / Tile::kAcross * 16 + e % 4 / 2 * 8; }
  __device__ __forceinline__ int column(int e) const { return place.column + e / 4 % Tile::kAcross * 8 + e % 2; }
};

// The lane's entries that are not proved, by binary64.
template <class Tile>
__device__ __forceinline__ uint64_t unproved_of_all(const ProductBlock& block, const Tile& tile,
                                                    const LaneEntries<Tile>& entries) {
  uint64_t failed = 0;
#pragma unroll
  for (int e = 0; e < LaneEntries<Tile>::kCount; ++e) {
    const int row = entries.row(e), column = entries.column(e);
    const bool exact = block.a.widths[row] + block.b.widths[column] <= block.exact_width;
    const double bound = __dmul_rn(__dmul_rn(block.gamma, block.a.bounds[row]), block.b.bounds[column]);
    float entry = 0;
    const bool proved =
        certify_float(tile.sums[e / 4 / Tile::kAcross][e / 4 % Tile::kAcross][e % 4], bound, exact, entry);
    if (!proved && row < block.rows() && column < block.columns()) failed |= uint64_t{1} << e;
    if (e % 8 == 7) asm volatile("" ::: "memory");  // registers are few, and this is seldom done
  }
  return failed;
}

// Returns the entries in `failed` that are not exact.
template <class Tile>
__device__ __forceinline__ uint64_t inexact_of(const ProductBlock& block, uint64_t failed,
                                               const LaneEntries<Tile>& entries) {
  uint64_t left = 0;
  for (; failed != 0; failed &= failed - 1) {
    const int e = __ffsll(static_cast<long long>(failed)) - 1;
    const int row = entries.row(e), column = entries.column(e);
    const bool exact = block.a.widths[row] + block.b.widths[column] <= block.exact_width;
    if (!exact) left |= uint64_t{1} << e;
  }
  return left;
}

// Writes all entries. Returns the entries that are not proved quickly. `kWhole`: the tile has all its entries, and
// neighbours may be written together. No entry is checked, so all writes are in flight at once.
template <bool kWhole, class Tile>
__device__ __forceinline__ uint64_t write_entries(const ScreenTask& task, const Tile& tile, const LanePlace& place) {
  const ProductBlock& block = task.block;
  float2 column_factors[Tile::kAcross];
#pragma unroll
  for (int j = 0; j < Tile::kAcross; ++j) {
    column_factors[j] = *reinterpret_cast<const float2*>(block.b.factors + place.column + j * 8);
  }
  float row_factors[Tile::kDown * 2];
#pragma unroll
  for (int i = 0; i < Tile::kDown * 2; ++i) row_factors[i] = block.a.factors[place.row + i * 8];
  uint64_t failed = 0;
#pragma unroll
  for (int i = 0; i < Tile::kDown * 2; ++i) {
    const int row = place.row + i * 8;
    float* to = static_cast<float*>(block.out) + row * block.row_stride + place.column * block.column_stride;
#pragma unroll
    for (int j = 0; j < Tile::kAcross; ++j) {
      const int column = place.column + j * 8;
      const int first = (i / 2 * Tile::kAcross + j) * 4 + i % 2 * 2;
      const double* sums = tile.sums[i / 2][j] + i % 2 * 2;
      float2 entries;
      const bool one = proves_quickly(sums[0], quick_bound(row_factors[i], column_factors[j].x), entries.x);
      const bool other = proves_quickly(sums[1], quick_bound(row_factors[i], column_factors[j].y), entries.y);
      const bool there = kWhole || row < block.rows();
      if (!one && there && (kWhole || column < block.columns())) failed |= uint64_t{1} << first;
      if (!other && there && (kWhole || column + 1 < block.columns())) failed |= uint64_t{2} << first;
      if constexpr (kWhole) {
        *reinterpret_cast<float2*>(to + j * 8) = entries;
      } else if (there) {
        if (column < block.columns()) to[j * 8 * block.column_stride] = entries.x;
        if (column + 1 < block.columns()) to[(j * 8 + 1) * block.column_stride] = entries.y;
      }
    }
    asm volatile("" : "+l"(failed)::"memory");  // all entries at once would need too many registers
  }
  return failed;
}

// `kResolve`: whole warps come, and resolve what they can (resolve_few()).
template <bool kResolve, class Tile>
__device__ __forceinline__ void certify_tile(const ScreenTask& task, const Tile& tile, const LanePlace& place,
                                             bool whole) {
  constexpr int kFew = 8;  // entries of a lane: more of them are looked at together
  const ProductBlock& block = task.block;
  uint64_t failed = whole ? write_entries<true>(task, tile, place) : write_entries<false>(task, tile, place);
  if (!kResolve && failed == 0) return;
  const LaneEntries<Tile> entries = {place};
  const auto row = [&entries](int e) { return entries.row(e); };
  const auto column = [&entries](int e) { return entries.column(e); };
  if (failed != 0) {
    const bool few = __popcll(static_cast<long long>(failed)) <= kFew;
    failed = few ? inexact_of(block, failed, entries) : unproved_of_all(block, tile, entries);
  }
  if constexpr (kResolve) {
    resolve_few(block, failed, row, column);
  } else {
    leave_unproved(block.unproved, failed, row, column);
  }
}

template <class Tile>
__device__ __forceinline__ void store_tile(const ProductBlock& block, const Tile& tile, const LanePlace& place,
                                           int part) {
  double* sums = block.sums + part * block.part_sums();
#pragma unroll
  for (int pair = 0; pair < Tile::kDown * Tile::kAcross * 2; ++pair) {
    const int row = place.row + pair / 2 / Tile::kAcross * 16 + pair % 2 * 8;
    const int column = place.column + pair / 2 % Tile::kAcross * 8;
    const double(&from)[4] = tile.sums[pair / 2 / Tile::kAcross][pair / 2 % Tile::kAcross];
    *reinterpret_cast<double2*>(sums + int64_t{row} * block.b.padded + column) =
        make_double2(from[pair % 2 * 2], from[pair % 2 * 2 + 1]);
  }
}

// Stores the lane's sums, or certifies them; `first`: its first entry. The tile is of kM x kN.
template <bool kStore, bool kResolve, int kM, int kN, class Tile>
__device__ __forceinline__ void finish_tile(const ScreenTask& task, const Tile& tile, const TilePlace& place,
                                            const LanePlace& first) {
  if constexpr (kStore) {
    store_tile(task.block, tile, first, place.part);
  } else {
    const bool whole =
        task.pairs_of_entries && place.row + kM <= task.block.rows() && place.column + kN <= task.block.columns();
    certify_tile<kResolve>(task, tile, first, whole);
  }
}

}  // namespace manymeans::cuda
