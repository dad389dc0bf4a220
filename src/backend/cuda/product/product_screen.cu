// The screen of products: sums in binary64 by the matrix units (DMMA). On a Hopper they do as many multiply-adds a
// second as float32 without them, and that is the bound; a warp's 64 x 32 entries ask shared memory for a quarter of
// what it gives, the conversion of float32 for a third of what that unit does, and two blocks on a multiprocessor fill
// each other's pauses: one certifies while the other sums.
#include "backend/cuda/product/packed_lines.cuh"
#include "backend/cuda/product/packed_product.h"
#include "backend/cuda/product/unproved.cuh"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "backend/cuda/runtime/wait_point.cuh"
#include "backend/product_certify.h"

#include <algorithm>
#include <cstdint>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kStages = 4;
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
  int32_t split_chunks;
  bool pairs_of_entries;  // two neighbours may be written at once
};

// ---- The matrix unit.

template <class Value>
struct Unit;  // 16 bytes of a line: values of a thread, for one product of the matrix unit

template <>
struct Unit<float> {
  static constexpr int kValues = 4;
  static __device__ __forceinline__ void load(const std::byte* from, double* to, int step) {
    const auto unit = *reinterpret_cast<const float4*>(from);
    to[0] = unit.x;
    to[step] = unit.y;
    to[2 * step] = unit.z;
    to[3 * step] = unit.w;
  }
};

template <>
struct Unit<double> {
  static constexpr int kValues = 2;
  static __device__ __forceinline__ void load(const std::byte* from, double* to, int step) {
    const auto unit = *reinterpret_cast<const double2*>(from);
    to[0] = unit.x;
    to[step] = unit.y;
  }
};

// c += a b^T of 16 x 8 entries. Of a[2 v + h] the row is lane / 4 + 8 h, of b[v] the column lane / 4; which value of
// the line value v is, the lanes agree on. Every product is exact, every sum rounds once, to nearest.
__device__ __forceinline__ void multiply_add(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
      "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
        "d"(b[2]), "d"(b[3]));
#else
#pragma unroll
  for (int v = 0; v < 4; ++v) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(c[2 * h]), "+d"(c[2 * h + 1])
                   : "d"(a[2 * v + h]), "d"(b[v]));
    }
  }
#endif
}

__device__ __forceinline__ void multiply_add(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
  for (int v = 0; v < 2; ++v) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(c[2 * h]), "+d"(c[2 * h + 1])
                   : "d"(a[2 * v + h]), "d"(b[v]));
    }
  }
#endif
}

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
__device__ TilePlace tile_place(const ScreenTask& task) {
  const auto id = static_cast<int32_t>(blockIdx.x);
  const int32_t of_group = kGroupTiles * task.tiles_across;
  const int32_t first = id / of_group * kGroupTiles;
  const int32_t down = min(kGroupTiles, task.tiles_down - first);
  const int32_t in_group = id % of_group;
  TilePlace place;
  place.row = (first + in_group % down) * kM;
  place.column = in_group / down * kN;
  place.part = static_cast<int>(gridDim.y - 1 - blockIdx.y);  // low sums take longest and come first
  place.kind = place.part / task.block.splits;
  place.first_chunk = place.part % task.block.splits * task.split_chunks;
  place.chunks = min(task.split_chunks, task.block.a.chunks - place.first_chunk);
  return place;
}

// The block's walk through the chunks of both lines, pair of slices after pair.
template <int kM, int kN>
class Walk {
 public:
  __device__ Walk(const ScreenTask& task, const TilePlace& place)
      : band_a_(int64_t{task.block.a.chunks} * kBandBytes),
        slice_bytes_a_(task.block.a.slice_bytes),
        slice_bytes_b_(task.block.b.slice_bytes),
        kind_(place.kind),
        chunks_(place.chunks) {
    const int64_t skipped = int64_t{place.first_chunk} * kBandBytes + static_cast<int>(threadIdx.x) * 16;
    a_ = task.block.a.values + place.row / kBandLines * band_a_ + skipped;
    b_ = task.block.b.values + place.column / kBandLines * band_a_ + skipped;
    left_ = chunks_;
    begin_pair();
  }

  // A thread copies 16 bytes of each band.
  __device__ void copy_next(std::byte* stage) {
    std::byte* to = stage + static_cast<int>(threadIdx.x) * 16;
#pragma unroll
    for (int band = 0; band < kM / kBandLines; ++band) copy_unit(to + band * kBandBytes, from_a_ + band * band_a_);
#pragma unroll
    for (int band = 0; band < kN / kBandLines; ++band) {
      copy_unit(to + kM * kChunkBytes + band * kBandBytes, from_b_ + band * band_a_);
    }
    from_a_ += kBandBytes;
    from_b_ += kBandBytes;
    if (--left_ > 0) return;
    left_ = chunks_;
    if (pair_ < 2) {
      ++pair_;
      begin_pair();
    }
  }

