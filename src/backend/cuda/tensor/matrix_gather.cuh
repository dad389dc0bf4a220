// The second look of the tensor-core screen: of few rows, all columns that may be nearest.
#pragma once

#include "backend/cuda/tensor/matrix_finish.cuh"

#include <algorithm>
#include <cfloat>
#include <cstdint>

namespace manymeans::cuda {

/// Every tile of rows meets every tile of columns; the blocks take the tiles of rows in turn.
template <int kRows>
class AllRows {
 public:
  __device__ __forceinline__ explicit AllRows(const MatrixTask& task)
      : task_(task), row_tile_(static_cast<int>(blockIdx.x)) {}
  __device__ __forceinline__ bool more() const { return row_tile_ < task_.row_tiles; }
  __device__ __forceinline__ void next() { row_tile_ += static_cast<int>(gridDim.x); }
  __device__ __forceinline__ int range() const { return 0; }
  __device__ __forceinline__ int row_tile() const { return row_tile_; }
  __device__ __forceinline__ int first_tile() const { return 0; }
  __device__ __forceinline__ int last_tile() const { return task_.tiles; }

 private:
  const MatrixTask& task_;
  int row_tile_;
};

/// Like AllRows, for rows that only the device counts. A class of its own: it takes one register, which the kernels of
/// all rows do not have.
template <int kRows>
class CountedRows {
 public:
  __device__ __forceinline__ explicit CountedRows(const MatrixTask& task)
      : row_tile_(static_cast<int>(blockIdx.x)),
        row_tiles_(static_cast<int>((*task.counted.count + kRows - 1) / kRows)),
        tiles_(task.tiles) {}
  __device__ __forceinline__ bool more() const { return row_tile_ < row_tiles_; }
  __device__ __forceinline__ void next() { row_tile_ += static_cast<int>(gridDim.x); }
  __device__ __forceinline__ int range() const { return 0; }
  __device__ __forceinline__ int row_tile() const { return row_tile_; }
  __device__ __forceinline__ int first_tile() const { return 0; }
  __device__ __forceinline__ int last_tile() const { return tiles_; }

 private:
  int row_tile_;
  int row_tiles_;
  int tiles_;
};

/// Tiles of a range's overflow rows meet the tiles of its columns. Those are shared out in slices where there are few
/// rows, so that the whole device has work. How many rows there are only the device knows.
template <int kRows>
class OverflowTiles {
 public:
  __device__ __forceinline__ explicit OverflowTiles(const MatrixTask& task)
      : task_(task), item_(static_cast<int>(blockIdx.x)) {
    int all = 0;
    for (int r = 0; r < task.columns.models; ++r) all += row_tiles(r);
    slices_ = max(1, 2 * static_cast<int>(gridDim.x) / max(1, all));
    find();
  }
  __device__ __forceinline__ bool more() const { return range_ < task_.columns.models; }
  __device__ __forceinline__ void next() {
    item_ += static_cast<int>(gridDim.x);
    find();
  }
  __device__ __forceinline__ int range() const { return range_; }
  __device__ __forceinline__ int row_tile() const { return row_tile_; }
  __device__ __forceinline__ int first_tile() const { return first_tile_; }
  __device__ __forceinline__ int last_tile() const { return last_tile_; }

 private:
  __device__ __forceinline__ int row_tiles(int range) const {
    const OverflowRows& overflow = task_.output.overflow;
    return static_cast<int>((min(overflow.counts[range], overflow.capacity) + kRows - 1) / kRows);
  }

  __device__ __forceinline__ void find() {
    int at = item_;
    for (range_ = 0; range_ < task_.columns.models; ++range_) {
      const ColumnRange& columns = task_.columns.ranges[range_];
      const int tiles = columns.count / task_.columns.tile_columns;
      const int slices = min(slices_, tiles);
      const int items = row_tiles(range_) * slices;
      if (at >= items) {
        at -= items;
        continue;
      }
      const int first = columns.first / task_.columns.tile_columns;
      row_tile_ = range_ * static_cast<int>(task_.output.overflow.capacity / kRows) + at / slices;
      first_tile_ = first + tiles * (at % slices) / slices;
      last_tile_ = first + tiles * (at % slices + 1) / slices;
      return;
    }
  }

  const MatrixTask& task_;
  int item_;
  int slices_ = 1;
  int range_ = 0;
  int row_tile_ = 0;
  int first_tile_ = 0;
  int last_tile_ = 0;
};

/// Notes the columns that reach the lower scores of a thread's two overflow rows, tile by tile. Scores keep their
/// lowest bits here; the bound covers either.
struct GatherCandidates {
  float lowers[2];
  float radii[2];
  int32_t places[2];  // among the overflow rows; -1: no row

  __device__ __forceinline__ void begin(const MatrixTask& task, int range, int64_t first) {
    const OverflowRows& overflow = task.output.overflow;
    const int64_t end =
        static_cast<int64_t>(range) * overflow.capacity + min(overflow.counts[range], overflow.capacity);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int64_t place = first + 8 * r;
      const OverflowRow row = place < end ? overflow.rows[place] : OverflowRow{0, FLT_MAX};
      places[r] = place < end ? static_cast<int32_t>(place) : -1;
      lowers[r] = row.lower;
      radii[r] = task.points.radii[row.row];
    }
  }

  __device__ __forceinline__ void end(const MatrixTask& /*task*/) const {}

  template <int kColumns>
  __device__ __forceinline__ void take_tile(const MatrixTask& task, const Sums<1, kColumns>& sums, const float* terms,
                                            const uint32_t* order, int32_t /*tile*/) {
    const int lane_of_row = static_cast<int>(threadIdx.x % 4);
    const auto& shared_terms = *reinterpret_cast<const TileTerms*>(terms + kColumns);
    float limits[2];
    uint64_t reached[2] = {0, 0};  // bit: place in the tile
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      limits[r] = __fadd_rd(lowers[r], -score_bound(shared_terms, radii[r]));
    }
    find_reached<kColumns>(sums[0], 0, terms, limits, reached);
#pragma unroll
    for (int r = 0; r < 2; ++r) note(task.output.overflow, order, lane_of_row, places[r], reached[r]);
  }

 private:
  static __device__ __forceinline__ void note(const OverflowRows& overflow, const uint32_t* order, int lane_of_row,
                                              int32_t place, uint64_t reached) {
    if (place < 0) return;
    for (; reached != 0; reached &= reached - 1) {
      const uint32_t k = order[column_of_place(__ffsll(static_cast<long long>(reached)) - 1, lane_of_row)];
      if (k == ~0U) continue;  // padding
      const uint32_t at = atomicAdd(overflow.found + place, 1U);
      if (at < kMaxGathered) overflow.prototypes[static_cast<int64_t>(place) * kMaxGathered + at] = k;
    }
  }
};

}  // namespace manymeans::cuda
