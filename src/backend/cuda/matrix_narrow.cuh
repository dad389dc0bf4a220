// The tensor-core screen for short rows (D <= 128): the points stay in registers. See matrix_screen.cu.
#pragma once

#include "backend/cuda/matrix_finish.cuh"
#include "backend/cuda/matrix_ring.cuh"
#include "backend/cuda/ptx.cuh"
#include "backend/cuda/wgmma.cuh"

#include <cuda.h>

#include <algorithm>
#include <cstdint>

namespace manymeans::cuda {

// kSteps: of 16 values a row. kGroups of threads own kHalves * 64 rows each.
template <int kSteps_, int kColumns_, int kGroups_, int kHalves_>
struct Narrow {
  static constexpr int kSteps = kSteps_;
  static constexpr int kColumns = kColumns_;
  static constexpr int kGroups = kGroups_;
  static constexpr int kHalves = kHalves_;
  static constexpr int kThreads = (kGroups + 1) * kGroup;
  // What is left of the block's registers when the copying group keeps 24 a thread: 168, 128 or 96 a thread at first.
  static constexpr int kRegisters = kGroups == 2 ? 240 : kGroups == 3 ? 160 : 112;
  static constexpr int kRows = kGroups * kHalves * 64;
  static constexpr int kBoxRows = std::min(kRows, 64 * kHalves);
  static constexpr int kPanels = (kSteps + 3) / 4;
  static constexpr int kPointBuffers = kPanels == 1 ? 2 : 1;
  static constexpr int kStages = kPanels == 1 || kColumns == 64 ? 6 : 4;
  static constexpr int kPointBytes = kPanels * kRows * kPanel * 2;
  static constexpr int kTileBytes = kPanels * kColumns * kPanel * 2;
  static constexpr int kTermBytes = tile_floats(kColumns) * 4;

  struct Shared {
    alignas(1024) unsigned char points[kPointBuffers][kPointBytes];
    alignas(1024) unsigned char tiles[kStages][kTileBytes];
    alignas(16) float terms[kStages][tile_floats(kColumns)];
    uint64_t points_full[kPointBuffers];
    uint64_t points_empty[kPointBuffers];
    uint64_t tile_full[kStages];
    uint64_t tile_empty[kStages];
  };
  static_assert(sizeof(Shared) <= kMostShared);
};

// Half of the rows of a thread group: 64, of which a thread shares two.
template <int kSteps, class Epilogue>
struct Half {
  uint32_t values[kSteps][4];
  Epilogue epilogue;
};

template <class Shape, class Work, class Epilogue>
__device__ __forceinline__ void load_half(const MatrixTask& task, const Work& work, Half<Shape::kSteps, Epilogue>& half,
                                          const unsigned char* points, int row) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int row_of_lane = row + lane % 16;
#pragma unroll
  for (int step = 0; step < Shape::kSteps; ++step) {
    const int chunk = (step % 4 * 2 + lane / 16) ^ (row_of_lane % 8);
    load_blocks(half.values[step],
                shared_address(points) + step / 4 * (Shape::kRows * 128) + row_of_lane * 128 + chunk * 16);
  }
  half.epilogue.begin(task, work.range(), static_cast<int64_t>(work.row_tile()) * Shape::kRows + row + lane / 4);
}

template <class Shape>
__device__ __forceinline__ void multiply(const uint32_t (&values)[Shape::kSteps][4], const unsigned char* tile,
                                         float (&sums)[Shape::kColumns / 2]) {
  pin(sums);
  wgmma_fence();
#pragma unroll
  for (int step = 0; step < Shape::kSteps; ++step) {
    const uint64_t b = panel_descriptor(tile + step / 4 * (Shape::kColumns * 128)) + step % 4 * kDescriptorStep;
    wgmma<Shape::kColumns>(sums, values[step], b, step == 0 ? 0 : 1);
  }
  wgmma_commit();
}

