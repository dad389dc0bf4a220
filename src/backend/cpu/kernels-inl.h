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
#include "core/distance.h"

#include <hwy/highway.h>

#include <cmath>

namespace manymeans {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

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
uint64_t certify(const Certificate& in, const BestTwo& tile, float* estimate) {
  const VecF two = hn::Set(kF32, 2.0F);
  const VecF slack = hn::Set(kF32, in.slack);
  const VecF underflow = hn::Set(kF32, in.underflow);
  VecF sum = hn::Zero(kF32);
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
    sum = hn::Add(sum, hn::NegMulAdd(two, hn::Sub(best, error), square));
  }
  *estimate = hn::GetLane(hn::SumOfLanes(kF32, sum));
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

#if HWY_TARGET == HWY_SCALAR

// Without a fused multiply-add the canonical distance is the plain one: std::fma.
template <class T>
double distance(const T* x, const T* c, int64_t d) {
  return canonical_distance(x, c, d);
}

#else

constexpr int kWide = hn::MaxLanes(hn::ScalableTag<double>()) >= 8 ? 8 : 4;
using F64 = hn::FixedTag<double, kWide>;
using Narrow = hn::FixedTag<float, kWide>;
using VecD = hn::Vec<F64>;
constexpr F64 kF64;

HWY_INLINE VecD load_wide(const float* p) {
  return hn::PromoteTo(kF64, hn::LoadU(Narrow(), p));
}
HWY_INLINE VecD load_wide(const double* p) {
  return hn::LoadU(kF64, p);
}
HWY_INLINE VecD load_some(const float* p, size_t count) {
  return hn::PromoteTo(kF64, hn::MaskedLoad(hn::FirstN(Narrow(), count), Narrow(), p));
}
HWY_INLINE VecD load_some(const double* p, size_t count) {
  return hn::MaskedLoad(hn::FirstN(kF64, count), kF64, p);
}

// Lane l of the eight sums lives in lane l % kWide of register l / kWide; lanes past the end add fma(0, 0, p) = p.
template <class T>
double distance(const T* x, const T* c, int64_t d) {
  constexpr int kRegisters = 8 / kWide;
  VecD sums[kRegisters];
  for (int v = 0; v < kRegisters; ++v) sums[v] = hn::Zero(kF64);
  int64_t j = 0;
  for (; j + 8 <= d; j += 8) {
    for (int v = 0; v < kRegisters; ++v) {
      const VecD t = hn::Sub(load_wide(x + j + v * kWide), load_wide(c + j + v * kWide));
      sums[v] = hn::MulAdd(t, t, sums[v]);
    }
  }
  for (int v = 0; v < kRegisters && j + v * kWide < d; ++v) {
    const int64_t rest = d - j - v * kWide;
    const size_t count = rest < kWide ? static_cast<size_t>(rest) : kWide;
    const VecD t = hn::Sub(load_some(x + j + v * kWide, count), load_some(c + j + v * kWide, count));
    sums[v] = hn::MulAdd(t, t, sums[v]);
  }
  alignas(64) double p[8];
  for (int v = 0; v < kRegisters; ++v) hn::Store(sums[v], kF64, p + v * kWide);
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

#endif

// Adding 1.5 * 2^52 rounds a number below 2^51 to the nearest integer, ties to even, and leaves that integer in
// the low bits; the remainder is exact. Limbs may so differ from add_term's, never the integer they stand for.
constexpr double kMagic = 0x1.8p52;

template <class T>
HWY_INLINE void add_term_scalar(const T* x, int64_t j, const TermRow& row) {
  double y = row.weight * static_cast<double>(x[j]) * row.top[j];
  for (int g = row.limbs - 1; g >= 0; --g) {
    const double part = (y + kMagic) - kMagic;
    const auto integer = static_cast<int64_t>(part);
    row.to[g * row.d + j] += integer;
    if (row.from != nullptr) row.from[g * row.d + j] -= integer;
    y = (y - part) * row.radix;
  }
}

#if HWY_TARGET == HWY_SCALAR

template <class T>
void add_terms(const T* x, const TermRow& row) {
  for (int64_t j = 0; j < row.d; ++j) add_term_scalar(x, j, row);
}

#else

template <class T>
void add_terms(const T* x, const TermRow& row) {
  const hn::FixedTag<int64_t, kWide> i64;
  const VecD magic = hn::Set(kF64, kMagic);
  const VecD radix = hn::Set(kF64, row.radix);
  const VecD weight = hn::Set(kF64, row.weight);
  int64_t j = 0;
  for (; j + kWide <= row.d; j += kWide) {
    VecD y = hn::Mul(hn::Mul(weight, load_wide(x + j)), hn::LoadU(kF64, row.top + j));
    for (int g = row.limbs - 1; g >= 0; --g) {
      const VecD shifted = hn::Add(y, magic);
      const auto integer = hn::Sub(hn::BitCast(i64, shifted), hn::BitCast(i64, magic));
      int64_t* to = row.to + g * row.d + j;
      hn::StoreU(hn::Add(hn::LoadU(i64, to), integer), i64, to);
      if (row.from != nullptr) {
        int64_t* from = row.from + g * row.d + j;
        hn::StoreU(hn::Sub(hn::LoadU(i64, from), integer), i64, from);
      }
      y = hn::Mul(hn::Sub(y, hn::Sub(shifted, magic)), radix);
    }
  }
  for (; j < row.d; ++j) add_term_scalar(x, j, row);
}

#endif

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
          add_terms<float>,
          add_terms<double>,
          pack<kRows, float>,
          pack<kRows, double>};
}

}  // namespace
}  // namespace manymeans
