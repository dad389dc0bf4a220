// The screens whose rows are lanes and what all screens share, written once for Highway; included by kernels-inl.h
// only.
//
// Bound: R * MR fused multiply-adds per word and block against MR loads and R broadcasts, so about the peak of the
// vector units from 32 words on. For few words the four instructions per score of the epilogue count:
// put the column's place into the lowest bits, and keep the best two. Comparing, and blending an index, took six; so
// did adding the error to every score instead of once per span. Keeping only the best score and checking all others
// again was slower: it needs a second look at nearly every row.
#pragma once

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/row_kernels-inl.h"

#include <hwy/highway.h>

namespace manymeans {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using U32 = hn::ScalableTag<uint32_t>;
using I32 = hn::ScalableTag<int32_t>;
using VecF = hn::Vec<F32>;
using VecI = hn::Vec<I32>;
constexpr F32 kF32;
constexpr U32 kU32;
constexpr I32 kI32;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(kF32));
constexpr float kLowest = -0x1p127F;

// A place in a span, to be broadcast from memory: an immediate would need a register. It may include other bits that
// all scores have.
template <uint32_t kBits>
struct Places {
  alignas(64) uint32_t values[kSpanColumns];
  constexpr Places() : values() {
    for (uint32_t i = 0; i < kSpanColumns; ++i) values[i] = i | kBits;
  }
};
template <uint32_t kBits>
constexpr Places<kBits> kPlaces;

template <uint32_t kBits>
HWY_INLINE VecF with_place(VecF score, const uint32_t* place) {
  const auto kept = hn::Set(kU32, ~(kColumnBits | kBits));
  return hn::BitCast(kF32, hn::OrAnd(hn::Set(kU32, *place), hn::BitCast(kU32, score), kept));
}

// Adds to a score the error that all columns of its span share, and keeps the place.
HWY_INLINE VecF upper_score(VecF score, VecF bound) {
  const auto places = hn::Set(kU32, kColumnBits);
  const auto place = hn::And(hn::BitCast(kU32, score), places);
  return hn::BitCast(kF32, hn::Or(hn::AndNot(places, hn::BitCast(kU32, hn::Add(score, bound))), place));
}

// The error of the scores of a span's columns for a vector of rows: radius * slope + error, or as much as it can be.
HWY_INLINE VecF error_of(VecF radius, float slope, float error) {
  return min_or_second(hn::MulAdd(radius, hn::Set(kF32, slope), hn::Set(kF32, error)), hn::Set(kF32, kMaxError));
}

struct BestTwo {
  VecF best = hn::Set(kF32, kLowest);
  VecF second = hn::Set(kF32, kLowest);

  HWY_INLINE void add(VecF score) {
    second = hn::Max(second, hn::Min(score, best));
    best = hn::Max(best, score);
  }
};

// The best two of several groups of columns, and what the others do not exceed.
struct BestThree {
  VecF best, second, third;

  // Of one group no third is known, but it is not above the second.
  HWY_INLINE explicit BestThree(const BestTwo& group) : best(group.best), second(group.second), third(group.second) {}

  HWY_INLINE void merge(const BestThree& other) {
    const VecF lesser = hn::Min(best, other.best);
    const VecF seconds = hn::Max(second, other.second);
    third = hn::Max(hn::Max(third, other.third), hn::Min(lesser, seconds));
    second = hn::Max(lesser, seconds);
    best = hn::Max(best, other.best);
  }

  // Stores the upper scores of `span` for the rows from `m` on.
  HWY_INLINE void store(const ScreenColumns& in, int64_t span, const ScreenTile& tile, int tile_rows, int m) const {
    const VecF radius = hn::Load(kF32, tile.radii + m);
    const VecF bound = error_of(radius, in.slopes[span], in.errors[span]);
    const int64_t at = span * tile_rows + m;
    hn::Store(upper_score(best, bound), kF32, tile.best + at);
    hn::Store(upper_score(second, bound), kF32, tile.second + at);
    hn::Store(upper_score(third, bound), kF32, tile.third + at);
  }
};

// Asks for a share of what the next call will read: part `part` of `parts`.
HWY_INLINE void fetch_ahead(const ScreenTask& in, int64_t part, int64_t parts) {
  const char* from = static_cast<const char*>(in.ahead);
  const int64_t end = in.ahead_bytes * (part + 1) / parts;
  for (int64_t at = in.ahead_bytes * part / parts / 64 * 64; at < end; at += 64) __builtin_prefetch(from + at, 0, 2);
}

