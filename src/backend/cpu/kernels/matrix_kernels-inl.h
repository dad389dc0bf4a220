// Shared code of the screens of the bfloat16 formats. Any unit multiplies and writes scores as a panel (32 columns, 32
// rows) of floats without the offsets. Included after kernels-inl.h by the files of such units.
#pragma once

#include "backend/cpu/kernels/kernels-inl.h"

namespace manymeans {
namespace {

constexpr int kMatrixRows = 32;                 // P of the bfloat16 formats
constexpr int kMatrixColumns = 16;              // R
constexpr int64_t kUnitBytes = 1024;            // 16 rows or columns of 32 values
constexpr int64_t kStepBytes = 2 * kUnitBytes;  // of a tile or a span
constexpr int kChains = 4;
constexpr int kPanelFloats = kSpanColumns * kMatrixRows;

// A panel of sums in float32, as the bfloat16 units leave it: the score of 16 rows and a column.
struct FloatPanel {
  static constexpr int kFloats = kPanelFloats;

  HWY_INLINE FloatPanel(const ScreenColumns&, int64_t) {}
  HWY_INLINE VecF score(const float* panel, int64_t at, float offset) const {
    return hn::Add(hn::Load(kF32, panel + at), hn::Set(kF32, offset));
  }
};

// Two panels of integers: sums of products of high bytes, and of a high and a low byte.
struct IntegerPanels {
  static constexpr int kFloats = 2 * kPanelFloats;
  VecF whole, mixed;

  HWY_INLINE IntegerPanels(const ScreenColumns& in, int64_t span)
      : whole(hn::Set(kF32, in.scales[span] * 256)), mixed(hn::Set(kF32, in.scales[span])) {}
  HWY_INLINE static VecF sum(const float* at) { return hn::ConvertTo(kF32, hn::BitCast(kI32, hn::Load(kF32, at))); }
  HWY_INLINE VecF score(const float* panel, int64_t at, float offset) const {
    const VecF low = hn::MulAdd(sum(panel + kPanelFloats + at), mixed, hn::Set(kF32, offset));
    return hn::MulAdd(sum(panel + at), whole, low);
  }
};

HWY_INLINE const char* span_values(const ScreenColumns& in, int64_t span) {
  return static_cast<const char*>(in.values) + span * in.steps->z_steps * kStepBytes;
}

// Best two upper scores of a panel's rows. Every fourth column shares a chain: one chain of maxima would wait for
// itself. The best two are then known to be the only candidates unless they meet in one chain.
template <class Panel>
HWY_INLINE void finish_panel(const ScreenColumns& in, int64_t span, int columns, const float* panel,
                             const ScreenTile& tile) {
  const float* offsets = in.offsets + span * kSpanColumns;
  const Panel sums(in, span);
  for (int m = 0; m < kMatrixRows; m += kLanes) {
    BestTwo chains[kChains];
#pragma GCC unroll 8
    for (int r = 0; r < columns; r += kChains) {
#pragma GCC unroll 4
      for (int c = 0; c < kChains; ++c) {
        const VecF score = sums.score(panel, (r + c) * kMatrixRows + m, offsets[r + c]);
        chains[c].add(with_place<0>(score, kPlaces<0>.values + r + c));
      }
    }
    BestThree low(chains[0]), high(chains[2]);
    low.merge(BestThree(chains[1]));
    high.merge(BestThree(chains[3]));
    low.merge(high);
    low.store(in, span, tile, kMatrixRows, m);
  }
}

template <class Panel>
HWY_INLINE void hits_of_panel(const HitsTask& in, int64_t t, int64_t span, const float* panel,
                              ExcessSums<kSpanColumns>& excess) {
  const ScreenColumns& all = in.columns;
  const HitsTile& tile = in.tiles[t];
  const Panel sums(all, span);
  constexpr int kVectors = kMatrixRows / kLanes;
  VecF levels[kVectors];
  for (int m = 0; m < kVectors; ++m) levels[m] = hit_level(tile, m, all.slopes[span], all.errors[span]);
  uint64_t* hits = in.hits + (t * all.spans + span) * kSpanColumns;
  for (int r = 0; r < all.widths[span]; ++r) {
    const float offset = all.offsets[span * kSpanColumns + r];
    VecF sum = hn::Load(kF32, excess.lanes[r]);
    uint64_t word = 0;
    for (int m = 0; m < kVectors; ++m) {
      const VecF score = sums.score(panel, r * kMatrixRows + m * kLanes, offset);
      word |= add_hits(score, levels[m], tile, m, sum);
    }
    hn::Store(sum, kF32, excess.lanes[r]);
    hits[r] = word;
  }
}

// Screens with a unit that fills one panel at a time: Unit::multiply(steps, tile, span values, columns, panel).
// Unit::Panel says what it holds.
template <class Unit>
void screen_by_panels(const ScreenTask& in) {
  alignas(64) float panel[Unit::Panel::kFloats];
  for (int64_t t = 0; t < in.tile_count; ++t) {
    fetch_ahead(in, t, in.tile_count);
    for (int64_t span = 0; span < in.columns.spans; ++span) {
      const int columns = in.columns.widths[span];
      Unit::multiply(*in.columns.steps, static_cast<const char*>(in.tiles[t].values), span_values(in.columns, span),
                     columns, panel);
      finish_panel<typename Unit::Panel>(in.columns, span, columns, panel, in.tiles[t]);
    }
  }
}

template <class Unit>
void hits_by_panels(const HitsTask& in) {
  alignas(64) float panel[Unit::Panel::kFloats];
  for (int64_t span = 0; span < in.columns.spans; ++span) {
    ExcessSums<kSpanColumns> excess;
    double* sums = in.excess + span * kSpanColumns;
    for (int64_t t = 0; t < in.tile_count; ++t) {
      Unit::multiply(*in.columns.steps, static_cast<const char*>(in.tiles[t].values), span_values(in.columns, span),
                     in.columns.widths[span], panel);
      hits_of_panel<typename Unit::Panel>(in, t, span, panel, excess);
      if ((t + 1) % kExcessTiles == 0) excess.flush(sums);
    }
    excess.flush(sums);
  }
}

}  // namespace
}  // namespace manymeans
