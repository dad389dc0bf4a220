// Sums of products of bytes, modulo each modulus, for Hopper: m64n256k32 of s8, tiles of 128 x 256. One warp copies.
// Residue tiles lie in memory as the matrix units read them, so a copy is 16 KiB in one piece. Two groups of four warps
// multiply 64 rows each. Blocks are persistent: copies of the next tile begin while sums are reduced and stored. Bound
// by the matrix units and, at 48 bytes a cycle and multiprocessor, by the second cache.
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "backend/cuda/runtime/ptx.cuh"
#include "backend/cuda/runtime/wait_point.cuh"
#include "product/cuda/residue_product.h"

#include <algorithm>
#include <cstdint>

namespace manymeans::cuda {
namespace {

constexpr int kGroup = 128;  // threads
constexpr int kThreads = 3 * kGroup;
constexpr int kStages = 4;
constexpr int kStageBytes = 3 * kTileBytes;
constexpr int kGroupRows = 64;
constexpr int kGroupTiles = 16;        // tiles of rows that follow each other, so that columns are read from the cache
constexpr int32_t kExactBlocks = 512;  // 2^16 products of at most 2^14 stay below 2^31

struct ResidueTask {
  const int8_t *a, *b;
  uint8_t* sums;
  int64_t a_plane, b_plane, sum_plane, pitch;
  int32_t tiles_down, tiles_across, depth_blocks, planes;
  uint32_t moduli[kMaxModuli], inverses[kMaxModuli], offsets[kMaxModuli];
};

struct Shared {
  alignas(1024) int8_t stages[kStages][kStageBytes];  // 128 rows, 256 columns
  alignas(16) uint8_t sums[2][kGroupRows * kResidueColumns];
  uint64_t full[kStages], empty[kStages];
};

// clang-format off
#define MANYMEANS_8_SUMS(i)                                                                                     \
  "+r"(d[(i) + 0]), "+r"(d[(i) + 1]), "+r"(d[(i) + 2]), "+r"(d[(i) + 3]), "+r"(d[(i) + 4]), "+r"(d[(i) + 5]), \
  "+r"(d[(i) + 6]), "+r"(d[(i) + 7])
#define MANYMEANS_32_SUMS(i) \
  MANYMEANS_8_SUMS(i), MANYMEANS_8_SUMS((i) + 8), MANYMEANS_8_SUMS((i) + 16), MANYMEANS_8_SUMS((i) + 24)

// d = (accumulate ? d : 0) + a b' of 64 x 256 sums, 32 bytes deep.
__device__ __forceinline__ void multiply_bytes(int32_t (&d)[128], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\nwgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
      "}, %128, %129, p;\n}\n"
      : MANYMEANS_32_SUMS(0), MANYMEANS_32_SUMS(32), MANYMEANS_32_SUMS(64), MANYMEANS_32_SUMS(96)
      : "l"(a), "l"(b), "r"(accumulate));
}
#undef MANYMEANS_8_SUMS
#undef MANYMEANS_32_SUMS
// clang-format on

struct Ring {
  int at = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void next() {
    if (++at == kStages) {
      at = 0;
      parity ^= 1;
    }
  }
};

struct TilePlace {
  int32_t plane, row_tile, column_tile;
};

__device__ TilePlace tile_place(const ResidueTask& task, int64_t id) {
  const int64_t of_plane = int64_t{task.tiles_down} * task.tiles_across;
  const int64_t in_plane = id % of_plane;
  const int64_t of_group = int64_t{kGroupTiles} * task.tiles_across;
  const auto first = static_cast<int32_t>(in_plane / of_group * kGroupTiles);
  const int32_t down = min(kGroupTiles, task.tiles_down - first);
  const auto in_group = static_cast<int32_t>(in_plane % of_group);
  return {static_cast<int32_t>(id / of_plane), first + in_group % down, in_group / down};
}

__device__ __forceinline__ int64_t tiles_of(const ResidueTask& task) {
  return int64_t{task.tiles_down} * task.tiles_across * task.planes;
}

// One thread.
__device__ void copy_tiles(const ResidueTask& task, Shared& shared) {
  Ring ring;
  for (int64_t id = blockIdx.x; id < tiles_of(task); id += gridDim.x) {
    const TilePlace place = tile_place(task, id);
    const int64_t line_bytes = int64_t{task.depth_blocks} * kTileBytes;
    const int8_t* a = task.a + place.plane * task.a_plane + place.row_tile * line_bytes;
    const int8_t* b = task.b + place.plane * task.b_plane + 2 * place.column_tile * line_bytes;
    for (int32_t block = 0; block < task.depth_blocks; ++block, a += kTileBytes, b += kTileBytes, ring.next()) {
      barrier_wait(&shared.empty[ring.at], ring.parity ^ 1);
      uint64_t* full = &shared.full[ring.at];
      int8_t* stage = shared.stages[ring.at];
      barrier_arrive_expect(full, kStageBytes);
      copy_bytes(stage, a, kTileBytes, full);
      copy_bytes(stage + kTileBytes, b, kTileBytes, full);
      copy_bytes(stage + 2 * kTileBytes, b + line_bytes, kTileBytes, full);
    }
  }
}

// From 0 to p - 1. The offset, a multiple of p, makes sums positive; the quotient is at most one too small.
__device__ __forceinline__ uint32_t residue_of(int32_t sum, uint32_t p, uint32_t inverse, uint32_t offset) {
  const uint32_t positive = static_cast<uint32_t>(sum) + offset;
  const uint32_t rest = positive - __umulhi(positive, inverse) * p;
  return min(rest, rest - p);
}

__device__ __forceinline__ void release(uint64_t* barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) barrier_arrive(barrier);
}

