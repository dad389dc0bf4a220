// The distances of some rows to some centres, as a search's estimates have them (contract, "Search"): running sums of
// squares, every operation rounded. These are no canonical distances.
#pragma once

#include "backend/cuda/device/canonical.cuh"
#include "backend/cuda/queries/swap_tasks.h"

#include <cstdint>

namespace manymeans::cuda {

constexpr int kSwapThreads = 256;
constexpr int kSwapSide = 16;                                      // threads on a side of a tile
constexpr int kSwapEach = kSwapTile / kSwapSide;                   // rows, and centres, of a thread: one in 16
constexpr int kSwapDepth = 16;                                     // columns at a time
constexpr int kSwapLoads = kSwapTile * kSwapDepth / kSwapThreads;  // of a thread, for these

// sum + (x - c)^2
__device__ __forceinline__ double add_square(double sum, double t) {
  return __dadd_rn(sum, __dmul_rn(t, t));
}

// Some columns of both sides. A column more, so that threads that write a column meet no other's bank.
struct SwapTileMemory {
  double rows[kSwapDepth][kSwapTile + 1];
  double centres[kSwapDepth][kSwapTile + 1];
  uint32_t row_numbers[kSwapTile];
  uint32_t centre_numbers[kSwapTile];
};

// A tile that a block's threads compute together: rows and centres with numbers in `memory`.
template <class T>
struct SwapTile {
  SwapTileMemory& memory;
  const T* rows;  // row-major, as are the centres
  const double* centres;
  int64_t d;
  int centre_count;

  // Distances of the thread's rows y + 16 r to its centres x + 16 i. False, and they are not complete, where none of
  // the block's is below its row's limit: they only grow.
  __device__ bool distances(const double (&limits)[kSwapEach], double (&e)[kSwapEach][kSwapEach]) const {
    for (auto& of_row : e) {
      for (double& value : of_row) value = 0;
    }
    T row_values[kSwapLoads];
    double centre_values[kSwapLoads];
    load(0, row_values, centre_values);
    for (int64_t first = 0; first < d; first += kSwapDepth) {
      const int beyond = static_cast<int>(first > 0 && none_below(limits, e));
      if (__syncthreads_and(beyond) != 0) return false;
      store(row_values, centre_values);
      __syncthreads();
      if (first + kSwapDepth < d) load(first + kSwapDepth, row_values, centre_values);
      const int depth = static_cast<int>(min(static_cast<int64_t>(kSwapDepth), d - first));
      switch ((centre_count + kSwapSide - 1) / kSwapSide) {
        case 1: add<1>(depth, e); break;
        case 2: add<2>(depth, e); break;
        case 3: add<3>(depth, e); break;
        default: add<4>(depth, e); break;
      }
    }
    return true;
  }

  __device__ static int x() { return static_cast<int>(threadIdx.x) % kSwapSide; }
  __device__ static int y() { return static_cast<int>(threadIdx.x) / kSwapSide; }

 private:
  __device__ bool none_below(const double (&limits)[kSwapEach], const double (&e)[kSwapEach][kSwapEach]) const {
    bool none = true;
#pragma unroll
    for (int r = 0; r < kSwapEach; ++r) {
#pragma unroll
      for (int i = 0; i < kSwapEach; ++i) none = none && (x() + kSwapSide * i >= centre_count || e[r][i] >= limits[r]);
    }
    return none;
  }

  // Loads columns from `first` on: thread t has column t % 16 of rows and centres t / 16 + 16 i.
  __device__ void load(int64_t first, T (&row_values)[kSwapLoads], double (&centre_values)[kSwapLoads]) const {
    const int64_t column = first + x();
#pragma unroll
    for (int i = 0; i < kSwapLoads; ++i) {
      const int at = y() + kSwapSide * i;
      const bool inside = column < d;
      row_values[i] = inside ? rows[memory.row_numbers[at] * d + column] : T{};
      centre_values[i] = inside && at < centre_count ? centres[memory.centre_numbers[at] * d + column] : 0;
    }
  }

  __device__ void store(const T (&row_values)[kSwapLoads], const double (&centre_values)[kSwapLoads]) const {
#pragma unroll
    for (int i = 0; i < kSwapLoads; ++i) {
      memory.rows[x()][y() + kSwapSide * i] = widened(row_values[i]);
      memory.centres[x()][y() + kSwapSide * i] = centre_values[i];
    }
  }

  template <int kUsed>
  __device__ void add(int depth, double (&e)[kSwapEach][kSwapEach]) const {
#pragma unroll 4
    for (int j = 0; j < depth; ++j) {
      double a[kSwapEach], b[kUsed];
#pragma unroll
      for (int r = 0; r < kSwapEach; ++r) a[r] = memory.rows[j][y() + kSwapSide * r];
#pragma unroll
      for (int i = 0; i < kUsed; ++i) b[i] = memory.centres[j][x() + kSwapSide * i];
#pragma unroll
      for (int r = 0; r < kSwapEach; ++r) {
#pragma unroll
        for (int i = 0; i < kUsed; ++i) e[r][i] = add_square(e[r][i], __dsub_rn(a[r], b[i]));
      }
    }
  }
};

}  // namespace manymeans::cuda
