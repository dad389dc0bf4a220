// The tensor-core screen by mma.sync, which every device from compute capability 8.0 on has. See matrix_screen.cu.
//
// Four warps a block own 32 rows each, as two halves of 16. Panels of 64 values of the block's rows and of a tile's
// columns come by asynchronous copies, one set while the other is multiplied. The sums lie in the threads as in
// Hopper's products, so the epilogues are the same.
#pragma once

#include "backend/cuda/runtime/wait_point.cuh"
#include "backend/cuda/tensor/matrix_finish.cuh"
#include "backend/cuda/tensor/matrix_gather.cuh"
#include "backend/cuda/tensor/warp_product.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

template <int kColumns_>
struct Sync {
  static constexpr int kColumns = kColumns_;
  static constexpr int kThreads = 128;
  static constexpr int kRows = 128;
  static constexpr int kHalves = 2;
  static constexpr int kStages = 2;
  static constexpr int kRowBytes = kPanelColumns * 2;

  struct Shared {
    alignas(128) unsigned char points[kStages][kRows * kRowBytes];
    alignas(128) unsigned char columns[kStages][kColumns * kRowBytes];
    alignas(16) float terms[2][tile_floats(kColumns)];  // of tiles of even and odd number
  };
};

/// 16 bytes, in the background.
__device__ __forceinline__ void copy_async(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}

/// Returns the place of a row's 16-byte chunk in a panel: eight rows at the same chunk are in different banks.
__device__ __forceinline__ int chunk_place(int row, int chunk) {
  return row * 128 + (chunk ^ (row % 8)) * 16;
}

// One panel of some rows; what is beyond the last column stays as it is, and is not multiplied.
template <int kRows>
__device__ __forceinline__ void copy_panel(unsigned char* to, const void* values, int64_t first_row,
                                           int32_t padded_columns, int panel) {
  const int chunks = padded_columns / 8;  // of a row
  const auto* from = static_cast<const uint4*>(values) + first_row * chunks;
  for (int i = static_cast<int>(threadIdx.x); i < kRows * 8; i += Sync<64>::kThreads) {
    const int row = i / 8;
    const int chunk = i % 8;
    if (panel * 8 + chunk < chunks) {
      copy_async(to + chunk_place(row, chunk), from + static_cast<int64_t>(row) * chunks + panel * 8 + chunk);
    }
  }
}

// A panel of a tile of rows and a tile of columns, and its stage while it is multiplied.
struct Step {
  int row_tile, tile, panel, stage;
};

// Copies the inputs of one step: a panel, and with a tile's first panel its terms.
template <class Shape>
__device__ __forceinline__ void copy_step(const MatrixTask& task, const PackedRows& rows,
                                          typename Shape::Shared& shared, const Step& step) {
  const auto& [row_tile, tile, panel, stage] = step;
  constexpr int kColumns = Shape::kColumns;
  copy_panel<Shape::kRows>(shared.points[stage], rows.values, static_cast<int64_t>(row_tile) * Shape::kRows,
                           rows.padded_columns, panel);
  copy_panel<kColumns>(shared.columns[stage], task.columns.values, static_cast<int64_t>(tile) * kColumns,
                       rows.padded_columns, panel);
  if (panel != 0) return;
  constexpr int kChunks = static_cast<int>(tile_floats(kColumns) / 4);
  const float* from = task.columns.terms + tile * tile_floats(kColumns);
  for (int i = static_cast<int>(threadIdx.x); i < kChunks; i += Shape::kThreads) {
    copy_async(shared.terms[tile % 2] + 4 * i, from + 4 * i);
  }
}

