// The epilogue of the tensor-core screen: which columns of a row have the largest upper scores.
//
// Three levels. Within a tile a thread finds the best and second best of the N / 4 columns that it holds of a row, the
// best one's place among them in its lowest bits. Across tiles it keeps the best two of these tile-bests and the largest
// of all the rest. At the end of a model the four threads that share a row put these together.
#pragma once

#include <cfloat>
#include <cstdint>

#include "backend/cuda/screen.h"

namespace manymeans::cuda {

template <int kValue>
struct Constant {
  static constexpr int value = kValue;
};

/// What a tile's columns share. A tile's terms are N offsets, one of these, and N prototype numbers.
struct TileTerms {
  float slope;      ///< the largest of its columns
  float error;      ///< likewise
  float slack;      ///< of its model
  float underflow;  ///< likewise
  int32_t range;    ///< its model if it is the model's last tile, else -1
  int32_t slot;     ///< where its labels go
  int32_t unused[2];
};
constexpr int kTermFloats = sizeof(TileTerms) / sizeof(float);
__host__ __device__ constexpr int64_t tile_floats(int tile_columns) { return 2 * tile_columns + kTermFloats; }

/// Where the offset of a tile's column stands: what a thread wants for two blocks of eight columns is one float4.
__host__ __device__ constexpr int offset_place(int column) {
  const int block = column / 8;
  return block / 2 * 16 + column % 8 / 2 * 4 + block % 2 * 2 + column % 2;
}

/// The column of a tile that a thread knows as `place`.
__device__ __forceinline__ int column_of_place(int place, int lane_of_row) {
  return place / 2 * 8 + lane_of_row * 2 + place % 2;
}

/// What a thread knows of a row: upper scores.
struct RowState {
  float best;
  float second;
  float rest;  ///< no column but those of best and second is above it
  int32_t best_tile;
  int32_t second_tile;

  __device__ __forceinline__ void clear() {
    best = second = rest = -FLT_MAX;
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

/// The best two of a stream. Every fourth step finds the smaller number by a comparison, the others by two additions on
/// the other pipe: a + v - max(a, v) is the smaller up to three units in the last place of the larger magnitude, and the
/// second best needs no more than that (docs/screens.md, "Tensor cores").
struct TopTwo {
  float best;
  float second;

  __device__ __forceinline__ void start(float a, float b) {
    best = fmaxf(a, b);
    second = fminf(a, b);
  }
  template <bool kByAddition>
  __device__ __forceinline__ void take(float v) {
    const float larger = fmaxf(best, v);
    const float smaller = kByAddition ? __fadd_rn(v, __fadd_rn(best, -larger)) : fminf(best, v);
    second = fmaxf(second, smaller);
    best = larger;
  }
};

/// Of every `kPeriod` steps one compares; 1: all of them, 0: none.
template <int kColumns, int kPeriod>
__device__ __forceinline__ void tile_top_two(const float (&sums)[kColumns / 2], const float* offsets, int lane_of_row,
                                             uint32_t mask, TopTwo& upper_row, TopTwo& lower_row) {
  const auto* at = reinterpret_cast<const float4*>(offsets) + lane_of_row;
#pragma unroll
  for (int pair = 0; pair < kColumns / 16; ++pair) {
    const float4 h = at[pair * 4];
    const float add[4] = {h.x, h.y, h.z, h.w};
    float a[4];
    float b[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int at_sum = pair * 8 + e / 2 * 4 + e % 2;
      const auto place = static_cast<uint32_t>(pair * 4 + e);
      a[e] = with_place(__fadd_rn(sums[at_sum], add[e]), mask, place);
      b[e] = with_place(__fadd_rn(sums[at_sum + 2], add[e]), mask, place);
    }
    const auto take = [&](auto e) {
      constexpr int kStep = decltype(e)::value;
      constexpr bool kByAddition = kPeriod == 0 || kStep % kPeriod != 0;
      upper_row.take<kByAddition>(a[kStep]);
      lower_row.take<kByAddition>(b[kStep]);
    };
    if (pair == 0) {
      upper_row.start(a[0], a[1]);
      lower_row.start(b[0], b[1]);
    } else {
      take(Constant<0>{});
      take(Constant<1>{});
    }
    take(Constant<2>{});
    take(Constant<3>{});
  }
}

}  // namespace manymeans::cuda