 private:
  __device__ void begin_pair() {
    from_a_ = a_ + kPairs[kind_][pair_].a * slice_bytes_a_;
    from_b_ = b_ + kPairs[kind_][pair_].b * slice_bytes_b_;
  }

  const std::byte *a_, *b_, *from_a_, *from_b_;
  int64_t band_a_, slice_bytes_a_, slice_bytes_b_;
  int kind_, pair_ = 0;
  int32_t chunks_, left_;
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

  // Adds the thread's sums to those in its own places of shared memory, which the second call of a pair gets back.
  __device__ __forceinline__ void add_to(double* kept) const {
#pragma unroll
    for (int e = 0; e < kDown * kAcross * 4; ++e) {
      double& to = kept[e * kThreads + static_cast<int>(threadIdx.x)];
      to = __dadd_rn(to, sums[e / 4 / kAcross][e / 4 % kAcross][e % 4]);
    }
  }
  __device__ __forceinline__ void take(const double* kept) {
#pragma unroll
    for (int e = 0; e < kDown * kAcross * 4; ++e) {
      sums[e / 4 / kAcross][e / 4 % kAcross][e % 4] = kept[e * kThreads + static_cast<int>(threadIdx.x)];
    }
  }
};

struct LanePlace {
  int row, column;  // of the lane's first entry, in the product
};

