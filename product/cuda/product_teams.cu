// The screen of float32 products whose tiles are few or small. A warp has 32 x 32 entries. While the matrix unit works
// on a chunk of the depth, the warp converts the next chunk. So one warp keeps the unit of its quarter of a
// multiprocessor busy. Otherwise the unit would wait half the time for copies, conversions and other warps. Eight
// products of a chunk take the unit 512 clocks; its conversions take 256 clocks of another unit. A small tile of 32 x
// 32 has four teams of one warp, which share the depth and wait only for their own copies. A large tile of 64 x 64 has
// one team of four warps.
#include "backend/cuda/runtime/dependent_launch.cuh"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "product/cuda/packed_product.h"
#include "product/cuda/product_tiles.cuh"

#include <cstdint>

namespace manymeans::cuda {
namespace {

constexpr int kWarpSide = 32, kBlocksTogether = 2;
constexpr int kWarps = kThreads / 32;
using TeamTile = WarpTile<float, kWarpSide, kWarpSide>;
constexpr int kLaneSums = TeamTile::kDown * TeamTile::kAcross * 4;

constexpr int kSumsChunks = kSumsDepth * static_cast<int>(sizeof(float)) / kChunkBytes;

template <int kTeams>
constexpr int kSide = kTeams == 1 ? 2 * kWarpSide : kWarpSide;
template <int kTeams>
constexpr int kStages = kTeams == 1 ? 5 : 4;  // of each team
template <int kTeams>
constexpr int kStageBytes = 2 * kSide<kTeams> * kChunkBytes;

// A lane's 16 bytes of the lines of a chunk: four columns, then two pairs of rows.
struct LaneChunk {
  float4 units[8];

  __device__ __forceinline__ void load(const std::byte* a, const std::byte* b) {
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      units[u] = *reinterpret_cast<const float4*>(b + u * 8 * kChunkBytes);
      units[4 + u] = *reinterpret_cast<const float4*>(a + u * 8 * kChunkBytes);
    }
  }
};

// The compiler keeps this in its place, next to a product.
__device__ __forceinline__ double widened(float value) {
  double wide;
  asm volatile("cvt.f64.f32 %0, %1;" : "=d"(wide) : "f"(value));
  return wide;
}

// The operands of a lane as the matrix unit takes them.
struct LaneOperands {
  double rows[2][8], columns[4][4];

  template <int kUnit>
  __device__ __forceinline__ void widen(const float4& unit) {
    if constexpr (kUnit < 4) {
      put<1>(columns[kUnit], unit);
    } else {
      put<2>(rows[kUnit / 2 - 2] + kUnit % 2, unit);
    }
  }

 private:
  template <int kStep>
  static __device__ __forceinline__ void put(double* to, const float4& unit) {
    to[0] = widened(unit.x);
    to[kStep] = widened(unit.y);
    to[2 * kStep] = widened(unit.z);
    to[3 * kStep] = widened(unit.w);
  }
};

// Adds the products of a chunk and converts the next chunk: a unit of 16 bytes with each product.
template <int kUnit = 0>
__device__ __forceinline__ void add_and_widen(TeamTile& tile, const LaneOperands& now, const LaneChunk& chunk,
                                              LaneOperands& next) {
  if constexpr (kUnit < 8) {
    multiply_add(tile.sums[kUnit / 4][kUnit % 4], now.rows[kUnit / 4], now.columns[kUnit % 4]);
    next.widen<kUnit>(chunk.units[kUnit]);
    add_and_widen<kUnit + 1>(tile, now, chunk, next);
  }
}

template <int kUnit = 0>
__device__ __forceinline__ void widen_all(const LaneChunk& chunk, LaneOperands& to) {
  if constexpr (kUnit < 8) {
    to.widen<kUnit>(chunk.units[kUnit]);
    widen_all<kUnit + 1>(chunk, to);
  }
}

template <int kTeams>
__device__ __forceinline__ void await_team() {
  if constexpr (kTeams == 1) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}

// A team's chunks of a tile on their way through its stages of shared memory into a warp's registers. Of a tile's
// chunks a team has every kTeams-th. Before one is multiplied the next is read out of its stage, and the stage that it
// was in itself is filled again. Behind the last chunk there are zeros.
template <int kTeams>
class TeamChunks {
 public:
  __device__ __forceinline__ TeamChunks(const ProductBlock& block, const TilePlace& place, std::byte* shared) {
    const int thread = static_cast<int>(threadIdx.x) % kTeamThreads,
              team = static_cast<int>(threadIdx.x) / kTeamThreads;
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = thread / 32;
    const int row = warp % 2 * kWarpSide, column = warp / 2 * kWarpSide;
    left_ = (place.chunks - team + kTeams - 1) / kTeams;
    const int64_t first = place.first_chunk + team;
    band_bytes_ = int64_t{block.a.chunks} * kBandBytes;
    from_a_ = block.a.values + place.row / kBandLines * band_bytes_ + first * kBandBytes + thread * 16;
    from_b_ = block.b.values + place.column / kBandLines * band_bytes_ + first * kBandBytes + thread * 16;
    stages_ = shared + team * kStages<kTeams> * kStageBytes<kTeams>;
    offset_a_ = (row + lane / 4) * kChunkBytes + lane % 4 * 16;
    offset_b_ = (kSide<kTeams> + column + lane / 4) * kChunkBytes + lane % 4 * 16;
  }

