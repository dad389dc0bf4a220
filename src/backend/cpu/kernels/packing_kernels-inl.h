// Kernels that make a screen's copy of the points, written once for Highway: include from kernels-inl.h only.
#pragma once

#include "backend/cpu/kernels/row_kernels-inl.h"

namespace manymeans {
namespace {

// The factor covers the rounding of the sum (d 2^-53), of the root and of the conversion.
HWY_INLINE float norm_of_square(double square) {
  return static_cast<float>(__builtin_sqrt(square) * (1 + 0x1p-20));
}

// Row i of a tile of P rows; one that does not exist is zero.
template <int P, class T>
HWY_INLINE void pack_row(const T* x, int64_t i, const PackTask& in, float* tile, float* norms) {
  double square = 0;
  for (int64_t j = 0; j < in.d; ++j) {
    const double scale = in.scales == nullptr ? in.scale : in.scales[j];
    const double y = i < in.rows ? (static_cast<double>(x[i * in.d + j]) - in.centre[j]) * scale : 0;
    tile[j * P + i] = static_cast<float>(y);
    square += y * y;
  }
  norms[i] = norm_of_square(square);
}

#if HWY_TARGET == HWY_SCALAR

template <int P, class T>
void pack(const T* x, const PackTask& in, float* tile, float* norms) {
  for (int64_t i = 0; i < P; ++i) pack_row<P>(x, i, in, tile, norms);
}

#else

using VecN = hn::Vec<Narrow>;

// Rows become columns.
#if HWY_ARCH_ARM

HWY_INLINE void transpose(VecN (&block)[2]) {
  const VecN first = block[0];
  block[0] = hn::InterleaveLower(Narrow(), first, block[1]);
  block[1] = hn::InterleaveUpper(Narrow(), first, block[1]);
}

#else

HWY_INLINE void transpose(VecN (&block)[kWide]) {
  const hn::Repartition<double, Narrow> pairs;
  VecN two[kWide];
#pragma GCC unroll 8
  for (int i = 0; i < kWide; i += 2) {
    two[i] = hn::InterleaveLower(Narrow(), block[i], block[i + 1]);
    two[i + 1] = hn::InterleaveUpper(Narrow(), block[i], block[i + 1]);
  }
  VecN four[kWide];
#pragma GCC unroll 2
  for (int i = 0; i < kWide; i += 4) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const auto a = hn::BitCast(pairs, two[i + half]), b = hn::BitCast(pairs, two[i + half + 2]);
      four[i + 2 * half] = hn::BitCast(Narrow(), hn::InterleaveLower(pairs, a, b));
      four[i + 2 * half + 1] = hn::BitCast(Narrow(), hn::InterleaveUpper(pairs, a, b));
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    if constexpr (kWide == 8) {
      block[i] = hn::ConcatLowerLower(Narrow(), four[i + 4], four[i]);
      block[i + 4] = hn::ConcatUpperUpper(Narrow(), four[i + 4], four[i]);
    } else {
      block[i] = four[i];
    }
  }
}

#endif

// kWide rows from i on: kWide columns at a time are centred, scaled and rounded as they lie, then transposed.
template <int P, class T>
HWY_INLINE void pack_rows(const T* x, int64_t i, const PackTask& in, float* tile, float* norms) {
  VecD squares[kWide];
#pragma GCC unroll 8
  for (int r = 0; r < kWide; ++r) squares[r] = hn::Zero(kF64);
  for (int64_t j = 0; j < in.d; j += kWide) {
    const bool whole = j + kWide <= in.d;
    const auto count = static_cast<size_t>(whole ? kWide : in.d - j);
    const VecD centre = whole ? hn::LoadU(kF64, in.centre + j) : load_some(in.centre + j, count);
    const VecD scale = in.scales == nullptr ? hn::Set(kF64, in.scale) : load_some(in.scales + j, count);
    VecN block[kWide];
#pragma GCC unroll 8
    for (int r = 0; r < kWide; ++r) {
      const T* row = x + (i + r) * in.d + j;
      const VecD y = hn::Mul(hn::Sub(whole ? load_wide(row) : load_some(row, count), centre), scale);
      squares[r] = hn::MulAdd(y, y, squares[r]);
      block[r] = hn::DemoteTo(Narrow(), y);
    }
    transpose(block);
    float* to = tile + j * P + i;
#pragma GCC unroll 8
    for (int c = 0; c < kWide; ++c) {
      if (c < static_cast<int>(count)) hn::StoreU(block[c], Narrow(), to + c * P);
    }
  }
  for (int r = 0; r < kWide; ++r) norms[i + r] = norm_of_square(hn::GetLane(hn::SumOfLanes(kF64, squares[r])));
}

template <int P, class T>
void pack(const T* x, const PackTask& in, float* tile, float* norms) {
  static_assert(P % kWide == 0, "a tile is a whole number of blocks");
  int64_t i = 0;
  for (; i + kWide <= in.rows; i += kWide) pack_rows<P>(x, i, in, tile, norms);
  for (; i < P; ++i) pack_row<P>(x, i, in, tile, norms);
}

#endif

// The upper half of a float that was rounded to it, ties to even; v below 2^-100 gives 0.
HWY_INLINE uint32_t high_half(float v) {
  uint32_t bits;
  __builtin_memcpy(&bits, &v, sizeof bits);
  return __builtin_fabsf(v) < 0x1p-100F ? 0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

HWY_INLINE double half_value(uint32_t half) {
  const uint32_t bits = half << 16;
  float v;
  __builtin_memcpy(&v, &bits, sizeof v);
  return static_cast<double>(v);
}

constexpr double kMaxInteger = 32639;  // 256 * 127 + 127

// Each value from `from` on as the integer next to y / unit, cut off at kMaxInteger: 256 high + low, high from -127 to
// 127, low from -128 to 127.
template <class T>
HWY_INLINE void split_integers(const T* x, const PackTask& in, int64_t from, RoundedRow& out) {
  const double inverse = 1 / out.unit;
  for (int64_t j = from; j < in.d; ++j) {
    const double y = (static_cast<double>(x[j]) - in.centre[j]) * in.scale;
    double q = y * inverse;
    q = q < -kMaxInteger ? -kMaxInteger : (q > kMaxInteger ? kMaxInteger : q);
    const double integer = (q + kMagic) - kMagic;
    const auto bits = static_cast<int32_t>(integer);
    const int32_t high = (bits + 128) >> 8;
    out.high[j] = static_cast<uint16_t>(high);
    out.low[j] = static_cast<uint16_t>(bits - high * 256);
    const double rest = y - integer * out.unit;
    out.square += y * y;
    out.rest_square += rest * rest;
  }
}

template <class T>
HWY_INLINE void round_values(const T* x, const PackTask& in, int64_t from, RoundedRow& out) {
  for (int64_t j = from; j < in.d; ++j) {
    const double y = (static_cast<double>(x[j]) - in.centre[j]) * in.scale;
    const uint32_t high = high_half(static_cast<float>(y));
    double rest = y - half_value(high);
    const uint32_t low = out.pair ? high_half(static_cast<float>(rest)) : 0;
    rest -= half_value(low);
    out.high[j] = static_cast<uint16_t>(high);
    out.low[j] = static_cast<uint16_t>(low);
    out.square += y * y;
    out.rest_square += rest * rest;
  }
}

#if HWY_TARGET == HWY_SCALAR

template <class T>
int64_t pack_pairs(const T*, const PackTask&, const PairTile&) {
  return 0;
}

template <class T>
void round_row(const T* x, const PackTask& in, RoundedRow& out) {
  out.square = out.rest_square = 0;
  if (out.unit > 0) return split_integers(x, in, 0, out);
  round_values(x, in, 0, out);
}

#else

using NarrowU32 = hn::Rebind<uint32_t, F64>;
using NarrowU16 = hn::Rebind<uint16_t, F64>;

// Upper halves of a vector of values.
HWY_INLINE hn::Vec<NarrowU32> rounded_halves(VecD y) {
  const Narrow f32;
  const NarrowU32 u32;
  const auto v = hn::DemoteTo(f32, y);
  const auto bits = hn::BitCast(u32, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u32, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(u32, 0x7fff)), odd));
  const auto flushed = hn::RebindMask(u32, hn::Lt(hn::Abs(v), hn::Set(f32, 0x1p-100F)));
  return hn::IfThenZeroElse(flushed, rounded);
}