template <class Tile>
__device__ __forceinline__ void certify_tile(const ScreenTask& task, const Tile& tile, const LanePlace& place) {
  const ProductBlock& block = task.block;
  const auto row_of = [&](int e) { return place.row + e / 4 / Tile::kAcross * 16 + e % 4 / 2 * 8; };
  const auto column_of = [&](int e) { return place.column + e / 4 % Tile::kAcross * 8 + e % 2; };
  uint64_t failed = 0;
#pragma unroll
  for (int pair = 0; pair < Tile::kDown * Tile::kAcross * 2; ++pair) {
    const int row = row_of(2 * pair), column = column_of(2 * pair);
    const double norm = __dmul_rn(block.gamma, block.a.bounds[row]);
    const int width = block.a.widths[row];
    float entries[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const bool exact = width + block.b.widths[column + e] <= block.exact_width;
      const double sum = tile.sums[pair / 2 / Tile::kAcross][pair / 2 % Tile::kAcross][pair % 2 * 2 + e];
      const bool proved = certify_float(sum, __dmul_rn(norm, block.b.bounds[column + e]), exact, entries[e]);
      const bool there = row < block.rows() && column + e < block.columns();
      if (there && !proved) failed |= uint64_t{1} << (2 * pair + e);
    }
    if (row >= block.rows()) continue;
    float* to = static_cast<float*>(block.out) + row * block.row_stride + column * block.column_stride;
    if (task.pairs_of_entries && column + 1 < block.columns()) {
      *reinterpret_cast<float2*>(to) = make_float2(entries[0], entries[1]);
    } else {
      if (column < block.columns()) to[0] = entries[0];
      if (column + 1 < block.columns()) to[block.column_stride] = entries[1];
    }
  }
  leave_unproved(block.unproved, failed, row_of, column_of);
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

template <int kWarpM, int kWarpN>
constexpr int stages_bytes() {
  return kStages * 2 * (kWarpM + kWarpN) * kChunkBytes;
}
template <int kWarpM, int kWarpN>
constexpr int kept_bytes() {
  return 4 * kWarpM * kWarpN * static_cast<int>(sizeof(double));
}

template <int kWarpM, int kWarpN>
constexpr int kBlocksTogether = kWarpM * kWarpN > 1024 ? 2
                                : kWarpM* kWarpN > 256 ? 3
                                                       : 4;

// Four warps, two by two. `kLong`: the depth is more than kSumsDepth values, so that sums of so many are added up in
// shared memory: a product that met all roundings of a long line would prove less.
template <class Value, int kWarpM, int kWarpN, bool kLong, bool kStore>
__global__ void __launch_bounds__(kThreads, (kBlocksTogether<kWarpM, kWarpN>))
    screen_kernel(const __grid_constant__ ScreenTask task) {
  constexpr int kM = 2 * kWarpM, kN = 2 * kWarpN;
  constexpr int kStageBytes = (kM + kN) * kChunkBytes;
  constexpr int kSumsChunks = kSumsDepth * static_cast<int>(sizeof(Value)) / kChunkBytes;
  extern __shared__ __align__(128) std::byte shared[];
  auto* kept = reinterpret_cast<double*>(shared + kStages * kStageBytes);
  const TilePlace place = tile_place<kM, kN>(task);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp % 2 * kWarpM, warp_column = warp / 2 * kWarpN;
  const int offset_a = (warp_row + lane / 4) * kChunkBytes + lane % 4 * 16;
  const int offset_b = (kM + warp_column + lane / 4) * kChunkBytes + lane % 4 * 16;

  using Tile = WarpTile<Value, kWarpM, kWarpN>;
  Tile tile;
  tile.clear();
  if constexpr (kLong) {
    for (int e = 0; e < Tile::kDown * Tile::kAcross * 4; ++e) kept[e * kThreads + static_cast<int>(threadIdx.x)] = 0;
  }
  const int32_t chunks = place.chunks * (kStore && task.block.wide ? place.kind + 1 : 1);
  Walk<kM, kN> walk(task, place);
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) {
    if (stage < chunks) walk.copy_next(shared + stage * kStageBytes);
    commit_copies();
  }
  for (int32_t chunk = 0; chunk < chunks; ++chunk) {
    await_copies<kStages - 2>();
    __syncthreads();  // everybody's copies are there, and everybody is done with the stage before
    const int32_t ahead = chunk + kStages - 1;
    if (ahead < chunks) walk.copy_next(shared + ahead % kStages * kStageBytes);
    commit_copies();
    const std::byte* stage = shared + chunk % kStages * kStageBytes;
    tile.add_chunk(stage + offset_a, stage + offset_b);
    if constexpr (kLong) {
      if ((chunk + 1) % kSumsChunks == 0) {
        tile.add_to(kept);
        tile.clear();
      }
    }
  }
  if constexpr (kLong) {
    tile.add_to(kept);
    tile.take(kept);
  }
  const LanePlace first = {place.row + warp_row + lane / 4, place.column + warp_column + lane % 4 * 2};
  if constexpr (kStore) {
    store_tile(task.block, tile, first, place.part);
  } else {
    certify_tile(task, tile, first);
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

template <class Value, int kWarpM, int kWarpN, bool kLong, bool kStore>
void launch(const ProductBlock& block, cudaStream_t stream) {
  constexpr int kM = 2 * kWarpM, kN = 2 * kWarpN;
  ScreenTask task = {block, 0, 0, 0, false};
  task.tiles_down = (block.rows() + kM - 1) / kM;
  task.tiles_across = (block.columns() + kN - 1) / kN;
  task.split_chunks = (block.a.chunks + block.splits - 1) / block.splits;
  task.pairs_of_entries = block.column_stride == 1 && block.row_stride % 2 == 0 &&
                          reinterpret_cast<uintptr_t>(block.out) % sizeof(float2) == 0;
  const auto kernel = screen_kernel<Value, kWarpM, kWarpN, kLong, kStore>;
  constexpr int kBytes = stages_bytes<kWarpM, kWarpN>() + (kLong ? kept_bytes<kWarpM, kWarpN>() : 0);
  allow_all_shared_memory(kernel, "preparing the screen of a product");
  const dim3 grid(static_cast<unsigned>(task.tiles_down * task.tiles_across),
                  static_cast<unsigned>(kStore ? block.parts() : 1));
  kernel<<<grid, kThreads, kBytes, stream>>>(task);
  check_launch("screening a product");
}

template <class Value, int kWarpM, int kWarpN>
void launch_tiles(const ProductBlock& block, bool is_long, cudaStream_t stream) {
  if constexpr (sizeof(Value) == 8) {
    is_long ? launch<Value, kWarpM, kWarpN, true, true>(block, stream)
            : launch<Value, kWarpM, kWarpN, false, true>(block, stream);
  } else {
    is_long ? launch<Value, kWarpM, kWarpN, true, false>(block, stream)
            : launch<Value, kWarpM, kWarpN, false, false>(block, stream);
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
    middle <= small ? launch<float, 32, 32, true, true>(block, stream)
                    : launch<float, 16, 16, true, true>(block, stream);
  } else if (large_fits && large <= std::min(middle, small)) {
    launch_tiles<Value, 64, 32>(block, is_long, stream);
  } else if (middle <= small) {
    launch_tiles<Value, 32, 32>(block, is_long, stream);
  } else {
    launch_tiles<Value, 16, 16>(block, is_long, stream);
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