template <class Shape, class Epilogue>
__device__ __forceinline__ void finish_tile(const MatrixTask& task, Epilogue& epilogue,
                                            const float (&sums)[Shape::kColumns / 2], const float* terms,
                                            int32_t tile) {
  const auto* order = reinterpret_cast<const uint32_t*>(terms + Shape::kColumns + kTermFloats);
  epilogue.template take_tile<Shape::kColumns>(task, sums, terms, order, tile);
}

template <class Shape, class Work>
__device__ __forceinline__ void narrow_copy(const MatrixTask& task, const CUtensorMap* points,
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
        copy_box(shared.points[point_ring.at] + (panel * Shape::kRows + row) * 128, points, panel * kPanel,
                 work.row_tile() * Shape::kRows + row, points_full);
      }
    }
    point_ring.template next<Shape::kPointBuffers>();
    for (int tile = work.first_tile(); tile < work.last_tile(); ++tile) {
      barrier_wait(&shared.tile_empty[tile_ring.at], tile_ring.parity ^ 1);
      uint64_t* full = &shared.tile_full[tile_ring.at];
      barrier_arrive_expect(full, Shape::kTileBytes + Shape::kTermBytes);
      for (int panel = 0; panel < Shape::kPanels; ++panel) {
        copy_box(shared.tiles[tile_ring.at] + panel * kColumns * 128, columns, panel * kPanel, tile * kColumns, full);
      }
      copy_bytes(shared.terms[tile_ring.at], task.columns.terms + tile * tile_floats(kColumns), Shape::kTermBytes,
                 full);
      tile_ring.template next<Shape::kStages>();
    }
  }
}

template <class Shape, class Work, class Epilogue>
__device__ __forceinline__ void narrow_compute(const MatrixTask& task, typename Shape::Shared& shared) {
  constexpr int kHalves = Shape::kHalves;
  Half<Shape::kSteps, Epilogue> halves[kHalves];
  float sums[kHalves][Shape::kColumns / 2];
  const int group = static_cast<int>(threadIdx.x) / kGroup;
  const int row = static_cast<int>(threadIdx.x) % kGroup / 32 * 16 + group * kHalves * 64;
  Ring tile_ring;
  Ring point_ring;
  for (Work work(task); work.more(); work.next()) {
    barrier_wait(&shared.points_full[point_ring.at], point_ring.parity);
#pragma unroll
    for (int h = 0; h < kHalves; ++h) {
      load_half<Shape>(task, work, halves[h], shared.points[point_ring.at], row + h * 64);
    }
    for (int32_t tile = work.first_tile(); tile < work.last_tile(); ++tile) {
      const int stage = tile_ring.at;
      barrier_wait(&shared.tile_full[stage], tile_ring.parity);
#pragma unroll
      for (int h = 0; h < kHalves; ++h) multiply<Shape>(halves[h].values, shared.tiles[stage], sums[h]);
      // Not before: loads may still be under way when the next instruction begins, and the next points would overwrite
      // what they read. A product waits for its operands.
      if (tile == work.first_tile()) release(&shared.points_empty[point_ring.at]);
      if constexpr (kHalves == 2) {
        wgmma_wait<1>();
        pin(sums[0]);
        finish_tile<Shape>(task, halves[0].epilogue, sums[0], shared.terms[stage], tile);
      }
      wgmma_wait<0>();
      pin(sums[kHalves - 1]);
      finish_tile<Shape>(task, halves[kHalves - 1].epilogue, sums[kHalves - 1], shared.terms[stage], tile);
      release(&shared.tile_empty[stage]);
      tile_ring.template next<Shape::kStages>();
    }
    point_ring.template next<Shape::kPointBuffers>();
  }
}

template <class Shape, class Work, class Epilogue>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    narrow_screen(const __grid_constant__ MatrixTask task, const __grid_constant__ CUtensorMap points,
                  const __grid_constant__ CUtensorMap columns) {
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
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= Shape::kGroups * kGroup) {
    fewer_registers<24>();
    if (threadIdx.x == Shape::kGroups * kGroup) narrow_copy<Shape, Work>(task, &points, &columns, shared);
  } else {
    more_registers<Shape::kRegisters>();
    narrow_compute<Shape, Work, Epilogue>(task, shared);
  }
}

}  // namespace manymeans::cuda