HWY_INLINE VecD values_of(hn::Vec<NarrowU32> halves) {
  return hn::PromoteTo(kF64, hn::BitCast(Narrow(), hn::ShiftLeft<16>(halves)));
}

// Returns the rounded part, and puts its upper half into `halves`.
HWY_INLINE VecD high_halves(VecD y, uint16_t* halves) {
  const auto half = rounded_halves(y);
  hn::StoreU(hn::TruncateTo(NarrowU16(), half), NarrowU16(), halves);
  return values_of(half);
}

// kWide values of a row from column j on; missing ones are 0.
template <class T>
HWY_INLINE VecD centred(const T* x, const PackTask& in, int64_t j) {
  const VecD scale = hn::Set(kF64, in.scale);
  if (j + kWide <= in.d) return hn::Mul(hn::Sub(load_wide(x + j), hn::LoadU(kF64, in.centre + j)), scale);
  if (j >= in.d) return hn::Zero(kF64);
  const auto some = static_cast<size_t>(in.d - j);
  return hn::Mul(hn::Sub(load_some(x + j, some), load_some(in.centre + j, some)), scale);
}

// kWide rows from i on: as many words of each row at a time are made as they lie, then transposed.
template <class T>
HWY_INLINE void pack_pair_rows(const T* x, int64_t i, const PackTask& in, const PairTile& out) {
  const hn::Repartition<uint16_t, Narrow> pairs;
  const int64_t words = (in.d + 1) / 2;
  uint32_t* rows = out.words + i / out.run * (out.run * out.lines) + i % out.run;
  VecD squares[kWide], rest_squares[kWide];
#pragma GCC unroll 8
  for (int r = 0; r < kWide; ++r) squares[r] = rest_squares[r] = hn::Zero(kF64);
  for (int64_t w = 0; w < words; w += kWide) {
    VecN block[kWide];
#pragma GCC unroll 8
    for (int r = 0; r < kWide; ++r) {
      hn::Vec<NarrowU16> halves[2];
      for (int part = 0; part < 2; ++part) {
        const int64_t j = 2 * w + part * kWide;
        const VecD y = centred(x + (i + r) * in.d, in, j);
        const auto half = rounded_halves(y);
        const VecD rest = hn::Sub(y, values_of(half));
        squares[r] = hn::MulAdd(y, y, squares[r]);
        rest_squares[r] = hn::MulAdd(rest, rest, rest_squares[r]);
        halves[part] = hn::TruncateTo(NarrowU16(), half);
      }
      block[r] = hn::BitCast(Narrow(), hn::Combine(pairs, halves[1], halves[0]));
    }
    transpose(block);
    // A block has 16 lines or all, so these words are in one.
    uint32_t* to = rows + w / out.lines * (out.tile_rows * out.lines) + w % out.lines * out.run;
    for (int c = 0; c < kWide && w + c < words; ++c) {
      hn::StoreU(hn::BitCast(NarrowU32(), block[c]), NarrowU32(), to + c * out.run);
    }
  }
  for (int r = 0; r < kWide; ++r) {
    out.squares[i + r] = hn::GetLane(hn::SumOfLanes(kF64, squares[r]));
    out.rest_squares[i + r] = hn::GetLane(hn::SumOfLanes(kF64, rest_squares[r]));
  }
}