  __device__ __forceinline__ void begin(LaneOperands& operands) {
#pragma unroll
    for (int stage = 0; stage < kStages<kTeams>; ++stage) copy_next(stage);
    await_copies<kStages<kTeams> - 1>();
    await_team<kTeams>();
    LaneChunk first;
    load(first);
    widen_all(first, operands);
  }

  __device__ __forceinline__ void add_next(TeamTile& tile, const LaneOperands& operands, LaneOperands& next) {
    await_copies<kStages<kTeams> - 2>();
    await_team<kTeams>();  // everybody's copies are there, and everybody has read the stage before
    copy_next(stage_);
    stage_ = stage_ + 1 < kStages<kTeams> ? stage_ + 1 : 0;
    LaneChunk chunk;
    load(chunk);
    add_and_widen(tile, operands, chunk, next);
  }

 private:
  static constexpr int kTeamThreads = kThreads / kTeams;
  static constexpr int kSideBytes = kSide<kTeams> * kChunkBytes;

  __device__ __forceinline__ void copy_next(int stage) {
    std::byte* to = stages_ + stage * kStageBytes<kTeams> + static_cast<int>(threadIdx.x) % kTeamThreads * 16;
    copy_side(to, from_a_);
    copy_side(to + kSideBytes, from_b_);
    commit_copies();
    from_a_ += kTeams * kBandBytes;
    from_b_ += kTeams * kBandBytes;
    --left_;
  }
  __device__ __forceinline__ void copy_side(std::byte* to, const std::byte* from) const {
#pragma unroll
    for (int at = 0; at < kSideBytes; at += kTeamThreads * 16) {
      copy_unit_if(left_ > 0, to + at, from + at / kBandBytes * band_bytes_ + at % kBandBytes);
    }
  }
  __device__ __forceinline__ void load(LaneChunk& chunk) const {
    const std::byte* stage = stages_ + stage_ * kStageBytes<kTeams>;
    chunk.load(stage + offset_a_, stage + offset_b_);
  }

  const std::byte *from_a_, *from_b_;
  std::byte* stages_;
  int64_t band_bytes_;
  int32_t left_;  // to be copied
  int offset_a_, offset_b_;
  int stage_ = 0;  // of the chunk in registers
};

// Sums of 16 x 16 entries over all teams, read from shared memory.
using Quarter = WarpTile<float, kWarpSide / 2, kWarpSide / 2>;

__device__ __forceinline__ Quarter quarter_of_teams(const double* kept, int quarter) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const double* from = kept + (quarter / 2 * TeamTile::kAcross + quarter % 2 * 2) * 4 * kThreads + lane;
  Quarter sums;
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    const double* of_warps = from + e * kThreads;
    sums.sums[0][e / 4][e % 4] = __dadd_rn(__dadd_rn(of_warps[0], of_warps[32]), __dadd_rn(of_warps[64], of_warps[96]));
  }
  return sums;
}

