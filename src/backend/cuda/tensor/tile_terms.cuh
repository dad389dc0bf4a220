// Terms of a tile of columns for the epilogue of the tensor-core screen, next to each other: top_two.cuh.
#pragma once

#include "backend/cuda/tensor/top_two.cuh"

#include <cstdint>

namespace manymeans::cuda {

/// The terms of a tile: offsets in the order of the epilogue, the largest of each 16, the largest slope and error, and
/// the model. By all threads of a block, at least as many as the tile has columns.
__device__ inline void gather_tile(const PackedColumns& columns, int tile) {
  __shared__ float slopes[256];
  __shared__ float errors[256];
  const int width = columns.tile_columns;
  const int column = static_cast<int>(threadIdx.x);
  const bool inside = column < width;
  float* out = columns.terms + tile * tile_floats(width);
  const int64_t first = static_cast<int64_t>(tile) * width;
  if (inside) {
    const float offset = columns.offsets[first + column];
    out[offset_place(column)] = offset;
    reinterpret_cast<uint32_t*>(out)[order_place(width) + column] = columns.order[first + column];
    float largest = offset;
    for (int step = 8; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0U, largest, step));
    if (column % 16 == 0) out[width + kTermFloats + column / 16] = largest;
    slopes[column] = columns.slopes[first + column];
    errors[column] = columns.errors[first + column];
  }
  __syncthreads();
  for (int half = width / 2; half > 0; half /= 2) {
    if (column < half) {
      slopes[column] = fmaxf(slopes[column], slopes[column + half]);
      errors[column] = fmaxf(errors[column], errors[column + half]);
    }
    __syncthreads();
  }
  for (int model = column; model < columns.models; model += static_cast<int>(blockDim.x)) {
    const ColumnRange& range = columns.ranges[model];
    if (first < range.first || first >= range.first + range.count) continue;
    const bool last = first + width >= range.first + range.count;
    *reinterpret_cast<TileTerms*>(out + width) =
        TileTerms{slopes[0], errors[0], range.slack, range.underflow, last ? model : -1, range.slot, {}};
  }
}

}  // namespace manymeans::cuda