// A Unit multiplies words of four bytes, of any content, and adds to float32. It looks for the best two of a span's
// blocks in kChains groups. All its scores have the bits kBits. This one: a value a word.
struct FloatUnit {
  static constexpr ScreenFormat kFormat = ScreenFormat::kFloat32;
  static constexpr int kValues = 1;
  static constexpr int kChains = 1;
  static constexpr uint32_t kBits = 0;
  HWY_INLINE static VecF add(VecF x, VecF z, VecF sum) { return hn::MulAdd(x, z, sum); }
  static constexpr int32_t kHalf = 0x3f000000;
};

// The sum is a residual, and its magnitude with a minus the score: the bit of the sign is set with the place, for
// nothing.
struct ResidualUnit : FloatUnit {
  static constexpr uint32_t kBits = 0x80000000U;
};

// What units for two bfloat16 numbers a word have in common.
struct Bfloat16Words {
  static constexpr ScreenFormat kFormat = ScreenFormat::kBfloat16;
  static constexpr int kValues = 2;
  static constexpr int kChains = 4;
  static constexpr uint32_t kBits = 0;
  static constexpr int32_t kHalf = 0x3f003f00;
};

// sums[r][m] = offset_r + rows m . column r, for S neighbouring columns of one block (words, R) from `block` on; W is
// the number of words where that is known when compiling, else 0.
template <class Unit, int MR, int R, int S, int W>
HWY_INLINE void multiply(const float* HWY_RESTRICT tile, const float* HWY_RESTRICT block,
                         const float* HWY_RESTRICT offsets, int64_t words, VecF (&sums)[S][MR]) {
#pragma GCC unroll 8
  for (int r = 0; r < S; ++r) {
#pragma GCC unroll 8
    for (int m = 0; m < MR; ++m) sums[r][m] = hn::Set(kF32, offsets[r]);
  }
  const int64_t count = W > 0 ? W : words;
#pragma GCC unroll 8
  for (int64_t j = 0; j < count; ++j) {
    VecF x[MR];
#pragma GCC unroll 8
    for (int m = 0; m < MR; ++m) x[m] = hn::Load(kF32, tile + (j * MR + m) * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < S; ++r) {
      const VecF z = hn::Set(kF32, block[j * R + r]);
#pragma GCC unroll 8
      for (int m = 0; m < MR; ++m) sums[r][m] = Unit::add(x[m], z, sums[r][m]);
    }
  }
}

// Columns of a block from some column on.
struct BlockColumns {
  const float* block;
  const float* offsets;
  const uint32_t* places;

  HWY_INLINE BlockColumns from(int column) const { return {block + column, offsets + column, places + column}; }
};

// The best two of a tile's rows among S columns of a block of R.
template <class Unit, int MR, int R, int S, int W>
HWY_INLINE void screen_part(const float* tile, const BlockColumns& in, int64_t words, BestTwo (&rows)[MR]) {
  VecF sums[S][MR];
  multiply<Unit, MR, R, S, W>(tile, in.block, in.offsets, words, sums);
#pragma GCC unroll 8
  for (int r = 0; r < S; ++r) {
#pragma GCC unroll 8
    for (int m = 0; m < MR; ++m) rows[m].add(with_place<Unit::kBits>(sums[r][m], in.places + r));
  }
}

// The best two of a tile's rows among one block's columns, S at a time: as many sums as registers hold besides.
template <class Unit, int MR, int R, int S, int W>
HWY_INLINE void screen_block(const float* tile, const BlockColumns& in, int64_t words, BestTwo (&rows)[MR]) {
#pragma GCC unroll 1
  for (int first = 0; first < R; first += S) {
    screen_part<Unit, MR, R, S, W>(tile, in.from(first), words, rows);
  }
}

// The width that a span is padded to. KDD's models of 2 to 32 prototypes computed a third more columns in whole blocks
// of eight.
template <int R>
constexpr int kMinWidth = R > 2 ? 2 : R;

// The first `columns` of a block, fewer than R of them.
template <class Unit, int MR, int R, int W>
HWY_INLINE void screen_rest(const float* tile, const BlockColumns& in, int64_t words, int64_t columns,
                            BestTwo (&rows)[MR]) {
  int first = 0;
  if constexpr (R > 4) {
    if ((columns & 4) != 0) {
      screen_part<Unit, MR, R, 4, W>(tile, in, words, rows);
      first = 4;
    }
  }
  if constexpr (R > 2) {
    if ((columns & 2) != 0) screen_part<Unit, MR, R, 2, W>(tile, in.from(first), words, rows);
  }
}

