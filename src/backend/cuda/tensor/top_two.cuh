// The epilogue of the tensor-core screen: which columns of a row have the largest upper scores.
//
// Three levels. Within a tile a thread finds the best and second best of the N / 4 columns that it holds of a row. The
// best one has its place among them in its lowest bits. Across tiles it keeps the best two tile-bests and the max of
// all the rest. At the end of a model the four threads that share a row join their results. A model of one tile has no
// second level (matrix_one_tile.cuh).
#pragma once

#include "backend/cuda/device/matrix_operands.h"

#include <cfloat>
#include <cstdint>

namespace manymeans::cuda {

/// Properties that a tile's columns share. A tile's terms are N offsets, one TileTerms, the largest offset of each 16
/// columns, and N prototype numbers.
struct TileTerms {
  float slope;      ///< the largest of its columns
  float error;      ///< likewise
  float slack;      ///< of its model
  float underflow;  ///< likewise
  int32_t range;    ///< its model if it is the model's last tile, else -1
  int32_t slot;     ///< where its labels go
  int32_t unused[2];
};
/// Returns the max error of a score of the tile.
__device__ __forceinline__ float score_bound(const TileTerms& terms, float radius) {
  return __fmaf_ru(radius, terms.slope, terms.error);
}
constexpr int kTermFloats = sizeof(TileTerms) / sizeof(float);
/// Where the prototype numbers begin.
__host__ __device__ constexpr int order_place(int tile_columns) {
  return tile_columns + kTermFloats + tile_columns / 16;
}
__host__ __device__ constexpr int64_t tile_floats(int tile_columns) {
  return order_place(tile_columns) + tile_columns;
}

/// The place of the offset of a tile's column: a thread reads the offsets of two blocks of eight columns as one float4.
__host__ __device__ constexpr int offset_place(int column) {
  const int block = column / 8;
  return block / 2 * 16 + column % 8 / 2 * 4 + block % 2 * 2 + column % 2;
}

/// The column of a tile that a thread knows as `place`.
__device__ __forceinline__ int column_of_place(int place, int lane_of_row) {
  return place / 2 * 8 + lane_of_row * 2 + place % 2;
}

/// A thread's upper scores of a row.
struct RowState {
  float best;
  float second;
  float rest;  ///< no column but those of best and second is above it
  int32_t best_tile;
  int32_t second_tile;

  /// `threshold`: no column that it is not told of is above it.
  __device__ __forceinline__ void clear(float threshold = -FLT_MAX) {
    best = second = -FLT_MAX;
    rest = threshold;
    best_tile = second_tile = 0;
  }

  /// Takes a tile's best, its place in the lowest bits, and second.
  __device__ __forceinline__ void take(float upper, float other, int32_t tile) {
    const bool first = upper > best;
    const float lower = fminf(best, upper);
    best = fmaxf(best, upper);
    const bool next = lower > second;
    rest = fmaxf(rest, fmaxf(other, fminf(second, lower)));
    second = fmaxf(second, lower);
    second_tile = next ? (first ? best_tile : tile) : second_tile;
    best_tile = first ? tile : best_tile;
  }
};

/// Replaces the lowest bits of a score by a place: one LOP3, if the mask is in a register.
__device__ __forceinline__ float with_place(float score, uint32_t mask, uint32_t place) {
  return __uint_as_float((__float_as_uint(score) & mask) | place);
}

/// Sets bits of a score that are 0.
__device__ __forceinline__ float with_bits(float score, uint32_t bits) {
  return __uint_as_float(__float_as_uint(score) | bits);
}

/// The lowest bits of a score. With kOwn they are the place among a thread's own columns of the tile. With kColumn they
/// are the column of the tile, with 0 in bits 1 and 2, which tell four threads apart.
enum class Places : uint8_t { kOwn, kColumn };

/// The best two of some numbers.
struct TopTwo {
  float best;
  float second;
};

__device__ __forceinline__ TopTwo top_two(float a, float b) {
  return {fmaxf(a, b), fminf(a, b)};
}

__device__ __forceinline__ TopTwo top_two(const TopTwo& a, const TopTwo& b) {
  return {fmaxf(a.best, b.best), fmaxf(fmaxf(a.second, b.second), fminf(a.best, b.best))};
}

/// Returns the top two of a thread's four scores of 16 columns, the pair-th of a tile. Scores get their places.
template <Places kPlaces = Places::kOwn>
__device__ __forceinline__ TopTwo top_two_of_four(const float (&scores)[4], uint32_t mask, int pair) {
  constexpr uint32_t kStep = kPlaces == Places::kOwn ? 2 : 8;  // from one block of eight columns to the next
  const uint32_t place = static_cast<uint32_t>(pair) * 2 * kStep;
  return top_two(top_two(with_place(scores[0], mask, place), with_place(scores[1], mask, place + 1)),
                 top_two(with_place(scores[2], mask, place + kStep), with_place(scores[3], mask, place + kStep + 1)));
}

/// Loads now: the compiler would wait until the registers are wanted.
__device__ __forceinline__ float4 load_offsets(const float4* from) {
  float4 h;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(h.x), "=f"(h.y), "=f"(h.z), "=f"(h.w)
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(from)))
               : "memory");
  return h;
}

