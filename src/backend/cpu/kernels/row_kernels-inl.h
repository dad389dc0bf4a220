// The kernels per row that are no screen: canonical distances and order-free terms. Like kernels-inl.h, which includes
// this file: written once for Highway, compiled once per instruction set, everything in an anonymous namespace.
#pragma once

#include "backend/cpu/kernels/every_target-inl.h"
#include "backend/cpu/kernels/kernels.h"
#include "core/distance.h"

#include <hwy/highway.h>

#include <cmath>

namespace manymeans {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

// Without a fused multiply-add the canonical distance is the plain one: std::fma.
template <class T>
double distance(const T* x, const T* c, int64_t d) {
  return canonical_distance(x, c, d);
}

template <class T>
void distances(const LabelledRows<T>& in, double* d2) {
  for (int64_t i = 0; i < in.count; ++i) {
    d2[i] = canonical_distance(in.points + i * in.d, in.prototypes + in.labels[i] * in.d, in.d);
  }
}

#else

constexpr int kWide = static_cast<int>(hn::MaxLanes(hn::ScalableTag<double>()));  // 2, 4 or 8
constexpr bool kManyRegisters = HWY_TARGET != HWY_AVX2;                           // 32, not 16
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
  return hn::PromoteTo(kF64, masked_load(hn::FirstN(Narrow(), count), Narrow(), p));
}
HWY_INLINE VecD load_some(const double* p, size_t count) {
  return masked_load(hn::FirstN(kF64, count), kF64, p);
}

// ((p0 + p4) + (p2 + p6)) + ((p1 + p5) + (p3 + p7)): registers fold in halves.
using Pair = hn::FixedTag<double, 2>;

#if HWY_ARCH_ARM

HWY_INLINE hn::Vec<Pair> fold_to_pair(const VecD (&sums)[4]) {
  return hn::Add(hn::Add(sums[0], sums[2]), hn::Add(sums[1], sums[3]));
}

#else

template <int kRegisters>
HWY_INLINE hn::Vec<Pair> fold_to_pair(const VecD (&sums)[kRegisters]) {
  const hn::FixedTag<double, 4> four;
  hn::Vec<hn::FixedTag<double, 4> > half;
  if constexpr (kRegisters == 1) {
    half = hn::Add(hn::LowerHalf(four, sums[0]), hn::UpperHalf(four, sums[0]));
  } else {
    half = hn::Add(sums[0], sums[1]);
  }
  return hn::Add(hn::LowerHalf(Pair(), half), hn::UpperHalf(Pair(), half));
}

#endif

template <int kRegisters>
HWY_INLINE double fold_in_halves(const VecD (&sums)[kRegisters]) {
  const auto pair = fold_to_pair(sums);
  return hn::GetLane(hn::Add(pair, hn::Shuffle01(pair)));
}

// Lane l of the eight sums lives in lane l % kWide of register l / kWide; lanes past the end add fma(0, 0, p) = p.
template <class T>
HWY_INLINE double distance_inline(const T* x, const T* c, int64_t d) {
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
  return fold_in_halves(sums);
}

template <class T>
double distance(const T* x, const T* c, int64_t d) {
  return distance_inline(x, c, d);
}

// kWide rows of kD values, column by column.
template <int kD, class D, class V = hn::Vec<D> >
HWY_INLINE void load_columns(D tag, const hn::TFromD<D>* x, V (&columns)[kD]) {
  if constexpr (kD == 1) columns[0] = hn::LoadU(tag, x);
  if constexpr (kD == 2) hn::LoadInterleaved2(tag, x, columns[0], columns[1]);
  if constexpr (kD == 3) hn::LoadInterleaved3(tag, x, columns[0], columns[1], columns[2]);
  if constexpr (kD == 4) hn::LoadInterleaved4(tag, x, columns[0], columns[1], columns[2], columns[3]);
}