// Returns the first entry of a lane in its warp's fourth of the tile.
template <int kTeams>
__device__ __forceinline__ LanePlace first_of_lane(const TilePlace& place) {
  constexpr int kOwn = kSide<kTeams> / 2;
  constexpr bool kByRows = kTeams > 1;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int row = (kByRows ? warp / 2 : warp % 2) * kOwn, column = (kByRows ? warp % 2 : warp / 2) * kOwn;
  return {place.row + row + lane / 4, place.column + column + lane % 4 * 2};
}

// `kLong`: a warp has more than kSumsDepth values; sums of kSumsDepth are added in shared memory.
template <int kTeams, bool kLong, bool kStore>
__global__ void __launch_bounds__(kThreads, kBlocksTogether) teams_kernel(const __grid_constant__ ScreenTask task) {
  await_kernel_before();
  constexpr int kM = kSide<kTeams>;
  extern __shared__ __align__(128) std::byte shared[];
  auto* kept = reinterpret_cast<double*>(shared + kTeams * kStages<kTeams> * kStageBytes<kTeams>);
  const TilePlace place = tile_place<kM, kM>(task, static_cast<int32_t>(blockIdx.x));
  TeamChunks<kTeams> chunks(task.block, place, shared);
  const int32_t count = (place.chunks + kTeams - 1) / kTeams;
  LaneOperands operands, others;
  chunks.begin(operands);
  TeamTile tile;
  tile.clear();
  bool begun = false;
  for (int32_t summed = 0; summed < count; summed += 2) {
    if (kLong && summed % kSumsChunks == 0 && summed > 0) {
      tile.keep(kept, begun);
      tile.clear();
      begun = true;
    }
    chunks.add_next(tile, operands, others);
    chunks.add_next(tile, others, operands);
  }
  await_copies<0>();  // of zeros
  if constexpr (kTeams == 1) {
    if (kLong && begun) tile.add_from(kept);
    finish_tile<kStore, true, kM, kM>(task, tile, place, first_of_lane<kTeams>(place));
  } else {
    tile.keep(kept, begun);
    __syncthreads();
    finish_tile<kStore, true, kM, kM>(task, quarter_of_teams(kept, static_cast<int>(threadIdx.x) / 32), place,
                                      first_of_lane<kTeams>(place));
  }
  if constexpr (!kStore) report_unproved(task.block.unproved);
}

template <int kTeams, bool kLong, bool kStore>
void launch(const ProductBlock& block, cudaStream_t stream) {
  constexpr int kSums = kLong || kTeams > 1 ? kThreads * kLaneSums * static_cast<int>(sizeof(double)) : 0;
  constexpr int kBytes = kTeams * kStages<kTeams> * kStageBytes<kTeams> + kSums;
  static_assert(kBytes <= kSharedEverywhere);
  const auto kernel = teams_kernel<kTeams, kLong, kStore>;
  const ScreenTask task = screen_task(block, kSide<kTeams>, kSide<kTeams>);
  allow_all_shared_memory(kernel, "preparing the screen of a product");
  launch_dependent(kernel, {static_cast<unsigned>(task.tiles), kThreads, kBytes, stream}, "screening a product", task);
}

template <int kTeams>
void launch_teams(const ProductBlock& block, cudaStream_t stream) {
  const int32_t chunks = (block.a.chunks + block.splits - 1) / block.splits;
  const bool is_long = (chunks + kTeams - 1) / kTeams > kSumsChunks;
  if (block.sums != nullptr) {  // few tiles, whose depth is split
    launch<kTeams, true, true>(block, stream);
  } else if (is_long) {
    launch<kTeams, true, false>(block, stream);
  } else {
    launch<kTeams, false, false>(block, stream);
  }
}

}  // namespace

void screen_by_teams(const ProductBlock& block, bool small, cudaStream_t stream) {
  if (small) {
    launch_teams<kWarps>(block, stream);
  } else {
    launch_teams<1>(block, stream);
  }
}

}  // namespace manymeans::cuda