template <class T>
int64_t pack_pairs(const T* x, const PackTask& in, const PairTile& out) {
  int64_t i = 0;
  for (; i + kWide <= in.rows; i += kWide) pack_pair_rows(x, i, in, out);
  return i;
}

HWY_INLINE void store_part(VecD part, uint16_t* to) {
  const hn::Rebind<int32_t, F64> i32;
  hn::StoreU(hn::TruncateTo(NarrowU16(), hn::BitCast(NarrowU32(), hn::DemoteTo(i32, part))), NarrowU16(), to);
}

template <class T>
HWY_INLINE void round_to_bytes(const T* x, const PackTask& in, RoundedRow& out) {
  const VecD inverse = hn::Set(kF64, 1 / out.unit), unit = hn::Set(kF64, out.unit), magic = hn::Set(kF64, kMagic);
  const VecD most = hn::Set(kF64, kMaxInteger);
  VecD square = hn::Zero(kF64), rest_square = hn::Zero(kF64);
  int64_t j = 0;
  for (; j + kWide <= in.d; j += kWide) {
    const VecD y = hn::Mul(hn::Sub(load_wide(x + j), hn::LoadU(kF64, in.centre + j)), hn::Set(kF64, in.scale));
    const VecD q = hn::Max(hn::Min(hn::Mul(y, inverse), most), hn::Neg(most));
    const VecD integer = hn::Sub(hn::Add(q, magic), magic);
    const VecD high = hn::Floor(hn::Mul(hn::Add(integer, hn::Set(kF64, 128)), hn::Set(kF64, 0x1p-8)));
    store_part(high, out.high + j);
    store_part(hn::NegMulAdd(high, hn::Set(kF64, 256), integer), out.low + j);
    const VecD rest = hn::NegMulAdd(integer, unit, y);
    square = hn::MulAdd(y, y, square);
    rest_square = hn::MulAdd(rest, rest, rest_square);
  }
  out.square = hn::GetLane(hn::SumOfLanes(kF64, square));
  out.rest_square = hn::GetLane(hn::SumOfLanes(kF64, rest_square));
  split_integers(x, in, j, out);
}

template <class T>
void round_row(const T* x, const PackTask& in, RoundedRow& out) {
  if (out.unit > 0) return round_to_bytes(x, in, out);
  VecD square = hn::Zero(kF64), rest_square = hn::Zero(kF64);
  int64_t j = 0;
  for (; j + kWide <= in.d; j += kWide) {
    const VecD y = hn::Mul(hn::Sub(load_wide(x + j), hn::LoadU(kF64, in.centre + j)), hn::Set(kF64, in.scale));
    VecD rest = hn::Sub(y, high_halves(y, out.high + j));
    if (out.pair) rest = hn::Sub(rest, high_halves(rest, out.low + j));
    square = hn::MulAdd(y, y, square);
    rest_square = hn::MulAdd(rest, rest, rest_square);
  }
  out.square = hn::GetLane(hn::SumOfLanes(kF64, square));
  out.rest_square = hn::GetLane(hn::SumOfLanes(kF64, rest_square));
  round_values(x, in, j, out);
}

#endif

}  // namespace
}  // namespace manymeans