HWY_INLINE VecD wide(hn::Vec<Narrow> v) {
  return hn::PromoteTo(kF64, v);
}
HWY_INLINE VecD wide(VecD v) {
  return v;
}

// Rows as lanes, for at most four columns: then no sum has a second term. Returns how many rows were done.
template <int kD, class T>
HWY_INLINE int64_t lane_distances(const LabelledRows<T>& in, double* d2) {
  const hn::FixedTag<T, kWide> tag;
  const hn::RebindToSigned<decltype(tag)> index_tag;
  const hn::FixedTag<int32_t, kWide> i32;
  int64_t i = 0;
  for (; i + kWide <= in.count; i += kWide) {
    hn::Vec<decltype(tag)> x[kD];
    load_columns<kD>(tag, in.points + i * kD, x);
    const auto label = hn::LoadU(i32, reinterpret_cast<const int32_t*>(in.labels) + i);
    hn::Vec<decltype(index_tag)> first;
    const auto scaled = hn::Mul(label, hn::Set(i32, kD));
    if constexpr (sizeof(T) == 4) {
      first = scaled;
    } else {
      first = hn::PromoteTo(index_tag, scaled);
    }
    VecD square[4];
    for (int j = 0; j < 4; ++j) square[j] = hn::Zero(kF64);
    for (int j = 0; j < kD; ++j) {
      const auto c = hn::GatherIndex(tag, in.prototypes + j, first);
      const VecD t = hn::Sub(wide(x[j]), wide(c));
      square[j] = hn::Mul(t, t);
    }
    hn::StoreU(hn::Add(hn::Add(square[0], square[2]), hn::Add(square[1], square[3])), kF64, d2 + i);
  }
  return i;
}

template <class T>
void distances(const LabelledRows<T>& in, double* d2) {
  int64_t i = 0;
  if (in.k * in.d < int64_t{1} << 31) {  // what an index of a gather can be
    switch (in.d) {
      case 1: i = lane_distances<1>(in, d2); break;
      case 2: i = lane_distances<2>(in, d2); break;
      case 3: i = lane_distances<3>(in, d2); break;
      case 4: i = lane_distances<4>(in, d2); break;
      default: break;
    }
  }
  for (; i < in.count; ++i) {
    d2[i] = distance_inline(in.points + i * in.d, in.prototypes + in.labels[i] * in.d, in.d);
  }
}

#endif

// Adding 1.5 * 2^52 rounds a number below 2^51 to the nearest integer, ties to even, and leaves that integer in
// the low bits; the remainder is exact. Limbs may thus differ from add_term's, but the integer that they represent
// never does.
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

// Below every score, and a float. The square of a scale may be beyond binary64, so it is applied in two steps. A least
// distance that leaves float32 in scaled units makes every candidate possible.
constexpr double kLowestThreshold = -0x1p127;

#if HWY_TARGET == HWY_SCALAR

inline void seed_thresholds(const SeedThresholds& in) {
  for (int64_t i = 0; i < in.count; ++i) {
    const double norm = in.norms[i];
    const double least = in.least[i] * in.scale * in.scale;
    const double t = (norm * norm * (1 - 0x1p-18) - least * (1 + 0x1p-20)) * 0.5 - in.underflow;
    in.thresholds[i] = static_cast<float>(std::max(t - std::abs(t) * 0x1p-20, kLowestThreshold));
  }
}

inline uint64_t lower_least(const SeedFall& in) {
  uint64_t lower = 0;
  const auto add = [&](double v, double weight, int64_t sign) {
    double y = (in.counted ? v : weight * v) * in.top;
    const int64_t times = in.counted ? sign * static_cast<int64_t>(weight) : sign;
    for (int g = 2; g >= 0; --g) {
      const double part = (y + kMagic) - kMagic;
      in.limbs[g] += times * static_cast<int64_t>(part);
      y = (y - part) * in.radix;
    }
  };
  for (int64_t i = 0; i < in.count; ++i) {
    if (!(in.d2[i] < in.least[i])) continue;
    lower |= uint64_t{1} << i;
    const double weight = in.weights == nullptr ? 1 : in.weights[i];
    add(in.least[i], weight, -1);
    add(in.d2[i], weight, 1);
    if (in.keep) in.least[i] = in.d2[i];
  }
  return lower;
}

