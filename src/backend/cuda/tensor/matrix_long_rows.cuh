// The tensor-core screen for long rows: the points stay in shared memory or stream in. See matrix_screen.cu.
#pragma once

#include "backend/cuda/runtime/ptx.cuh"
#include "backend/cuda/tensor/matrix_finish.cuh"
#include "backend/cuda/tensor/matrix_ring.cuh"
#include "backend/cuda/tensor/wgmma.cuh"

#include <cuda.h>

#include <algorithm>
#include <cstdint>

namespace manymeans::cuda {

// kResident: panels of points that stay in shared memory; 0: they are streamed with the columns.
template <int kColumns_, int kResident_>
struct LongRows {
  static constexpr int kColumns = kColumns_;
  static constexpr int kResident = kResident_;
  static constexpr int kThreads = 3 * kWarpGroup;
  static constexpr int kRows = 128;
  static constexpr int kBoxRows = kRows;
  static constexpr LongRing kRing = long_ring(kColumns, kResident);
  static constexpr bool kStreamed = kResident == 0;
  static constexpr int kPointBytes = kRing.point_bytes();
  static constexpr int kTileBytes = kRing.tile_bytes();
  static constexpr int kStageBytes = kRing.stage_bytes();
  static constexpr int kStages = kRing.stages();
  static constexpr int kTermStages = 2;
  static constexpr int kTermBytes = order_place(kColumns) * 4;

  struct Shared {
    alignas(1024) unsigned char points[kStreamed ? kStages : kResident][kPointBytes];
    alignas(1024) unsigned char tiles[kStages][kTileBytes];
    alignas(16) float terms[kTermStages][order_place(kColumns)];
    uint64_t points_full[std::max(1, kResident)];
    uint64_t points_empty[std::max(1, kResident)];
    uint64_t terms_full[kTermStages];
    uint64_t terms_empty[kTermStages];
    uint64_t full[kStages];
    uint64_t empty[kStages];
  };
  static_assert(sizeof(Shared) <= kMaxShared);
};

template <int kColumns, int kResident, class Work>
__device__ __forceinline__ void long_copy(const MatrixTask& task, const CUtensorMap* points, const CUtensorMap* columns,
                                          typename LongRows<kColumns, kResident>::Shared& shared) {
  using Shape = LongRows<kColumns, kResident>;
  Ring ring;
  Ring term_ring;
  uint32_t point_parity = 0;
  for (Work work(task); work.more(); work.next()) {
    const int row = work.row_tile() * Shape::kRows;
    for (int tile = work.first_tile(); tile < work.last_tile(); ++tile) {
      barrier_wait(&shared.terms_empty[term_ring.at], term_ring.parity ^ 1);
      barrier_arrive_expect(&shared.terms_full[term_ring.at], Shape::kTermBytes);
      copy_bytes(shared.terms[term_ring.at], task.columns.terms + tile * tile_floats(kColumns), Shape::kTermBytes,
                 &shared.terms_full[term_ring.at]);
      term_ring.template next<Shape::kTermStages>();
      for (int panel = 0; panel < task.panels; ++panel) {
        if (!Shape::kStreamed && tile == work.first_tile()) {
          barrier_wait(&shared.points_empty[panel], point_parity ^ 1);
          barrier_arrive_expect(&shared.points_full[panel], Shape::kPointBytes);
          copy_tile(shared.points[panel], points, panel * kPanel, row, &shared.points_full[panel]);
        }
        barrier_wait(&shared.empty[ring.at], ring.parity ^ 1);
        uint64_t* full = &shared.full[ring.at];
        barrier_arrive_expect(full, Shape::kStageBytes);
        if (Shape::kStreamed) copy_tile(shared.points[ring.at], points, panel * kPanel, row, full);
        copy_tile(shared.tiles[ring.at], columns, panel * kPanel, tile * kColumns, full);
        ring.template next<Shape::kStages>();
      }
    }
    point_parity ^= 1;
  }
}

template <int kColumns, int kResident, class Work, class Epilogue>
__device__ __forceinline__ void long_compute(const MatrixTask& task,
                                             typename LongRows<kColumns, kResident>::Shared& shared) {
  using Shape = LongRows<kColumns, kResident>;
  Sums<1, kColumns> sums;
  const int group = static_cast<int>(threadIdx.x) / kWarpGroup;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
  Epilogue epilogue;
  Ring ring;
  Ring term_ring;
  uint32_t point_parity = 0;
  const int lag = task.lag;  // meeting_lag()
  for (Work work(task); work.more(); work.next()) {
    epilogue.begin(task, work.range(), static_cast<int64_t>(work.row_tile()) * Shape::kRows + row);
    for (int32_t tile = work.first_tile(); tile < work.last_tile(); ++tile) {
      int before = -1;
      for (int panel = 0; panel < task.panels; ++panel) {
        if (lag > 0 && group == 0 && panel == lag) pass_meeting();
        if (lag > 0 && group == 1 && panel == 0) await_meeting();
        if (!Shape::kStreamed && tile == work.first_tile()) barrier_wait(&shared.points_full[panel], point_parity);
        barrier_wait(&shared.full[ring.at], ring.parity);
        const unsigned char* of_points = shared.points[Shape::kStreamed ? ring.at : panel] + group * 64 * 128;
        const uint64_t a = panel_descriptor(of_points);
        const uint64_t b = panel_descriptor(shared.tiles[ring.at]);
        pin(sums[0]);
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < 4; ++step) {
          wgmma<kColumns>(sums[0], a + step * kDescriptorStep, b + step * kDescriptorStep, panel + step == 0 ? 0 : 1);
        }
        wgmma_commit();
        if (before >= 0) {
          wgmma_wait<1>();
          release_multiplied(&shared.empty[before]);
          if (!Shape::kStreamed && tile == work.last_tile() - 1) release_multiplied(&shared.points_empty[panel - 1]);
        }
        before = ring.at;
        ring.template next<Shape::kStages>();
      }
      wgmma_wait<0>();
      pin(sums[0]);
      release_multiplied(&shared.empty[before]);
      if (!Shape::kStreamed && tile == work.last_tile() - 1) release_multiplied(&shared.points_empty[task.panels - 1]);

      barrier_wait(&shared.terms_full[term_ring.at], term_ring.parity);
      const float* terms = shared.terms[term_ring.at];
      const uint32_t* order = task.columns.order + static_cast<int64_t>(tile) * kColumns;
      epilogue.template take_tile<kColumns>(task, sums, terms, order, tile);
      release_read(&shared.terms_empty[term_ring.at]);
      term_ring.template next<Shape::kTermStages>();
    }
    point_parity ^= 1;
  }
  epilogue.end(task);
}