template <class Unit, int MR, int R, int S, int W>
HWY_INLINE void screen_tile(const ScreenColumns& in, const ScreenTile& tile) {
  constexpr int kRows = MR * kLanes;
  const auto* values = static_cast<const float*>(in.values);
  const auto* rows = static_cast<const float*>(tile.values);
  for (int64_t span = 0; span < in.spans; ++span) {
    const int64_t first = span * kSpanColumns;
    const int64_t blocks = in.widths[span] / R;
    const auto block_at = [&](int64_t column) {
      return BlockColumns{values + (first + column) * in.words, in.offsets + first + column,
                          kPlaces<Unit::kBits>.values + column};
    };
    BestTwo chains[Unit::kChains][MR];
    for (int64_t b = 0; b < blocks; ++b) {
      screen_block<Unit, MR, R, S, W>(rows, block_at(b * R), in.words, chains[b % Unit::kChains]);
    }
    const int64_t done = blocks * R;
    screen_rest<Unit, MR, R, W>(rows, block_at(done), in.words, in.widths[span] - done, chains[blocks % Unit::kChains]);
    for (int m = 0; m < MR; ++m) {
      BestThree best(chains[0][m]);
      for (int c = 1; c < Unit::kChains; ++c) best.merge(BestThree(chains[c][m]));
      best.store(in, span, tile, kRows, m * kLanes);
    }
  }
}

template <class Unit, int MR, int R, int S, int W>
void screen_tiles(const ScreenTask& in) {
  for (int64_t t = 0; t < in.tile_count; ++t) {
    fetch_ahead(in, t, in.tile_count);
    screen_tile<Unit, MR, R, S, W>(in.columns, in.tiles[t]);
  }
}

// For few words the loop over them is unrolled, the best two stay in registers, and half a block's sums spill nothing.
// For many words a whole block's sums save loads.
template <class Unit, int MR, int R>
void screen_lanes(const ScreenTask& in) {
  constexpr int kHalf = R > 2 ? R / 2 : R;
  switch (in.columns.words) {
    case 1: return screen_tiles<Unit, MR, R, kHalf, 1>(in);
    case 2: return screen_tiles<Unit, MR, R, kHalf, 2>(in);
    case 3: return screen_tiles<Unit, MR, R, kHalf, 3>(in);
    case 4: return screen_tiles<Unit, MR, R, kHalf, 4>(in);
    case 5: return screen_tiles<Unit, MR, R, kHalf, 5>(in);
    case 6: return screen_tiles<Unit, MR, R, kHalf, 6>(in);
    case 7: return screen_tiles<Unit, MR, R, kHalf, 7>(in);
    case 8: return screen_tiles<Unit, MR, R, kHalf, 8>(in);
    default: return screen_tiles<Unit, MR, R, R, 0>(in);
  }
}

// The bits of a mask of up to 16 lanes.
HWY_INLINE uint64_t mask_bits(hn::Mask<F32> mask) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(kF32, mask, bytes);
  uint16_t bits;
  __builtin_memcpy(&bits, bytes, sizeof bits);
  return bits;
}

// The best two of all spans for one vector of rows, and whether  best - 2 (radius slope + error) - slack norm^2 -
// underflow > second, written so that NaN fails. All parts of the right side are inflated by 2^-10 where they are made,
// which covers the roundings here.
HWY_INLINE uint64_t certify_lanes(const CertifyTask& in, int at) {
  BestTwo row;
  VecI span = hn::Zero(kI32);
  VecF error = hn::Zero(kF32);
  const VecF radius = hn::Load(kF32, in.radii + at);
  for (int64_t s = 0; s < in.spans; ++s) {
    const VecF best = hn::Load(kF32, in.best + s * in.tile_rows + at);
    const VecF second = hn::Load(kF32, in.second + s * in.tile_rows + at);
    const auto better = hn::Gt(best, row.best);
    const VecF bound = error_of(radius, in.slopes[s], in.errors[s]);
    error = hn::IfThenElse(better, bound, error);
    span = hn::IfThenElse(hn::RebindMask(kI32, better), hn::Set(kI32, static_cast<int32_t>(s)), span);
    row.second = hn::Max(hn::Max(row.second, second), hn::Min(row.best, best));
    row.best = hn::Max(row.best, best);
  }
  const VecF norm = hn::Load(kF32, in.norms + at);
  const VecF slack = hn::MulAdd(hn::Set(kF32, in.slack), hn::Mul(norm, norm), hn::Set(kF32, in.underflow));
  const VecF needed = hn::MulAdd(hn::Set(kF32, 2.0F), error, slack);
  const auto place = hn::And(hn::BitCast(kI32, row.best), hn::Set(kI32, static_cast<int32_t>(kColumnBits)));
  const VecF lower = hn::Sub(row.best, needed);
  const auto column = hn::Add(hn::ShiftLeft<5>(span), place);
  hn::StoreU(hn::GatherIndex(kU32, in.order, column), kU32, in.labels + at);
  hn::Store(row.best, kF32, in.upper_best + at);
  // Less the rounding of this difference.
  hn::Store(hn::NegMulAdd(hn::Abs(lower), hn::Set(kF32, 0x1p-20F), lower), kF32, in.lower_best + at);
  hn::Store(row.second, kF32, in.runner_up + at);
  return mask_bits(hn::Not(hn::Gt(hn::Sub(row.best, row.second), needed)));
}

