// The screen of products: sums in binary64 by the matrix units (DMMA). On a Hopper DMMA does as many multiply-adds a
// second as float32 without matrix units; that rate is the bound. A warp's 64 x 32 entries use a quarter of the rate of
// shared memory. Converting float32 uses a third of the conversion unit's rate. Two blocks on a multiprocessor fill
// each other's pauses: one certifies while the other sums. Units that are idle else certify sums (quick_proof.h): one
// binary64 operation would wait as long as a product of the other block takes. Smaller tiles of float32:
// product_teams.cu.
#include "backend/cuda/runtime/dependent_launch.cuh"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "product/cuda/packed_product.h"
#include "product/cuda/product_tiles.cuh"
#include "product/cuda/unproved.cuh"
#include "product/product_certify.h"

#include <algorithm>
#include <cstdint>

namespace manymeans::cuda {
namespace {

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

// Four warps, two by two, go from tile to tile. `kLong`: the depth is more than kSumsDepth values. Sums of kSumsDepth
// values are then added in shared memory: a product with all roundings of a long line would prove less.
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
    finish_tile<kStore, false, kM, kN>(task, tile, place, first);
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

// As many blocks as multiprocessors hold at a time go over all tiles. If sums are stored, a block has one tile: tiles
// differ in time, so a free multiprocessor takes the next.
template <class Value, int kWarpM, int kWarpN, bool kLong, bool kStore>
void launch(const ProductBlock& block, int multiprocessors, cudaStream_t stream) {
  constexpr int kM = 2 * kWarpM, kN = 2 * kWarpN;
  const ScreenTask task = screen_task(block, kM, kN);
  const auto kernel = screen_kernel<Value, kWarpM, kWarpN, kLong, kStore>;
  constexpr int kBytes = stages_bytes<kWarpM, kWarpN>() + (kLong ? kept_bytes<kWarpM, kWarpN>() : 0);
  static_assert(kBytes <= kSharedEverywhere || kWarpM * kWarpN > 1024);  // choose_tiles() asks the device
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

int max_shared_bytes() {
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

// As screen_product().
template <class Value>
bool choose_tiles(const ProductBlock& block, int multiprocessors, cudaStream_t stream) {
  const int64_t values = int64_t{block.a.chunks} * (kChunkBytes / static_cast<int>(sizeof(Value)));
  const bool is_long = (block.wide ? 3 : 1) * ((values + block.splits - 1) / block.splits) > kSumsDepth;
  const bool large_fits = stages_bytes<64, 32>() + kept_bytes<64, 32>() <= max_shared_bytes();
  const double large = tiles_time(block, 128, 64, 1, multiprocessors);
  const double middle = tiles_time(block, 64, 64, block.wide ? 1.1 : 1, multiprocessors);
  const double small = tiles_time(block, 32, 32, block.wide ? 2 : 1.25, multiprocessors);
  const bool few = block.sums != nullptr && !block.wide;  // tiles, so that the depth is split
  if (large_fits && large <= std::min(middle, small) && !few) {
    launch_tiles<Value, 64, 32>(block, is_long, multiprocessors, stream);
  } else if (sizeof(Value) == sizeof(float)) {
    screen_by_teams(block, small < middle, stream);
    return block.sums == nullptr;
  } else if (middle <= small) {
    launch_tiles<double, 32, 32>(block, is_long, multiprocessors, stream);
  } else {
    launch_tiles<double, 16, 16>(block, is_long, multiprocessors, stream);
  }
  return false;
}

}  // namespace

int product_splits(int64_t rows, int64_t columns, int64_t depth, int multiprocessors) {
  const int64_t tiles = tiles_of(rows, columns, 64, 64);
  if (tiles >= multiprocessors) return 1;
  const int64_t wanted = (int64_t{2} * multiprocessors + tiles - 1) / tiles;
  return static_cast<int>(std::clamp<int64_t>(std::min(wanted, depth / (2 * kSumsDepth)), 1, 1024));
}

bool screen_product(const ProductBlock& block, int multiprocessors, cudaStream_t stream) {
  const bool resolves = block.wide ? choose_tiles<double>(block, multiprocessors, stream)
                                   : choose_tiles<float>(block, multiprocessors, stream);
  if (block.sums == nullptr) return resolves;
  const dim3 grid(static_cast<unsigned>((block.columns() + 255) / 256),
                  static_cast<unsigned>(std::clamp(block.rows(), 1, 16384)));
  certify_kernel<<<grid, 256, 0, stream>>>(block);
  check_launch("certifying a product");
  return false;
}

}  // namespace manymeans::cuda
