// The first look of seeding where rows are lanes, and the code that all looks share. Written once for Highway; included
// by kernels-inl.h and by files of units only.
//
// Bound: for many values as the screen's. For few, the seven other instructions for a vector of scores. No best scores
// are kept: every score is compared with the row's threshold, and its excess is added up.
#pragma once

#include "backend/cpu/kernels/screen_kernels-inl.h"

namespace manymeans {
namespace {

// Excesses of a few columns over some tiles. Float32 sums hold kExcessTiles tiles, so that no lane adds more than 2^9
// terms; binary64 sums hold all.
constexpr int kExcessTiles = kLanes >= 4 ? 32 : 1;

template <int S>
struct ExcessSums {
  alignas(64) float lanes[S][kLanes] = {};

  HWY_INLINE void flush(double* excess) {
    for (int r = 0; r < S; ++r) {
      const VecF sum = hn::Load(kF32, lanes[r]);
      excess[r] += static_cast<double>(hn::GetLane(hn::SumOfLanes(kF32, sum)));
      hn::Store(hn::Zero(kF32), kF32, lanes[r]);
    }
  }
};

// A score of vector m of a tile's rows is a hit if it exceeds this level. A threshold of infinity remains one.
HWY_INLINE VecF hit_level(const HitsTile& tile, int m, float slope, float error) {
  const VecF bound = error_of(hn::Load(kF32, tile.radii + m * kLanes), slope, error);
  return hn::Sub(hn::LoadU(kF32, tile.thresholds + m * kLanes), bound);
}

// Adds weight * excess of the rows of vector m that are hit, and returns which these are.
HWY_INLINE uint64_t add_hits(VecF score, VecF level, const HitsTile& tile, int m, VecF& sum) {
  const VecF excess = hn::Sub(score, level);
  const VecF zero = hn::Zero(kF32);
  sum = hn::MulAdd(hn::LoadU(kF32, tile.weights + m * kLanes), hn::Max(excess, zero), sum);
  return mask_bits(hn::Gt(excess, zero)) << (m * kLanes);
}

// Hits of the S columns from `place` of a span on, of a block of R.
template <class Unit, int MR, int R, int S, int W>
HWY_INLINE void hits_of_columns(const HitsTask& in, int64_t span, int64_t place) {
  const ScreenColumns& columns = in.columns;
  const int64_t first = span * kSpanColumns + place;
  const float* block = static_cast<const float*>(columns.values) + (first / R * R) * columns.words + first % R;
  ExcessSums<S> excess;
  for (int64_t t = 0; t < in.tile_count; ++t) {
    const HitsTile& tile = in.tiles[t];
    VecF sums[S][MR];
    multiply<Unit, MR, R, S, W>(static_cast<const float*>(tile.values), block, columns.offsets + first, columns.words,
                                sums);
    VecF levels[MR];
#pragma GCC unroll 8
    for (int m = 0; m < MR; ++m) levels[m] = hit_level(tile, m, columns.slopes[span], columns.errors[span]);
    uint64_t* hits = in.hits + t * columns.spans * kSpanColumns + first;
#pragma GCC unroll 8
    for (int r = 0; r < S; ++r) {
      VecF sum = hn::Load(kF32, excess.lanes[r]);
      uint64_t word = 0;
#pragma GCC unroll 8
      for (int m = 0; m < MR; ++m) word |= add_hits(sums[r][m], levels[m], tile, m, sum);
      hn::Store(sum, kF32, excess.lanes[r]);
      hits[r] = word;
    }
    if ((t + 1) % kExcessTiles == 0) excess.flush(in.excess + first);
  }
  excess.flush(in.excess + first);
}

template <class Unit, int MR, int R, int W>
void hits_in(const HitsTask& in) {
  for (int64_t span = 0; span < in.columns.spans; ++span) {
    const int64_t width = in.columns.widths[span];
    int64_t place = 0;
    for (; place + R <= width; place += R) hits_of_columns<Unit, MR, R, R, W>(in, span, place);
    if constexpr (R > 4) {
      if ((width & 4) != 0) {
        hits_of_columns<Unit, MR, R, 4, W>(in, span, place);
        place += 4;
      }
    }
    if constexpr (R > 2) {
      if ((width & 2) != 0) hits_of_columns<Unit, MR, R, 2, W>(in, span, place);
    }
  }
}

template <class Unit, int MR, int R>
void hits_lanes(const HitsTask& in) {
  switch (in.columns.words) {
    case 1: return hits_in<Unit, MR, R, 1>(in);
    case 2: return hits_in<Unit, MR, R, 2>(in);
    case 3: return hits_in<Unit, MR, R, 3>(in);
    case 4: return hits_in<Unit, MR, R, 4>(in);
    default: return hits_in<Unit, MR, R, 0>(in);
  }
}

}  // namespace
}  // namespace manymeans
