// The kernels, written once for Highway and compiled once per instruction set: include from a kernels_*.cpp only.
// Everything is in an anonymous namespace, so that no copy for one instruction set can stand in for another at
// link time; for the same reason nothing here calls inline functions of the standard library in loops.
//
// Bound of `screen`: R * MR fused multiply-adds per value of d and block against MR loads and R broadcasts, so
// about the peak of the vector units for d >= 32. For small d the six instructions of the top-two update per
// score count: (d + 1 + 5) / d of the multiply-adds. Keeping only the best score and re-checking all others was
// slower: it needs a second look at nearly every row.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/row_kernels-inl.h"

#include <hwy/highway.h>

namespace manymeans {
namespace {

using F32 = hn::ScalableTag<float>;
using I32 = hn::ScalableTag<int32_t>;
using VecF = hn::Vec<F32>;
using VecI = hn::Vec<I32>;
constexpr F32 kF32;
constexpr I32 kI32;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(kF32));

// sums[r][m] = offset_r + rows m . prototype r, for one block.
template <int MR, int R>
HWY_INLINE void multiply(const float* HWY_RESTRICT tile, const float* HWY_RESTRICT block,
                         const float* HWY_RESTRICT offsets, int64_t d, VecF (&sums)[R][MR]) {
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int m = 0; m < MR; ++m) sums[r][m] = hn::Set(kF32, offsets[r]);
  }
  for (int64_t j = 0; j < d; ++j, tile += MR * kLanes, block += R) {
    VecF x[MR];
#pragma GCC unroll 8
    for (int m = 0; m < MR; ++m) x[m] = hn::Load(kF32, tile + m * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const VecF z = hn::Set(kF32, block[r]);
#pragma GCC unroll 8
      for (int m = 0; m < MR; ++m) sums[r][m] = hn::MulAdd(x[m], z, sums[r][m]);
    }
  }
}

template <int MR, int R>
void screen(const ScreenBlocks& in, const BestTwo& out) {
  VecF best[MR], second[MR], norm[MR];
  VecI index[MR];
  for (int m = 0; m < MR; ++m) {
    best[m] = hn::Load(kF32, out.best + m * kLanes);
    second[m] = hn::Load(kF32, out.second + m * kLanes);
    index[m] = hn::Load(kI32, out.index + m * kLanes);
    norm[m] = hn::Load(kF32, in.norms + m * kLanes);
  }
  for (int64_t b = 0; b < in.count; ++b) {
    VecF sums[R][MR];
    multiply<MR, R>(in.tile, in.blocks + b * in.d * R, in.offsets + b * R, in.d, sums);
    const auto first = static_cast<int32_t>(in.first_index + b * R);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const VecF slope = hn::Set(kF32, in.slopes[b * R + r]);
      const VecI k = hn::Set(kI32, first + r);
#pragma GCC unroll 8
      for (int m = 0; m < MR; ++m) {
        const VecF upper = hn::MulAdd(norm[m], slope, sums[r][m]);
        const auto better = hn::Gt(upper, best[m]);
        second[m] = hn::Max(second[m], hn::Min(upper, best[m]));
        best[m] = hn::Max(best[m], upper);
        index[m] = hn::IfThenElse(hn::RebindMask(kI32, better), k, index[m]);
      }
    }
  }
  for (int m = 0; m < MR; ++m) {
    hn::Store(best[m], kF32, out.best + m * kLanes);
    hn::Store(second[m], kF32, out.second + m * kLanes);
    hn::Store(index[m], kI32, out.index + m * kLanes);
  }
}

// The bits of a mask of up to 16 lanes.
HWY_INLINE uint64_t mask_bits(hn::Mask<F32> mask) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(kF32, mask, bytes);
  return static_cast<uint64_t>(bytes[0]) | static_cast<uint64_t>(bytes[1]) << 8;
}

// best - 2 (norm slope + error) - slack norm^2 - underflow > second, written so that NaN fails. All parts of the
// right side are inflated by 2^-10 where they are made, which covers the roundings here.
template <int MR>
uint64_t certify(const Certificate& in, const BestTwo& tile) {
  const VecF two = hn::Set(kF32, 2.0F);
  const VecF slack = hn::Set(kF32, in.slack);
  const VecF underflow = hn::Set(kF32, in.underflow);
  uint64_t unproved = 0;
  for (int m = 0; m < MR; ++m) {
    const VecF norm = hn::Load(kF32, in.norms + m * kLanes);
    const VecF best = hn::Load(kF32, tile.best + m * kLanes);
    const VecI index = hn::Load(kI32, tile.index + m * kLanes);
    const VecF error =
        hn::MulAdd(norm, hn::GatherIndex(kF32, in.slopes, index), hn::GatherIndex(kF32, in.errors, index));
    const VecF square = hn::Mul(norm, norm);
    const VecF needed = hn::MulAdd(two, error, hn::MulAdd(slack, square, underflow));
    const VecF margin = hn::Sub(best, hn::Load(kF32, tile.second + m * kLanes));
    unproved |= mask_bits(hn::Not(hn::Gt(margin, needed))) << (m * kLanes);
  }
  return unproved;
}

template <int MR, int R>
void find_hits(const ScreenBlocks& in, const float* thresholds, uint64_t* hits) {
  for (int64_t b = 0; b < in.count; ++b) {
    VecF sums[R][MR];
    multiply<MR, R>(in.tile, in.blocks + b * in.d * R, in.offsets + b * R, in.d, sums);
    for (int r = 0; r < R; ++r) {
      const VecF slope = hn::Set(kF32, in.slopes[b * R + r]);
      uint64_t word = 0;
      for (int m = 0; m < MR; ++m) {
        const VecF upper = hn::MulAdd(hn::Load(kF32, in.norms + m * kLanes), slope, sums[r][m]);
        const auto above = hn::Gt(upper, hn::Load(kF32, thresholds + m * kLanes));
        word |= mask_bits(above) << (m * kLanes);
      }
      hits[b * R + r] = word;
    }
  }
}

template <int P, class T>
void pack(const T* x, int64_t rows, int64_t d, const double* centre, double scale, float* tile, float* norms) {
  for (int64_t i = 0; i < P; ++i) {
    if (i >= rows) {
      for (int64_t j = 0; j < d; ++j) tile[j * P + i] = 0;
      norms[i] = 0;
      continue;
    }
    double square = 0;
    for (int64_t j = 0; j < d; ++j) {
      const auto value = static_cast<float>((static_cast<double>(x[i * d + j]) - centre[j]) * scale);
      tile[j * P + i] = value;
      square += static_cast<double>(value) * static_cast<double>(value);
    }
    // The factor covers the rounding of the sum (d 2^-53), of the root and of the conversion.
    norms[i] = static_cast<float>(__builtin_sqrt(square) * (1 + 0x1p-20));
  }
}

template <int MR, int R>
constexpr CpuKernels kernel_table(const char* name, const char* description, bool (*supported)()) {
  constexpr int kRows = MR * kLanes;
  static_assert(kRows <= 64, "a word of hits has 64 bits");
  return {name,
          description,
          supported,
          kRows,
          R,
          screen<MR, R>,
          certify<MR>,
          find_hits<MR, R>,
          distance<float>,
          distance<double>,
          distances<float>,
          distances<double>,
          add_distances,
          add_terms<float>,
          add_terms<double>,
          move_rows<float>,
          move_rows<double>,
          label_terms,
          pack<kRows, float>,
          pack<kRows, double>};
}

}  // namespace
}  // namespace manymeans