inline void add_distances(const DistanceTerms& in) {
  for (int64_t i = 0; i < in.count; ++i) {
    const double weight = in.weights == nullptr ? 1 : in.weights[i];
    if (weight > 0 && in.d2[i] > *in.farthest) *in.farthest = in.d2[i];
    for (int format = 0; format < 2; ++format) {
      double y = weight * in.d2[i] * (format == 0 ? in.top : in.top / 2);
      if (!(y < 0x1p51)) continue;  // too large for the format
      for (int g = 2; g >= 0; --g) {
        const double part = (y + kMagic) - kMagic;
        in.limbs[3 * format + g] += static_cast<uint64_t>(static_cast<int64_t>(part));
        y = (y - part) * in.radix;
      }
    }
  }
}

#else

inline void seed_thresholds(const SeedThresholds& in) {
  const VecD scale = hn::Set(kF64, in.scale);
  for (int64_t i = 0; i < in.count; i += kWide) {
    const auto lanes = static_cast<size_t>(in.count - i < kWide ? in.count - i : kWide);
    const VecD norm = load_some(in.norms + i, lanes);
    const VecD square = hn::Mul(hn::Mul(norm, norm), hn::Set(kF64, 1 - 0x1p-18));
    const VecD scaled = hn::Mul(hn::Mul(load_some(in.least + i, lanes), scale), scale);
    const VecD least = hn::Mul(scaled, hn::Set(kF64, 1 + 0x1p-20));
    const VecD half = hn::Mul(hn::Sub(square, least), hn::Set(kF64, 0.5));
    const VecD t = hn::Sub(half, hn::Set(kF64, in.underflow));
    const VecD exact = hn::Sub(t, hn::Mul(hn::Abs(t), hn::Set(kF64, 0x1p-20)));
    const VecD lower = max_or_second(exact, hn::Set(kF64, kLowestThreshold));
    masked_store(hn::DemoteTo(Narrow(), lower), hn::FirstN(Narrow(), lanes), Narrow(), in.thresholds + i);
  }
}

// The three limbs of T of a vector of v.
HWY_INLINE void split_term(VecD v, const SeedFall& in, hn::Vec<hn::FixedTag<int64_t, kWide> > (&parts)[3]) {
  const hn::FixedTag<int64_t, kWide> i64;
  const VecD magic = hn::Set(kF64, kMagic);
  VecD y = hn::Mul(v, hn::Set(kF64, in.top));
#pragma GCC unroll 3
  for (int g = 2; g >= 0; --g) {
    const VecD shifted = hn::Add(y, magic);
    parts[g] = hn::Sub(hn::BitCast(i64, shifted), hn::BitCast(i64, magic));
    y = hn::Mul(hn::Sub(y, hn::Sub(shifted, magic)), hn::Set(kF64, in.radix));
  }
}

