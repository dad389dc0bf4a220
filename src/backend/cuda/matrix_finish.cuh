// The end of a model: what four threads know of a row becomes a label, a list of candidates, or a mark.
#pragma once

#include <cstdint>

#include "backend/cuda/screen.h"
#include "backend/cuda/top_two.cuh"

namespace manymeans::cuda {

/// What the kernels of the matrix screen are given beside their tensor maps.
struct MatrixTask {
  PackedRows points;
  PackedColumns columns;
  ScreenOutput output;
  int32_t tiles;          // of columns
  int32_t row_tiles;      // of the kernel's height
  int32_t panels;         // of 64 halves
  uint32_t place_mask;    // ~(tile_columns / 4 - 1)
};

__device__ __forceinline__ void write_label(const LabelRows& labels, int32_t slot, int64_t row, uint32_t label) {
  const int64_t at = slot * labels.stride + row;
  if (labels.width == 4) {
    static_cast<uint32_t*>(labels.base)[at] = label;
  } else if (labels.width == 2) {
    static_cast<uint16_t*>(labels.base)[at] = static_cast<uint16_t>(label);
  } else {
    static_cast<uint8_t*>(labels.base)[at] = static_cast<uint8_t>(label);
  }
}

__device__ __forceinline__ const TileTerms& terms_of(const PackedColumns& columns, int32_t tile) {
  const int64_t stride = columns.tile_columns + kTermFloats;
  return *reinterpret_cast<const TileTerms*>(columns.terms + tile * stride + columns.tile_columns);
}

// The column among all of a thread's best or second score.
__device__ __forceinline__ int32_t column_of(const MatrixTask& task, float score, int32_t tile, int lane_of_row) {
  const auto place = static_cast<int>(__float_as_uint(score) & ~task.place_mask);
  return tile * task.columns.tile_columns + column_of_place(place, lane_of_row);
}

// Called by the four threads of a row together, rarely: a list entry of all columns that reach `threshold`, or a mark.
__device__ __forceinline__ void list_row(const MatrixTask& task, const RowState& state, int32_t range, int64_t row,
                                             float threshold) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int quad = lane & ~3;
  const uint32_t members = 0xFU << quad;
  // Written so that NaN is a candidate.
  const bool has_best = !(state.best < threshold);
  const bool has_second = !(state.second < threshold);
  const uint32_t bests = __ballot_sync(members, has_best) >> quad & 0xF;
  const uint32_t seconds = __ballot_sync(members, has_second) >> quad & 0xF;
  const bool many = __any_sync(members, !(state.rest < threshold));

  uint32_t slot = ~0U;
  if (lane == quad && !many) slot = atomicAdd(task.output.listed, 1U);
  slot = __shfl_sync(members, slot, quad);
  if (many || slot >= task.output.capacity) {
    if (lane == quad) {
      atomicOr(task.output.marks + range * task.output.mark_stride + row / 32, 1U << (row % 32));
    }
    return;
  }
  Unproved& entry = task.output.list[slot];
  const uint32_t before = (1U << (lane - quad)) - 1;
  int at = __popc(bests & before) + __popc(seconds & before);
  if (has_best) entry.candidates[at++] = task.columns.order[column_of(task, state.best, state.best_tile, lane - quad)];
  if (has_second) {
    entry.candidates[at] = task.columns.order[column_of(task, state.second, state.second_tile, lane - quad)];
  }
  if (lane == quad) {
    entry.row = row;
    entry.range = range;
    entry.count = __popc(bests) + __popc(seconds);
  }
}

// One row of four threads. `terms`: of the model's last tile, which is `tile`.
__device__ __forceinline__ void finish_row(const MatrixTask& task, const RowState& state, const TileTerms& terms,
                                           int32_t tile, int64_t row, float radius) {
  const int lane_of_row = static_cast<int>(threadIdx.x % 4);
  float best = state.best;
  float second = fmaxf(state.second, state.rest);
  int32_t column = column_of(task, best, state.best_tile, lane_of_row);
#pragma unroll
  for (int step = 1; step < 4; step *= 2) {
    const float best_there = __shfl_xor_sync(~0U, best, step);
    const float second_there = __shfl_xor_sync(~0U, second, step);
    const int32_t column_there = __shfl_xor_sync(~0U, column, step);
    second = fmaxf(fmaxf(second, second_there), fminf(best, best_there));
    column = best_there > best ? column_there : column;
    best = fmaxf(best, best_there);
  }
  // Where two threads have the same best they may name different columns: then second = best, and nothing is certified.
  column = __shfl_sync(~0U, column, static_cast<int>(threadIdx.x % 32) & ~3);
  if (row >= task.points.rows) return;

  const int32_t best_tile = column / task.columns.tile_columns;
  const TileTerms& of_best = best_tile == tile ? terms : terms_of(task.columns, best_tile);
  const float norm = task.points.norms[row];
  const float bound = __fmaf_ru(radius, of_best.slope, of_best.error);
  const float slack = __fmaf_ru(__fmul_ru(terms.slack, norm), norm, terms.underflow);
  const float lower = __fadd_rd(__fmaf_rd(-2.0F, bound, best), -slack);
  if (lower > second) {
    if (lane_of_row == 0) {
      const int32_t slot = task.columns.ranges[terms.range].slot;
      write_label(task.output.labels, slot, row, task.columns.order[column]);
    }
  } else {
    list_row(task, state, terms.range, row, lower);
  }
}

// A tile's results enter what a thread knows of a row, and leave it if the tile ends a model.
__device__ __forceinline__ void merge_tile(const MatrixTask& task, RowState& state, const TopTwo& scores,
                                           const TileTerms& terms, int32_t tile, int64_t row, float radius) {
  const float bound = __fmaf_ru(radius, terms.slope, terms.error);
  const float upper = with_place(__fadd_ru(scores.best, bound), task.place_mask,
                                 __float_as_uint(scores.best) & ~task.place_mask);
  state.take(upper, __fadd_ru(scores.second, bound), tile);
}

}  // namespace manymeans::cuda
