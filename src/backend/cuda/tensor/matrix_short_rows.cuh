// The tensor-core screen for short rows (D <= 128): the points of a block stay on the chip for all columns. See
// matrix_screen.cu.
#pragma once

#include "backend/cuda/runtime/ptx.cuh"
#include "backend/cuda/tensor/matrix_finish.cuh"
#include "backend/cuda/tensor/matrix_ring.cuh"
#include "backend/cuda/tensor/wgmma.cuh"

#include <cuda.h>

#include <algorithm>
#include <cstdint>

namespace manymeans::cuda {

// kSteps: of 16 values a row. Each of kGroups of threads owns kHalves times 64 rows.
template <int kSteps_, int kColumns_, int kHalves_ = 1>
struct ShortRows {
  static constexpr int kSteps = kSteps_;
  static constexpr int kColumns = kColumns_;
  static constexpr int kHalves = kHalves_;
  static constexpr int kGroups = 4;
  static constexpr int kThreads = (kGroups + 1) * kWarpGroup;
  // The rest of the block's registers, 96 a thread at first, when the copying group keeps 24 a thread.
  static constexpr int kRegisters = 112;
  static constexpr int kRows = kGroups * kHalves * 64;
  static constexpr int kBoxRows = 64;
  static constexpr int kPanels = (kSteps + 3) / 4;
  // With 64 columns the points stay in registers, if there is room: shared memory could not deliver both sides of such
  // small products in time. Their buffer is free again after the first tile of columns.
  static constexpr bool kPointsInRegisters = kColumns == 64 && kHalves == 1;
  static constexpr int kPointBuffers = kPanels == 1 || !kPointsInRegisters ? 2 : 1;
  static constexpr int kStages = kPanels == 1 || kColumns == 64 ? 6 : 3;
  static constexpr int kPointBytes = kPanels * kRows * kPanel * 2;
  static constexpr int kTileBytes = kPanels * kColumns * kPanel * 2;
  static constexpr int kTermBytes = order_place(kColumns) * 4;

  struct Shared {
    alignas(1024) unsigned char points[kPointBuffers][kPointBytes];
    alignas(1024) unsigned char tiles[kStages][kTileBytes];
    alignas(16) float terms[kStages][order_place(kColumns)];
    uint64_t points_full[kPointBuffers];
    uint64_t points_empty[kPointBuffers];
    uint64_t tile_full[kStages];
    uint64_t tile_empty[kStages];
  };
  static_assert(sizeof(Shared) <= kMaxShared);
};

template <class Shape, class Work>
__device__ __forceinline__ void short_copy(const MatrixTask& task, const CUtensorMap* points,
                                           const CUtensorMap* columns, typename Shape::Shared& shared) {
  constexpr int kColumns = Shape::kColumns;
  Ring tile_ring;
  Ring point_ring;
  for (Work work(task); work.more(); work.next()) {
    barrier_wait(&shared.points_empty[point_ring.at], point_ring.parity ^ 1);
    uint64_t* points_full = &shared.points_full[point_ring.at];
    barrier_arrive_expect(points_full, Shape::kPointBytes);
    for (int panel = 0; panel < Shape::kPanels; ++panel) {
      for (int row = 0; row < Shape::kRows; row += Shape::kBoxRows) {
        copy_tile(shared.points[point_ring.at] + (panel * Shape::kRows + row) * 128, points, panel * kPanel,
                  work.row_tile() * Shape::kRows + row, points_full);
      }
    }
    point_ring.template next<Shape::kPointBuffers>();
    for (int tile = work.first_tile(); tile < work.last_tile(); ++tile) {
      barrier_wait(&shared.tile_empty[tile_ring.at], tile_ring.parity ^ 1);
      uint64_t* full = &shared.tile_full[tile_ring.at];
      barrier_arrive_expect(full, Shape::kTileBytes + Shape::kTermBytes);
      for (int panel = 0; panel < Shape::kPanels; ++panel) {
        copy_tile(shared.tiles[tile_ring.at] + panel * kColumns * 128, columns, panel * kPanel, tile * kColumns, full);
      }
      copy_bytes(shared.terms[tile_ring.at], task.columns.terms + tile * tile_floats(kColumns), Shape::kTermBytes,
                 full);
      tile_ring.template next<Shape::kStages>();
    }
  }
}

// The left side of a group's products, if it stays in registers: the 64 rows of a buffer of points.
template <class Shape>
__device__ __forceinline__ void load_points(uint32_t (&values)[Shape::kSteps][4], const unsigned char* points) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int row = static_cast<int>(threadIdx.x) / 32 * 16 + lane % 16;
#pragma unroll
  for (int step = 0; step < Shape::kSteps; ++step) {
    const int chunk = (step % 4 * 2 + lane / 16) ^ (row % 8);
    load_blocks(values[step], shared_address(points) + step / 4 * (Shape::kRows * 128) + row * 128 + chunk * 16);
  }
}

