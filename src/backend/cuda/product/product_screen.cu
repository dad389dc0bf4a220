// The screen of products: sums in binary64 by the matrix units (DMMA). On a Hopper they do as many multiply-adds a
// second as float32 without them, and that is the bound; a warp's 64 x 32 entries ask shared memory for a quarter of
// what it gives, the conversion of float32 for a third of what that unit does, and two blocks on a multiprocessor fill
// each other's pauses: one certifies while the other sums. Sums are certified by units that have nothing else to do
// (quick_proof.h): one operation of binary64 would wait for as long as a product of the other block takes.
#include "backend/cuda/product/matrix_unit.cuh"
#include "backend/cuda/product/packed_lines.cuh"
#include "backend/cuda/product/packed_product.h"
#include "backend/cuda/product/quick_proof.h"
#include "backend/cuda/product/unproved.cuh"
#include "backend/cuda/runtime/dependent_launch.cuh"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "backend/cuda/runtime/wait_point.cuh"
#include "backend/product_certify.h"

#include <algorithm>
#include <cstdint>

namespace manymeans::cuda {
namespace {

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

// ---- Copies that the device makes while threads compute.

__device__ __forceinline__ void copy_unit(std::byte* to, const std::byte* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from)
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

// What a block needs to know of its tile.
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

// The block's walk through the chunks of both lines, pair of slices after pair, tile after tile. It is some stages
// ahead of the sums, so that a tile's first chunks are on their way while the one before is certified. What it keeps
// are numbers of chunks: registers are few.
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

// Where entry e of a lane is, and which bit of a set of them stands for it.
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

// Of the entries that were not proved quickly those that are not exact.
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

// Writes all entries, and says which are not proved quickly. `kWhole`: the tile has all its entries, and neighbours may
// be written together: nothing is asked of an entry, so that all of them are on their way at once.
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

template <class Tile>
__device__ __forceinline__ void certify_tile(const ScreenTask& task, const Tile& tile, const LanePlace& place,
                                             bool whole) {
  constexpr int kFew = 8;  // entries of a lane: more of them are looked at together
  const ProductBlock& block = task.block;
  uint64_t failed = whole ? write_entries<true>(task, tile, place) : write_entries<false>(task, tile, place);
  if (failed == 0) return;
  const LaneEntries<Tile> entries = {place};
  const bool few = __popcll(static_cast<long long>(failed)) <= kFew;
  failed = few ? inexact_of(block, failed, entries) : unproved_of_all(block, tile, entries);
  leave_unproved(
      block.unproved, failed, [&entries](int e) { return entries.row(e); },
      [&entries](int e) { return entries.column(e); });
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

// Chunks that are on their way or in use: where a warp has few entries a chunk takes it less time than its copy.
template <int kWarpM, int kWarpN>
constexpr int kStages = kWarpM * kWarpN > 1024 ? 4
                        : kWarpM* kWarpN > 256 ? 5
                                               : 8;

template <int kWarpM, int kWarpN>
constexpr int stages_bytes() {
  return kStages<kWarpM, kWarpN> * 2 * (kWarpM + kWarpN) * kChunkBytes;
}
template <int kWarpM, int kWarpN>
constexpr int kept_bytes() {
  return 4 * kWarpM * kWarpN * static_cast<int>(sizeof(double));
}

template <int kWarpM, int kWarpN>
constexpr int kBlocksTogether = kWarpM * kWarpN > 1024 ? 2
                                : kWarpM* kWarpN > 256 ? 3
                                                       : 4;

// Four warps, two by two, that go from tile to tile. `kLong`: the depth is more than kSumsDepth values, so that sums of
// so many are added up in shared memory: a product that met all roundings of a long line would prove less.
template <class Value, int kWarpM, int kWarpN, bool kLong, bool kStore>
__global__ void __launch_bounds__(kThreads, (kBlocksTogether<kWarpM, kWarpN>))
    screen_kernel(const __grid_constant__ ScreenTask task) {
  await_kernel_before();
  constexpr int kM = 2 * kWarpM, kN = 2 * kWarpN;
  constexpr int kAhead = kStages<kWarpM, kWarpN> - 1;
  constexpr int kStageBytes = (kM + kN) * kChunkBytes;
  constexpr int kSumsChunks = kSumsDepth * static_cast<int>(sizeof(Value)) / kChunkBytes;
  extern __shared__ __align__(128) std::byte shared[];
  auto* kept = reinterpret_cast<double*>(shared + (kAhead + 1) * kStageBytes);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp % 2 * kWarpM, warp_column = warp / 2 * kWarpN;
  const int offset_a = (warp_row + lane / 4) * kChunkBytes + lane % 4 * 16;
  const int offset_b = (kM + warp_column + lane / 4) * kChunkBytes + lane % 4 * 16;

  Walk<Value, kM, kN> walk(task);
#pragma unroll
  for (int stage = 0; stage < kAhead; ++stage) {
    walk.copy_next(shared + stage * kStageBytes);
    commit_copies();
  }
  uint32_t chunk = 0;  // since the first tile began
  for (auto id = static_cast<int32_t>(blockIdx.x); id < task.tiles; id += static_cast<int32_t>(gridDim.x)) {
    using Tile = WarpTile<Value, kWarpM, kWarpN>;
    Tile tile;
    tile.clear();
    if constexpr (kLong) {
      for (int e = 0; e < Tile::kDown * Tile::kAcross * 4; ++e) kept[e * kThreads + static_cast<int>(threadIdx.x)] = 0;
    }
    int32_t chunks = task.block.a.chunks;
    if constexpr (kStore) chunks = chunks_of_part<kM, kN>(task, id);
    for (int32_t summed = 0; summed < chunks;) {
      await_copies<kAhead - 1>();
      __syncthreads();  // everybody's copies are there, and everybody is done with the stage before
      walk.copy_next(shared + (chunk + kAhead) % (kAhead + 1) * kStageBytes);
      commit_copies();
      const std::byte* stage = shared + chunk % (kAhead + 1) * kStageBytes;
      tile.add_chunk(stage + offset_a, stage + offset_b);
      ++chunk;
      ++summed;
      if constexpr (kLong) {
        if (summed % kSumsChunks == 0) {
          tile.add_to(kept);
          tile.clear();
        }
      }
    }
    if constexpr (kLong) {
      tile.add_from(kept);
    }
    const TilePlace place = tile_place<kM, kN>(task, id);
    const LanePlace first = {place.row + warp_row + lane / 4, place.column + warp_column + lane % 4 * 2};
    if constexpr (kStore) {
      store_tile(task.block, tile, first, place.part);
    } else {
      const bool whole =
          task.pairs_of_entries && place.row + kM <= task.block.rows() && place.column + kN <= task.block.columns();
      certify_tile(task, tile, first, whole);
    }
  }
}

// ---- Sums that were kept.

__device__ __forceinline__ double sum_of_splits(const ProductBlock& block, int kind, int64_t at) {
  double sum = 0;
  for (int split = 0; split < block.splits; ++split) {
    sum = __dadd_rn(sum, block.sums[(int64_t{kind} * block.splits + split) * block.part_sums() + at]);
  }
  return sum;
}

__global__ void __launch_bounds__(256) certify_kernel(const __grid_constant__ ProductBlock block) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (column >= block.columns()) return;
  const double column_bound = block.b.bounds[column];
  const int column_width = block.b.widths[column];
  for (int row = static_cast<int>(blockIdx.y); row < block.rows(); row += static_cast<int>(gridDim.y)) {
    const int64_t at = int64_t{row} * block.b.padded + column;
    const int64_t to = row * block.row_stride + column * block.column_stride;
    const bool exact = block.a.widths[row] + column_width <= block.exact_width;
    const double row_bound = block.a.bounds[row];
    bool proved = false;
    if (block.wide) {
      const SlicedSums sums = {sum_of_splits(block, 0, at), sum_of_splits(block, 1, at), sum_of_splits(block, 2, at)};
      double entry = 0;
      proved = certify_double(sums, __dmul_rn(row_bound, column_bound), block.error, exact, entry);
      static_cast<double*>(block.out)[to] = entry;
    } else {
      float entry = 0;
      const double bound = __dmul_rn(__dmul_rn(block.gamma, row_bound), column_bound);
      proved = certify_float(sum_of_splits(block, 0, at), bound, exact, entry);
      static_cast<float*>(block.out)[to] = entry;
    }
    leave_unproved(block.unproved, proved ? 0 : 1, [row](int) { return row; }, [column](int) { return column; });
  }
}

// ---- Launches.

// As many blocks as multiprocessors hold at a time go over all tiles. Where sums are stored a block has one: some take
// longer than others, and whoever is free shall take the next.
template <class Value, int kWarpM, int kWarpN, bool kLong, bool kStore>
void launch(const ProductBlock& block, int multiprocessors, cudaStream_t stream) {
  constexpr int kM = 2 * kWarpM, kN = 2 * kWarpN;
  ScreenTask task = {block, 0, 0, 0, 0, false};
  task.tiles_down = (block.rows() + kM - 1) / kM;
  task.tiles_across = (block.columns() + kN - 1) / kN;
  task.tiles = task.tiles_down * task.tiles_across * block.parts();
  task.split_chunks = (block.a.chunks + block.splits - 1) / block.splits;
  task.pairs_of_entries = block.column_stride == 1 && block.row_stride % 2 == 0 &&
                          reinterpret_cast<uintptr_t>(block.out) % sizeof(float2) == 0;
  const auto kernel = screen_kernel<Value, kWarpM, kWarpN, kLong, kStore>;
  constexpr int kBytes = stages_bytes<kWarpM, kWarpN>() + (kLong ? kept_bytes<kWarpM, kWarpN>() : 0);
  allow_all_shared_memory(kernel, "preparing the screen of a product");
  const int32_t together = kBlocksTogether<kWarpM, kWarpN> * multiprocessors;
  const auto blocks = static_cast<unsigned>(kStore ? task.tiles : std::min(task.tiles, together));
  launch_dependent(kernel, {blocks, kThreads, kBytes, stream}, "screening a product", task);
}

template <class Value, int kWarpM, int kWarpN>
void launch_tiles(const ProductBlock& block, bool is_long, int multiprocessors, cudaStream_t stream) {
  if constexpr (sizeof(Value) == 8) {
    is_long ? launch<Value, kWarpM, kWarpN, true, true>(block, multiprocessors, stream)
            : launch<Value, kWarpM, kWarpN, false, true>(block, multiprocessors, stream);
  } else {
    is_long ? launch<Value, kWarpM, kWarpN, true, false>(block, multiprocessors, stream)
            : launch<Value, kWarpM, kWarpN, false, false>(block, multiprocessors, stream);
  }
}

int64_t tiles_of(int64_t rows, int64_t columns, int side_down, int side_across) {
  return (rows + side_down - 1) / side_down * ((columns + side_across - 1) / side_across);
}

int most_shared_bytes() {
  int device = 0, most = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "asking for its shared memory");
  return most;
}

// The time that tiles of a size take together, in entries of a multiprocessor that does nothing else. `work`: how much
// more an entry asks of it than one of the largest tiles. A block that is alone there waits for its own copies.
double tiles_time(const ProductBlock& block, int down, int across, double work, int multiprocessors) {
  constexpr double kAlone = 1.4;
  const int64_t tiles = tiles_of(block.rows(), block.columns(), down, across) * block.parts();
  const int64_t each = (tiles + multiprocessors - 1) / multiprocessors;
  return static_cast<double>(each * down * across) * work * (each == 1 ? kAlone : 1.0);
}

template <class Value>
void choose_tiles(const ProductBlock& block, int multiprocessors, cudaStream_t stream) {
  const int64_t values = int64_t{block.a.chunks} * (kChunkBytes / static_cast<int>(sizeof(Value)));
  const bool is_long = (block.wide ? 3 : 1) * ((values + block.splits - 1) / block.splits) > kSumsDepth;
  const bool large_fits = stages_bytes<64, 32>() + kept_bytes<64, 32>() <= most_shared_bytes();
  const double large = tiles_time(block, 128, 64, 1, multiprocessors);
  const double middle = tiles_time(block, 64, 64, 1.1, multiprocessors);
  const double small = tiles_time(block, 32, 32, 2, multiprocessors);
  if (!block.wide && block.sums != nullptr) {  // a few tiles, whose depth is split: each part of it is long
    middle <= small ? launch<float, 32, 32, true, true>(block, multiprocessors, stream)
                    : launch<float, 16, 16, true, true>(block, multiprocessors, stream);
  } else if (large_fits && large <= std::min(middle, small)) {
    launch_tiles<Value, 64, 32>(block, is_long, multiprocessors, stream);
  } else if (middle <= small) {
    launch_tiles<Value, 32, 32>(block, is_long, multiprocessors, stream);
  } else {
    launch_tiles<Value, 16, 16>(block, is_long, multiprocessors, stream);
  }
}

}  // namespace

int product_splits(int64_t rows, int64_t columns, int64_t depth, int multiprocessors) {
  const int64_t tiles = tiles_of(rows, columns, 64, 64);
  if (tiles >= multiprocessors) return 1;
  const int64_t wanted = (int64_t{2} * multiprocessors + tiles - 1) / tiles;
  return static_cast<int>(std::clamp<int64_t>(std::min(wanted, depth / (2 * kSumsDepth)), 1, 1024));
}

void screen_product(const ProductBlock& block, int multiprocessors, cudaStream_t stream) {
  if (block.wide) {
    choose_tiles<double>(block, multiprocessors, stream);
  } else {
    choose_tiles<float>(block, multiprocessors, stream);
  }
  if (block.sums == nullptr) return;
  const dim3 grid(static_cast<unsigned>((block.columns() + 255) / 256),
                  static_cast<unsigned>(std::clamp(block.rows(), 1, 16384)));
  certify_kernel<<<grid, 256, 0, stream>>>(block);
  check_launch("certifying a product");
}

}  // namespace manymeans::cuda