uint64_t certify(const CertifyTask& in) {
  uint64_t unproved = 0;
  for (int at = 0; at < in.tile_rows; at += kLanes) unproved |= certify_lanes(in, at) << at;
  return unproved;
}

// Bits of the rows whose value is not below their threshold; NaN counts as not below.
HWY_INLINE uint64_t reaching(const float* values, const CertifyTask& in) {
  uint64_t rows = 0;
  for (int at = 0; at < in.tile_rows; at += kLanes) {
    const auto below = hn::Lt(hn::Load(kF32, values + at), hn::Load(kF32, in.lower_best + at));
    rows |= mask_bits(hn::Not(below)) << at;
  }
  return rows;
}

int64_t find_candidates(const CertifyTask& in, uint64_t rows, SpanCandidates* found) {
  int64_t count = 0;
  for (int64_t s = 0; s < in.spans; ++s) {
    const uint64_t best = reaching(in.best + s * in.tile_rows, in) & rows;
    if (best == 0) continue;
    const uint64_t two = reaching(in.second + s * in.tile_rows, in) & best;
    const uint64_t more = reaching(in.third + s * in.tile_rows, in) & two;
    found[count++] = {s, best, two & ~more, more};
  }
  return count;
}

// Squares are |y|^2 - 2 S: what is added or taken covers that norms are up to 2^-19 too large, and the roundings here.
void bound_distances(const DistanceTask& in) {
  const VecF two = hn::Set(kF32, 2.0F);
  const VecF inflation = hn::Set(kF32, in.inflation);
  const VecF underflow = hn::Set(kF32, in.underflow);
  const VecF rounding = hn::Sub(inflation, hn::Set(kF32, 1.0F));  // 2^-20
  for (int at = 0; at < in.tile_rows; at += kLanes) {
    const VecF norm = hn::Load(kF32, in.norms + at);
    const VecF square = hn::Mul(norm, norm);
    const VecF lower = hn::Mul(two, hn::Load(kF32, in.lower + at));
    const VecF upper = hn::Mul(two, hn::Load(kF32, in.runner_up + at));
    const VecF above = hn::MulAdd(rounding, hn::Add(square, hn::Abs(lower)), underflow);
    const VecF below = hn::MulAdd(rounding, hn::MulAdd(hn::Set(kF32, 8.0F), square, hn::Abs(upper)), underflow);
    const VecF most = hn::Add(hn::Sub(square, lower), above);
    const VecF least = hn::Sub(hn::Sub(square, upper), below);
    const VecF nearest = hn::Mul(hn::Sqrt(hn::Max(most, underflow)), inflation);
    const VecF root = hn::Sqrt(hn::Max(least, hn::Zero(kF32)));
    hn::Store(nearest, kF32, in.nearest + at);
    hn::Store(hn::NegMulAdd(root, rounding, root), kF32, in.others + at);
  }
}

// Bits of the rows [at, at + 64) that keep their label; NaN keeps none.
HWY_INLINE uint64_t kept_rows(const KeepTask& in, int64_t at) {
  uint64_t kept = 0;
  for (int m = 0; m < 64 && at + m < in.count; m += kLanes) {
    const auto label = hn::LoadU(kI32, reinterpret_cast<const int32_t*>(in.labels) + at + m);
    const VecF nearest = hn::LoadU(kF32, in.nearest + at + m);
    const VecF others = hn::LoadU(kF32, in.others + at + m);
    const auto apart = hn::Gt(hn::Sub(others, nearest), hn::GatherIndex(kF32, in.gap, label));
    const auto within = hn::Lt(nearest, hn::GatherIndex(kF32, in.reach, label));
    const auto close = hn::Lt(nearest, hn::GatherIndex(kF32, in.half, label));
    kept |= mask_bits(hn::Or(hn::And(apart, within), close)) << m;
  }
  return kept;
}