inline uint64_t lower_least(const SeedFall& in) {
  const hn::FixedTag<int64_t, kWide> i64;
  const VecD one = hn::Set(kF64, 1);
  uint64_t lower = 0;
  auto s0 = hn::Zero(i64), s1 = s0, s2 = s0;
  for (int64_t i = 0; i < in.count; i += kWide) {
    const int64_t left = in.count - i;
    const auto rows = hn::FirstN(kF64, static_cast<size_t>(left < kWide ? left : kWide));
    const VecD d2 = masked_load(rows, kF64, in.d2 + i);
    const VecD least = masked_load(rows, kF64, in.least + i);
    const auto falls = hn::Lt(d2, least);  // in lanes past the end 0 < 0
    uint8_t bits[8] = {};
    hn::StoreMaskBits(kF64, falls, bits);
    if (bits[0] == 0) continue;
    lower |= static_cast<uint64_t>(bits[0]) << i;
    const VecD weight = in.weights == nullptr ? one : masked_load(rows, kF64, in.weights + i);
    const VecD factor = in.counted ? one : weight;
    hn::Vec<hn::FixedTag<int64_t, kWide> > now[3], before[3];
    split_term(hn::Mul(factor, d2), in, now);
    split_term(hn::Mul(factor, least), in, before);
    const auto magic = hn::Set(kF64, kMagic);
    const auto times = hn::Sub(hn::BitCast(i64, hn::Add(weight, magic)), hn::BitCast(i64, magic));
    const auto add = [&](auto& sum, int g) HWY_ATTR {
      auto change = hn::Sub(now[g], before[g]);
      if (in.counted) change = hn::Mul(change, times);
      sum = hn::Add(sum, hn::IfThenElseZero(hn::RebindMask(i64, falls), change));
    };
    add(s0, 0);
    add(s1, 1);
    add(s2, 2);
    if (in.keep) masked_store(d2, falls, kF64, in.least + i);
  }
  in.limbs[0] += hn::GetLane(hn::SumOfLanes(i64, s0));
  in.limbs[1] += hn::GetLane(hn::SumOfLanes(i64, s1));
  in.limbs[2] += hn::GetLane(hn::SumOfLanes(i64, s2));
  return lower;
}

inline void add_distances(const DistanceTerms& in) {
  const hn::FixedTag<int64_t, kWide> i64;
  const VecD magic = hn::Set(kF64, kMagic);
  const VecD radix = hn::Set(kF64, in.radix);
  const VecD top[2] = {hn::Set(kF64, in.top), hn::Set(kF64, in.top / 2)};
  VecD farthest = hn::Set(kF64, *in.farthest);
  hn::Vec<hn::FixedTag<int64_t, kWide> > sums[2][3];
  for (auto& format : sums) {
    for (auto& limb : format) limb = hn::Zero(i64);
  }
  for (int64_t i = 0; i < in.count; i += kWide) {
    const int64_t left = in.count - i;
    const auto lanes = hn::FirstN(kF64, static_cast<size_t>(left < kWide ? left : kWide));
    VecD d2 = masked_load(lanes, kF64, in.d2 + i);
    VecD term = d2;
    if (in.weights != nullptr) {
      const VecD weight = masked_load(lanes, kF64, in.weights + i);
      term = hn::Mul(weight, d2);
      d2 = hn::IfThenElseZero(hn::Gt(weight, hn::Zero(kF64)), d2);
    }
    farthest = hn::Max(farthest, d2);
#pragma GCC unroll 2
    for (int format = 0; format < 2; ++format) {
      VecD y = hn::Mul(term, top[format]);
#pragma GCC unroll 3
      for (int g = 2; g >= 0; --g) {
        const VecD shifted = hn::Add(y, magic);
        sums[format][g] = hn::Add(sums[format][g], hn::Sub(hn::BitCast(i64, shifted), hn::BitCast(i64, magic)));
        y = hn::Mul(hn::Sub(y, hn::Sub(shifted, magic)), radix);
      }
    }
  }
  *in.farthest = hn::GetLane(hn::MaxOfLanes(kF64, farthest));
  alignas(64) int64_t lanes[kWide];
  for (int limb = 0; limb < 6; ++limb) {
    hn::Store(sums[limb / 3][limb % 3], i64, lanes);
    for (const int64_t lane : lanes) in.limbs[limb] += static_cast<uint64_t>(lane);
  }
}

#endif

#if HWY_TARGET == HWY_SCALAR

template <class T>
void move_units(const T* x, const UnitSums& in, int64_t* to, int64_t* from) {
  for (int64_t j = 0; j < in.d; ++j) {
    const auto term = static_cast<int64_t>(static_cast<double>(x[j]) * in.units[j]);
    to[j] += term;
    if (from != nullptr) from[j] -= term;
  }
}

#else