template <int kColumns, int kResident, class Work, class Epilogue>
__global__ void __launch_bounds__(3 * kWarpGroup, 1)
    long_screen(const __grid_constant__ MatrixTask task, const __grid_constant__ CUtensorMap points,
                const __grid_constant__ CUtensorMap columns) {
  using Shape = LongRows<kColumns, kResident>;
  await_kernel_before();
  if (is_stopped(task.columns)) return;
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& shared = *reinterpret_cast<typename Shape::Shared*>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kResident; ++i) {
      barrier_init(&shared.points_full[i], 1);
      barrier_init(&shared.points_empty[i], 8);
    }
    for (int i = 0; i < Shape::kTermStages; ++i) {
      barrier_init(&shared.terms_full[i], 1);
      barrier_init(&shared.terms_empty[i], 8);
    }
    for (int i = 0; i < Shape::kStages; ++i) {
      barrier_init(&shared.full[i], 1);
      barrier_init(&shared.empty[i], 8);
    }
    barriers_are_begun();
  }
  __syncthreads();
  if (threadIdx.x >= 2 * kWarpGroup) {
    fewer_registers<24>();
    if (threadIdx.x == 2 * kWarpGroup) long_copy<kColumns, kResident, Work>(task, &points, &columns, shared);
  } else {
    more_registers<240>();
    long_compute<kColumns, kResident, Work, Epilogue>(task, shared);
  }
}

}  // namespace manymeans::cuda