// sums[h] of a warp's rows += one panel's products.
template <class Shape>
__device__ __forceinline__ void multiply_panel(const unsigned char* points, const unsigned char* columns, int steps,
                                               Sums<1, Shape::kColumns> (&sums)[Shape::kHalves]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int first_row = static_cast<int>(threadIdx.x) / 32 * 32;
  for (int step = 0; step < steps; ++step) {
    uint32_t a[Shape::kHalves][4];
#pragma unroll
    for (int h = 0; h < Shape::kHalves; ++h) {
      load_four_blocks(a[h], points + chunk_place(first_row + h * 16 + lane % 16, step * 2 + lane / 16));
    }
#pragma unroll
    for (int pair = 0; pair < Shape::kColumns / 16; ++pair) {
      uint32_t b[4];  // two blocks of columns, both halves of the step
      const int block = lane / 8;
      load_four_blocks(b, columns + chunk_place((pair * 2 + block / 2) * 8 + lane % 8, step * 2 + block % 2));
#pragma unroll
      for (int h = 0; h < Shape::kHalves; ++h) {
        multiply_add(sums[h][0] + pair * 8, a[h], b[0], b[1]);
        multiply_add(sums[h][0] + pair * 8 + 4, a[h], b[2], b[3]);
      }
    }
  }
}

// All tiles of columns that a tile of rows meets.
template <class Shape, class Work, class Epilogue>
__device__ __forceinline__ void screen_rows(const MatrixTask& task, const PackedRows& rows, const Work& work,
                                            typename Shape::Shared& shared, Epilogue (&epilogues)[Shape::kHalves]) {
  constexpr int kColumns = Shape::kColumns;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  Sums<1, kColumns> sums[Shape::kHalves];
#pragma unroll
  for (int h = 0; h < Shape::kHalves; ++h) {
    epilogues[h].begin(task, work.range(),
                       static_cast<int64_t>(work.row_tile()) * Shape::kRows + warp * 32 + h * 16 + lane / 4);
  }
  const int steps = (work.last_tile() - work.first_tile()) * task.panels;
  if (steps > 0) copy_step<Shape>(task, rows, shared, {work.row_tile(), work.first_tile(), 0, 0});
  asm volatile("cp.async.commit_group;" ::: "memory");
  for (int s = 0; s < steps; ++s) {
    const int tile = work.first_tile() + s / task.panels;
    const int panel = s % task.panels;
    if (s + 1 < steps) {
      copy_step<Shape>(task, rows, shared,
                       {work.row_tile(), work.first_tile() + (s + 1) / task.panels, (s + 1) % task.panels,
                        (s + 1) % Shape::kStages});
    }
    wait_point();
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 1;" ::: "memory");
    __syncthreads();  // everybody's copies are there
    if (panel == 0) {
#pragma unroll
      for (auto& of_half : sums) {
#pragma unroll
        for (float& sum : of_half[0]) sum = 0;
      }
    }
    multiply_panel<Shape>(shared.points[s % Shape::kStages], shared.columns[s % Shape::kStages],
                          min(4, (rows.padded_columns - panel * kPanelColumns) / 16), sums);
    if (panel + 1 == task.panels) {
      const float* terms = shared.terms[tile % 2];
      const auto* order = reinterpret_cast<const uint32_t*>(terms + order_place(kColumns));
#pragma unroll
      for (int h = 0; h < Shape::kHalves; ++h) {
        epilogues[h].template take_tile<kColumns>(task, sums[h], terms, order, tile);
      }
    }
    __syncthreads();  // everybody has read what the next copies overwrite
  }
}

template <class Shape, class Work, class Epilogue>
__global__ void __launch_bounds__(Shape::kThreads, 2)
    sync_kernel(const __grid_constant__ MatrixTask task, const __grid_constant__ PackedRows rows) {
  if (is_stopped(task.columns)) return;
  extern __shared__ __align__(128) unsigned char memory[];
  auto& shared = *reinterpret_cast<typename Shape::Shared*>(memory);
  Epilogue epilogues[Shape::kHalves];
  for (Work work(task); work.more(); work.next()) screen_rows<Shape>(task, rows, work, shared, epilogues);
  for (Epilogue& epilogue : epilogues) epilogue.end(task);
}

}  // namespace manymeans::cuda