template <class Shape>
__device__ __forceinline__ void multiply(const uint32_t (&values)[Shape::kSteps][4], const unsigned char* points,
                                         const unsigned char* tile, Sums<Shape::kHalves, Shape::kColumns>& sums) {
  const unsigned char* of_group = points + static_cast<int>(threadIdx.x) / kWarpGroup * Shape::kHalves * 64 * 128;
#pragma unroll
  for (int half = 0; half < Shape::kHalves; ++half) pin(sums[half]);
  wgmma_fence();
#pragma unroll
  for (int half = 0; half < Shape::kHalves; ++half) {
#pragma unroll
    for (int step = 0; step < Shape::kSteps; ++step) {
      const uint64_t b = panel_descriptor(tile + step / 4 * (Shape::kColumns * 128)) + step % 4 * kDescriptorStep;
      if constexpr (Shape::kPointsInRegisters) {
        wgmma<Shape::kColumns>(sums[half], values[step], b, step == 0 ? 0 : 1);
      } else {
        const unsigned char* left = of_group + step / 4 * (Shape::kRows * 128) + half * 64 * 128;
        const uint64_t a = panel_descriptor(left) + step % 4 * kDescriptorStep;
        wgmma<Shape::kColumns>(sums[half], a, b, step == 0 ? 0 : 1);
      }
    }
  }
  wgmma_commit();
  wgmma_wait<0>();
#pragma unroll
  for (int half = 0; half < Shape::kHalves; ++half) pin(sums[half]);
}

// Groups know nothing of each other: while some look at their scores, the products of others are under way.
template <class Shape, class Work, class Epilogue>
__device__ __forceinline__ void short_compute(const MatrixTask& task, typename Shape::Shared& shared) {
  const int thread = static_cast<int>(threadIdx.x) % kWarpGroup;
  const int row = static_cast<int>(threadIdx.x) / kWarpGroup * Shape::kHalves * 64 + thread / 32 * 16 + thread % 32 / 4;
  uint32_t values[Shape::kSteps][4];
  Sums<Shape::kHalves, Shape::kColumns> sums;
  Epilogue epilogue;
  Ring tile_ring;
  Ring point_ring;
  for (Work work(task); work.more(); work.next()) {
    const unsigned char* points = shared.points[point_ring.at];
    barrier_wait(&shared.points_full[point_ring.at], point_ring.parity);
    if constexpr (Shape::kPointsInRegisters) load_points<Shape>(values, points);
    epilogue.begin(task, work.range(), static_cast<int64_t>(work.row_tile()) * Shape::kRows + row);
    for (int32_t tile = work.first_tile(); tile < work.last_tile(); ++tile) {
      const int stage = tile_ring.at;
      barrier_wait(&shared.tile_full[stage], tile_ring.parity);
      multiply<Shape>(values, points, shared.tiles[stage], sums);
      // Released after a product has used them: loads to registers may still be under way when the next instruction
      // begins. The next points would overwrite what they read.
      if constexpr (Shape::kPointsInRegisters) {
        if (tile == work.first_tile()) release_read(&shared.points_empty[point_ring.at]);
      } else {
        if (tile == work.last_tile() - 1) release_multiplied(&shared.points_empty[point_ring.at]);
      }
      epilogue.template take_tile<Shape::kColumns>(task, sums, shared.terms[stage],
                                                   task.columns.order + tile * Shape::kColumns, tile);
      release_read(&shared.tile_empty[stage]);  // the terms were read
      tile_ring.template next<Shape::kStages>();
    }
    point_ring.template next<Shape::kPointBuffers>();
  }
  epilogue.end(task);
}

template <class Shape, class Work, class Epilogue>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    short_screen(const __grid_constant__ MatrixTask task, const __grid_constant__ CUtensorMap points,
                 const __grid_constant__ CUtensorMap columns) {
  await_kernel_before();
  if (is_stopped(task.columns)) return;
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<typename Shape::Shared*>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < Shape::kPointBuffers; ++i) {
      barrier_init(&shared.points_full[i], 1);
      barrier_init(&shared.points_empty[i], 4 * Shape::kGroups);
    }
    for (int i = 0; i < Shape::kStages; ++i) {
      barrier_init(&shared.tile_full[i], 1);
      barrier_init(&shared.tile_empty[i], 4 * Shape::kGroups);
    }
    barriers_are_begun();
  }
  __syncthreads();
  if (threadIdx.x >= Shape::kGroups * kWarpGroup) {
    fewer_registers<24>();
    if (threadIdx.x == Shape::kGroups * kWarpGroup) short_copy<Shape, Work>(task, &points, &columns, shared);
  } else {
    more_registers<Shape::kRegisters>();
    short_compute<Shape, Work, Epilogue>(task, shared);
  }
}

}  // namespace manymeans::cuda