__device__ __forceinline__ void group_meets(int group) {
  wait_point();
  asm volatile("bar.sync %0, %1;" ::"r"(1 + group), "n"(kGroup) : "memory");
  wait_point();
}

// Reduces a group's 64 x 256 sums modulo p and stores them through shared memory. Chunks of 16 bytes are permuted there
// by the row, so that eight rows are written at once.
__device__ __forceinline__ void store_sums(const ResidueTask& task, uint8_t* buffer, const int32_t (&sums)[128],
                                           const TilePlace& place, int group) {
  const uint32_t p = task.moduli[place.plane], inverse = task.inverses[place.plane], offset = task.offsets[place.plane];
  const int thread = static_cast<int>(threadIdx.x) % kGroup;
  const int row = thread / 32 * 16 + thread % 32 / 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int j = 0; j < kResidueColumns / 8; ++j) {
      const uint32_t first = residue_of(sums[4 * j + 2 * half], p, inverse, offset);
      const uint32_t second = residue_of(sums[4 * j + 2 * half + 1], p, inverse, offset);
      const int at = (row + 8 * half) * kResidueColumns + ((j / 2) ^ row % 8) * 16 + j % 2 * 8 + thread % 4 * 2;
      *reinterpret_cast<uint16_t*>(buffer + at) = static_cast<uint16_t>(first | second << 8);
    }
  }
  group_meets(group);
  uint8_t* to = task.sums + place.plane * task.sum_plane + int64_t{place.column_tile} * kResidueColumns +
                (int64_t{place.row_tile} * kResidueLines + group * kGroupRows) * task.pitch;
#pragma unroll
  for (int i = 0; i < kGroupRows * kResidueColumns / 16 / kGroup; ++i) {
    const int chunk = i * kGroup + thread, line = chunk / 16;
    const uint4 bytes = *reinterpret_cast<const uint4*>(buffer + line * kResidueColumns + (chunk % 16 ^ line % 8) * 16);
    *reinterpret_cast<uint4*>(to + line * task.pitch + chunk % 16 * 16) = bytes;
  }
  group_meets(group);
}

// A group's share of all the block's tiles.
__device__ void multiply_tiles(const ResidueTask& task, Shared& shared, int group) {
  Ring ring;
  int32_t sums[128] = {};
  for (int64_t id = blockIdx.x; id < tiles_of(task); id += gridDim.x) {
    const TilePlace place = tile_place(task, id);
    int before = -1;
    for (int32_t block = 0; block < task.depth_blocks; ++block, ring.next()) {
      barrier_wait(&shared.full[ring.at], ring.parity);
      const int8_t* stage = shared.stages[ring.at];
      const uint64_t a = panel_descriptor(stage + group * kGroupRows * kResidueDepth);
      const uint64_t b = panel_descriptor(stage + kTileBytes);
      pin(sums);
      wgmma_fence();
#pragma unroll
      for (int step = 0; step < kResidueDepth / 32; ++step) {
        multiply_bytes(sums, a + step * kDescriptorStep, b + step * kDescriptorStep, block > 0 || step > 0 ? 1 : 0);
      }
      wgmma_commit();
      wgmma_wait<1>();
      if (before >= 0) release(&shared.empty[before]);
      before = ring.at;
      if (block % kExactBlocks == kExactBlocks - 1) {
        wgmma_wait<0>();
        pin(sums);
        const uint32_t p = task.moduli[place.plane], inverse = task.inverses[place.plane];
#pragma unroll
        for (int32_t& sum : sums) {
          sum = static_cast<int32_t>(residue_of(sum, p, inverse, task.offsets[place.plane]));
        }
      }
    }
    wgmma_wait<0>();
    pin(sums);
    release(&shared.empty[before]);
    store_sums(task, shared.sums[group], sums, place, group);
  }
}

__global__ void __launch_bounds__(kThreads, 1) multiply_kernel(const __grid_constant__ ResidueTask task) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      barrier_init(&shared.full[stage], 1);
      barrier_init(&shared.empty[stage], 2 * kGroup / 32);
    }
    barriers_are_begun();
  }
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / kGroup;
  if (group == 2) {
    fewer_registers<40>();
    if (threadIdx.x == 2 * kGroup) copy_tiles(task, shared);
  } else {
    more_registers<232>();
    multiply_tiles(task, shared, group);
  }
}

}  // namespace

void multiply_residues(const ResidueBlock& block, int multiprocessors, cudaStream_t stream) {
  ResidueTask task = {};
  task.a = block.a.values;
  task.b = block.b.values;
  task.sums = block.sums;
  task.a_plane = block.a.plane_bytes;
  task.b_plane = block.b.plane_bytes;
  task.sum_plane = block.plane_bytes;
  task.pitch = block.pitch;
  task.tiles_down = block.a.tiles;
  task.tiles_across = block.b.tiles / 2;
  task.depth_blocks = block.a.depth_blocks;
  task.planes = block.basis.count;
  for (int i = 0; i < block.basis.count; ++i) {
    const auto p = static_cast<uint32_t>(block.basis.moduli[i]);
    task.moduli[i] = p;
    task.inverses[i] = static_cast<uint32_t>((uint64_t{1} << 32) / p);
    task.offsets[i] = ((uint32_t{1} << 30) / p + 2) * p;
  }
  const int64_t tiles = int64_t{task.tiles_down} * task.tiles_across * task.planes;
  allow_all_shared_memory(multiply_kernel, "preparing a product of residues");
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(multiprocessors, tiles));
  multiply_kernel<<<blocks, kThreads, sizeof(Shared), stream>>>(task);
  check_launch("multiplying residues");
}

}  // namespace manymeans::cuda