/// The sums of a thread: of two rows, eight apart, of each half of its group's rows, a quarter of a tile's columns.
template <int kHalves, int kColumns>
using Sums = float[kHalves][kColumns / 2];

/// Returns the place in a half's sums of a score of row r of two. Its column is the e-th of the thread's four of 16,
/// the pair-th of a tile.
__device__ constexpr int sum_place(int pair, int e, int r) {
  return pair * 8 + e / 2 * 4 + e % 2 + 2 * r;
}

/// Bits of the places of a thread's columns whose scores are not below the limit of the row, so that NaN counts. Of
/// rows `first` and those after it; `sums`: of their half.
template <int kColumns, int kRows, class Bits>
__device__ __forceinline__ void find_reached(const float (&sums)[kColumns / 2], int first, const float* terms,
                                             const float (&limits)[kRows], Bits (&reached)[kRows]) {
  const auto* offsets = reinterpret_cast<const float4*>(terms) + threadIdx.x % 4;
#pragma unroll
  for (int pair = 0; pair < kColumns / 16; ++pair) {
    const float4 four = load_offsets(offsets + pair * 4);
    const float add[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int e = 0; e < 4; ++e) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const float score = __fadd_rn(sums[sum_place(pair, e, first + r)], add[e]);
        if (!(score < limits[r])) reached[r] |= Bits{1} << (pair * 4 + e);
      }
    }
  }
}

/// Finds the top two of a thread's part of a tile, for its two rows of each half. Four columns at a time, as a tree: a
/// long chain of dependent instructions would leave the pipes idle. Five instructions a score. Taking the smaller of
/// two by two additions, b + (a - max(a, b)), lost. It moves work from a pipe of half rate to one of full rate. But it
/// needs one instruction more, and instructions are the bottleneck while a product runs (bench/results/h200).
template <int kColumns, int kHalves, Places kPlaces>
__device__ __forceinline__ void tile_top_two(const Sums<kHalves, kColumns>& sums, const float* offsets, int lane_of_row,
                                             uint32_t mask, TopTwo (&rows)[2 * kHalves]) {
  const auto* at = reinterpret_cast<const float4*>(offsets) + lane_of_row;
  float4 next = load_offsets(at);
#pragma unroll
  for (int pair = 0; pair < kColumns / 16; ++pair) {
    const float add[4] = {next.x, next.y, next.z, next.w};
    if (pair + 1 < kColumns / 16) next = load_offsets(at + (pair + 1) * 4);
#pragma unroll
    for (int i = 0; i < 2 * kHalves; ++i) {
      float v[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        v[e] = __fadd_rn(sums[i / 2][sum_place(pair, e, i % 2)], add[e]);
      }
      const TopTwo four = top_two_of_four<kPlaces>(v, mask, pair);
      rows[i] = pair == 0 ? four : top_two(rows[i], four);
    }
  }
}

}  // namespace manymeans::cuda
