// Products of bytes in AVX-512 vectors (VPDPBUSD): 16 rows are the lanes, columns are broadcast.
// Bound: one instruction for 64 products, four times the rate of float32; 8 columns x 3 vectors of rows keep 24 sums in
// registers against 3 loads and 8 broadcasts for four values. Bytes of points are unsigned, as the instruction asks:
// what the offset of 128 adds is a number of the column alone.
#pragma once

#include "backend/cpu/kernels/coded_kernels.h"
#include "backend/cpu/kernels/hit_kernels-inl.h"

#include <immintrin.h>

#include <cstring>

namespace manymeans {
namespace {

template <int MR, int S>
HWY_INLINE void multiply_bytes(const char* tile, const int8_t* block, int64_t groups, __m512i (&sums)[S][MR]) {
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
      for (int m = 0; m < MR; ++m) sums[r][m] = _mm512_dpbusd_epi32(sums[r][m], x[m], z);
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
    __m512i sums[S][MR];
#pragma GCC unroll 8
    for (int r = 0; r < S; ++r) {
      for (int m = 0; m < MR; ++m) sums[r][m] = _mm512_set1_epi32(columns.corrections[first + r]);
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
        const VecF score = hn::MulAdd(hn::ConvertTo(kF32, VecI{sums[r][m]}), unit, bound);
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

constexpr CodedKernels kCodedKernels[] = {{48, coded_hits<3>}, {32, coded_hits<2>}};

constexpr CpuKernels with_coded(CpuKernels kernels) {
  kernels.coded = kCodedKernels;
  kernels.coded_count = 2;
  return kernels;
}

}  // namespace
}  // namespace manymeans
