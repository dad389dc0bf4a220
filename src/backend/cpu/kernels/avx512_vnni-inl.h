// Products of bytes in AVX-512 vectors (VPDPBUSD): 16 rows are the lanes, columns are broadcast. Bound: one instruction
// for 64 products, four times the rate of float32. For four values, 8 columns x 3 vectors of rows keep 24 sums in
// registers against 3 loads and 8 broadcasts. Bytes of points are unsigned, as the instruction asks: what the offset of
// 128 adds is a number of the column alone.
#pragma once

#include "backend/cpu/kernels/coded_kernels.h"
#include "backend/cpu/kernels/hit_kernels-inl.h"

#include <immintrin.h>

#include <cstring>

namespace manymeans {
namespace {

// Sums. __m512i is a vector of 64-bit integers to the compiler (g++ 12). With it, each sum would take two registers in
// a loop, at half the rate.
using Sums = int32_t __attribute__((vector_size(64)));

HWY_INLINE __m512i bits_of(Sums sums) {
  return reinterpret_cast<__m512i>(sums);
}
HWY_INLINE Sums all_lanes(int32_t value) {
  return reinterpret_cast<Sums>(_mm512_set1_epi32(value));
}

template <int MR, int S>
HWY_INLINE void multiply_bytes(const char* tile, const int8_t* block, int64_t groups, Sums (&sums)[S][MR]) {
  for (int64_t g = 0; g < groups; ++g) {
    __m512i x[MR];
#pragma GCC unroll 4
    for (int m = 0; m < MR; ++m) x[m] = _mm512_loadu_si512(tile + (g * MR + m) * 64);
#pragma GCC unroll 8
    for (int r = 0; r < S; ++r) {
      int32_t four;
      std::memcpy(&four, block + (g * kCodedColumns + r) * kCodedValues, sizeof four);
      const __m512i z = _mm512_set1_epi32(four);
#pragma GCC unroll 4
      for (int m = 0; m < MR; ++m) {
        sums[r][m] = reinterpret_cast<Sums>(_mm512_dpbusd_epi32(bits_of(sums[r][m]), x[m], z));
      }
    }
  }
}

// Hits of S columns from `first` on, in one block.
template <int MR, int S>
HWY_INLINE void coded_hits_of(const CodedHitsTask& in, int64_t first) {
  const CodedColumns& columns = in.columns;
  const int8_t* block =
      columns.values + (first / kCodedColumns * columns.groups * kCodedColumns + first % kCodedColumns) * kCodedValues;
  ExcessSums<S> excess;
  for (int64_t t = 0; t < in.tile_count; ++t) {
    const HitsTile& tile = in.tiles[t];
    Sums sums[S][MR];
#pragma GCC unroll 8
    for (int r = 0; r < S; ++r) {
      for (int m = 0; m < MR; ++m) sums[r][m] = all_lanes(columns.corrections[first + r]);
    }
    multiply_bytes<MR, S>(static_cast<const char*>(tile.values), block, columns.groups, sums);
    uint64_t* hits = in.hits + t * columns.count + first;
#pragma GCC unroll 8
    for (int r = 0; r < S; ++r) {
      const VecF unit = hn::Set(kF32, columns.units[first + r]);
      const VecF slope = hn::Set(kF32, columns.slopes[first + r]);
      const VecF offset = hn::Set(kF32, columns.offsets[first + r]);
      VecF sum = hn::Load(kF32, excess.lanes[r]);
      uint64_t word = 0;
#pragma GCC unroll 4
      for (int m = 0; m < MR; ++m) {
        const VecF bound = hn::MulAdd(hn::LoadU(kF32, tile.radii + m * kLanes), slope, offset);
        const VecF score = hn::MulAdd(hn::ConvertTo(kF32, VecI{bits_of(sums[r][m])}), unit, bound);
        word |= add_hits(score, hn::LoadU(kF32, tile.thresholds + m * kLanes), tile, m, sum);
      }
      hn::Store(sum, kF32, excess.lanes[r]);
      hits[r] = word;
    }
    if ((t + 1) % kExcessTiles == 0) excess.flush(in.excess + first);
  }
  excess.flush(in.excess + first);
}

template <int MR>
void coded_hits(const CodedHitsTask& in) {
  int64_t first = 0;
  for (; first + kCodedColumns <= in.columns.count; first += kCodedColumns) coded_hits_of<MR, 8>(in, first);
  if ((in.columns.count & 4) != 0) {
    coded_hits_of<MR, 4>(in, first);
    first += 4;
  }
  if ((in.columns.count & 2) != 0) coded_hits_of<MR, 2>(in, first);
}

// Thresholds of 16 rows in units of a span: integers that no sum exceeds where the upper score does not exceed the
// threshold. Larger values become nearly 2^30, which no sum reaches; NaN (kept by the second operand of the minimum)
// and what is too small become the least integer, which every sum exceeds.
HWY_INLINE Sums level_of(const CodedLook& in, int64_t span, int m) {
  const VecF slope = hn::Set(kF32, in.columns.slopes[span]);
  const VecF level =
      hn::NegMulAdd(hn::LoadU(kF32, in.radii + m * kLanes), slope, hn::LoadU(kF32, in.thresholds + m * kLanes));
  const VecF scaled = hn::Mul(level, hn::Set(kF32, in.columns.inverses[span]));
  const VecF kept{_mm512_min_ps(_mm512_set1_ps(0x1p30F), scaled.raw)};
  // Less what roundings, and what underflow may take: a level that is a little negative must not become zero.
  const VecF rounded = hn::NegMulAdd(hn::Abs(kept), hn::Set(kF32, 0x1p-20F), kept);
  const VecF least = hn::Sub(rounded, hn::Set(kF32, 0x1p-64F));
  return reinterpret_cast<Sums>(_mm512_cvt_roundps_epi32(least.raw, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
}

// Nearly all blocks end with the comparison of their largest sums.
template <int MR>
int64_t coded_look(const CodedLook& in) {
  CodedHit* hits = in.hits;
  const CodedSpans& columns = in.columns;
  for (int64_t span = 0; span < columns.count; ++span) {
    Sums levels[MR];
#pragma GCC unroll 4
    for (int m = 0; m < MR; ++m) levels[m] = level_of(in, span, m);
    const int64_t end = span * kSpanColumns + columns.widths[span];
    for (int64_t place = span * kSpanColumns; place < end; place += kCodedColumns) {
      Sums sums[kCodedColumns][MR];
#pragma GCC unroll 8
      for (int r = 0; r < kCodedColumns; ++r) {
#pragma GCC unroll 4
        for (int m = 0; m < MR; ++m) sums[r][m] = all_lanes(columns.offsets[place + r]);
      }
      multiply_bytes<MR, kCodedColumns>(static_cast<const char*>(in.tile),
                                        columns.values + place * columns.groups * kCodedValues, columns.groups, sums);
      unsigned any = 0;
#pragma GCC unroll 4
      for (int m = 0; m < MR; ++m) {
        __m512i most = bits_of(sums[0][m]);
#pragma GCC unroll 8
        for (int r = 1; r < kCodedColumns; ++r) most = _mm512_max_epi32(most, bits_of(sums[r][m]));
        any |= _mm512_cmpgt_epi32_mask(most, bits_of(levels[m]));
      }
      if (__builtin_expect(any == 0, 1)) continue;
#pragma GCC unroll 8
      for (int r = 0; r < kCodedColumns; ++r) {
        uint64_t rows = 0;
#pragma GCC unroll 4
        for (int m = 0; m < MR; ++m) {
          rows |= static_cast<uint64_t>(_mm512_cmpgt_epi32_mask(bits_of(sums[r][m]), bits_of(levels[m])))
                  << (m * kLanes);
        }
        *hits = {place + r, rows};
        hits += rows != 0 ? 1 : 0;
      }
    }
  }
  return hits - in.hits;
}

constexpr CodedKernels kCodedKernels[] = {{48, coded_hits<3>, coded_look<3>}, {32, coded_hits<2>, coded_look<2>}};

constexpr CpuKernels with_coded(CpuKernels kernels) {
  kernels.coded = kCodedKernels;
  kernels.coded_count = 2;
  return kernels;
}

}  // namespace
}  // namespace manymeans