// The integer that y is, |y| < 2^51 if narrow, else 2^56. In the latter case y is split into two narrow parts.
template <bool kNarrow>
HWY_INLINE hn::Vec<hn::FixedTag<int64_t, kWide> > integer_of(VecD y) {
  const hn::FixedTag<int64_t, kWide> i64;
  const VecD magic = hn::Set(kF64, kMagic);
  if constexpr (kNarrow) {
    return hn::Sub(hn::BitCast(i64, hn::Add(y, magic)), hn::BitCast(i64, magic));
  } else {
    const VecD shifted = hn::MulAdd(y, hn::Set(kF64, 0x1p-30), magic);  // the product is exact
    const VecD low = hn::NegMulAdd(hn::Sub(shifted, magic), hn::Set(kF64, 0x1p30), y);
    const auto high = hn::Sub(hn::BitCast(i64, shifted), hn::BitCast(i64, magic));
    return hn::Add(hn::ShiftLeft<30>(high), integer_of<true>(low));
  }
}

template <bool kNarrow, class T>
HWY_INLINE void move_units(const T* x, const UnitSums& in, int64_t* HWY_RESTRICT to, int64_t* HWY_RESTRICT from) {
  const hn::FixedTag<int64_t, kWide> i64;
  const auto move = [&](int64_t j, VecD value) HWY_ATTR {
    const auto term = integer_of<kNarrow>(hn::Mul(value, hn::Load(kF64, in.units + j)));
    hn::Store(hn::Add(hn::Load(i64, to + j), term), i64, to + j);
    if (from != nullptr) hn::Store(hn::Sub(hn::Load(i64, from + j), term), i64, from + j);
  };
  int64_t j = 0;
  for (; j + kWide <= in.d; j += kWide) move(j, load_wide(x + j));
  if (j < in.d) move(j, load_some(x + j, static_cast<size_t>(in.d - j)));
}

template <class T>
HWY_INLINE void move_units(const T* x, const UnitSums& in, int64_t* to, int64_t* from) {
  if (in.narrow) {
    move_units<true>(x, in, to, from);
  } else {
    move_units<false>(x, in, to, from);
  }
}

#endif

// Rows that change are far apart, so the hardware does not foresee them. Waiting for them was three quarters of the
// time of their sums (16 models of 200k x 16). Asking for the sums ahead too made it slower.
template <class T>
HWY_INLINE void prefetch_move(const T* points, const MovedRows& moved, const UnitSums& in, int64_t i) {
  constexpr int64_t kLine = 64;
  constexpr int64_t kMaxBytes = 8 * kLine;  // the hardware follows from there
  const auto touch = [](const void* from, int64_t bytes) {
    const char* first = static_cast<const char*>(from);
    for (int64_t at = 0; at < bytes && at < kMaxBytes; at += kLine) __builtin_prefetch(first + at);
  };
  touch(points + moved.rows[i] * in.d, in.d * static_cast<int64_t>(sizeof(T)));
}

template <class T>
int64_t move_rows(const T* points, const MovedRows& moved, const UnitSums& in) {
  constexpr int64_t kAhead = 12;  // rows; about what memory takes for one
  for (int64_t i = 0; i < moved.count; ++i) {
    if (i + kAhead < moved.count) prefetch_move(points, moved, in, i + kAhead);
    const uint32_t to = moved.to[i];
    const T* x = points + moved.rows[i] * in.d;
    if (in.terms[to] == in.max_terms) return i;
    if (moved.from == nullptr) {
      move_units(x, in, in.sums + to * in.stride, nullptr);
    } else {
      const uint32_t from = moved.from[i];
      if (in.terms[from] == in.max_terms) return i;
      move_units(x, in, in.sums + to * in.stride, in.sums + from * in.stride);
      ++in.terms[from];
      --in.counts[from];
    }
    ++in.terms[to];
    ++in.counts[to];
  }
  return moved.count;
}

}  // namespace
}  // namespace manymeans