int64_t rows_to_screen(const KeepTask& in, uint32_t* rows) {
  int64_t count = 0;
  for (int64_t at = 0; at < in.count; at += 64) {
    uint64_t left = ~kept_rows(in, at);
    if (in.count - at < 64) left &= (uint64_t{1} << (in.count - at)) - 1;
    for (; left != 0; left &= left - 1) rows[count++] = static_cast<uint32_t>(at + __builtin_ctzll(left));
  }
  return count;
}

// Writes which labels are others now.
int64_t changed_labels(const ChangedLabels& in, uint32_t* rows) {
  int64_t count = 0;
  for (int64_t at = 0; at < in.count; at += 64) {
    uint64_t changed = 0;
    for (int m = 0; m < 64 && at + m < in.count; m += kLanes) {
      const auto differs = hn::Ne(hn::LoadU(kU32, in.before + at + m), hn::LoadU(kU32, in.now + at + m));
      changed |= mask_bits(hn::RebindMask(kF32, differs)) << m;
    }
    if (in.count - at < 64) changed &= (uint64_t{1} << (in.count - at)) - 1;
    for (; changed != 0; changed &= changed - 1) {
      rows[count++] = static_cast<uint32_t>(at + __builtin_ctzll(changed));
    }
  }
  return count;
}

// The `count` lowest of the bits.
HWY_INLINE uint64_t lowest_bits(uint64_t bits, int count) {
  if (__builtin_popcountll(bits) <= count) return bits;
  uint64_t rest = bits;
  for (; count > 0; --count) rest &= rest - 1;
  return bits & ~rest;
}

// A run of rows that are contiguous in both tiles.
HWY_INLINE void gather_run(const GatherTask& in, const uint32_t* from, uint64_t lanes, uint32_t* to) {
  uint8_t bytes[8] = {static_cast<uint8_t>(lanes), static_cast<uint8_t>(lanes >> 8)};
  const auto mask = hn::LoadMaskBits(kU32, bytes);
  // Compressing into a register and storing a part of it: the instruction that does both is several times slower.
  const auto stored = hn::FirstN(kU32, static_cast<size_t>(__builtin_popcountll(lanes)));
  for (int64_t b = 0; b < in.blocks; ++b) {
    const int64_t block = b * in.lines * in.tile_rows;
    for (int64_t q = 0; q < in.lines; ++q) {
      const int64_t line = block + q * in.run;
      masked_store(hn::Compress(hn::Load(kU32, from + line), mask), stored, kU32, to + line);
    }
  }
}

HWY_INLINE int64_t place_in_tile(const GatherTask& in, int64_t row) {
  return row / in.run * in.run * in.lines + row % in.run;
}

void gather(const GatherTask& in) {
  int64_t at = in.at;
  for (int m = 0; m < in.tile_rows; m += kLanes) {
    uint64_t left = in.rows >> m & ((uint64_t{1} << kLanes) - 1);
    while (left != 0) {
      const uint64_t taken = lowest_bits(left, static_cast<int>(in.run - at % in.run));
      uint32_t* to = in.to + at / in.tile_rows * in.to_tile + place_in_tile(in, at % in.tile_rows);
      gather_run(in, in.from + place_in_tile(in, m), taken, to);
      at += __builtin_popcountll(taken);
      left &= ~taken;
    }
  }
}

// A block of R columns at a time, R being a whole number of vectors or less than one.
template <int R>
void rescore(const RescoreTask& in) {
  const float* x = in.x;
  const int64_t d = in.d;
  const hn::CappedTag<float, R> tag;
  constexpr int64_t kStep = static_cast<int64_t>(hn::MaxLanes(tag));
  for (int64_t first = 0; first < in.columns; first += R) {
    for (int64_t part = 0; part < R; part += kStep) {
      const float* column = in.blocks + first * d + part;
      auto even = hn::LoadU(tag, in.offsets + first + part);
      auto odd = hn::Zero(tag);
      int64_t j = 0;
      for (; j + 1 < d; j += 2, column += 2 * R) {
        even = hn::MulAdd(hn::Set(tag, x[j]), hn::LoadU(tag, column), even);
        odd = hn::MulAdd(hn::Set(tag, x[j + 1]), hn::LoadU(tag, column + R), odd);
      }
      if (j < d) even = hn::MulAdd(hn::Set(tag, x[j]), hn::LoadU(tag, column), even);
      hn::StoreU(hn::Add(even, odd), tag, in.scores + first + part);
    }
  }
}

}  // namespace
}  // namespace manymeans
