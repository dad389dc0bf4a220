// Kernels of the kd-tree, written once for Highway: include from kernels-inl.h only.
//
// Leaves hold a few dozen rows and see two to five candidates, so rows are lanes and candidates are broadcast. No sum
// is reduced across lanes, and the canonical order of addition is the order of eight registers. Bounding boxes see
// candidates as lanes. All is in binary64. A float32 screen of the boxes was as fast only for D > 8. It lost structure
// that is fine compared with its distance from the centre.
#pragma once

#include "backend/cpu/kernels/lane_kernels.h"
#include "backend/cpu/kernels/row_kernels-inl.h"

namespace manymeans {
namespace {

using Lanes = hn::ScalableTag<double>;
constexpr Lanes kLanes64;
constexpr int64_t kLaneStep = static_cast<int64_t>(hn::MaxLanes(kLanes64));

// Squared distances of all candidates to the middle of the box; returns the position of the least.
HWY_INLINE int64_t middle_distances(const LaneCandidates& in, const LaneBox& box, double* squares) {
  auto least = hn::Set(kLanes64, HUGE_VAL);
  for (int64_t c = 0; c < in.count; c += kLaneStep) {
    auto sum = hn::Zero(kLanes64);
    for (int64_t j = 0; j < box.d; ++j) {
      const auto b = hn::Sub(hn::Set(kLanes64, box.middle[j]), hn::LoadU(kLanes64, in.values + j * in.stride + c));
      sum = hn::MulAdd(b, b, sum);
    }
    const int64_t left = in.count - c;
    if (left < kLaneStep) {
      const auto exists = hn::FirstN(kLanes64, static_cast<size_t>(left));
      sum = hn::IfThenElse(exists, sum, hn::Set(kLanes64, HUGE_VAL));
    }
    hn::StoreU(sum, kLanes64, squares + c);
    least = hn::Min(least, sum);
  }
  const auto everywhere = hn::MinOfLanes(kLanes64, least);
  for (int64_t c = 0; c < in.count; c += kLaneStep) {
    const intptr_t at = hn::FindFirstTrue(kLanes64, hn::Eq(hn::LoadU(kLanes64, squares + c), everywhere));
    if (at >= 0) return c + at;
  }
  return 0;
}

// The part of a comparison that depends on the nearest candidate only.
HWY_INLINE double fixed_bound(const PruneBound& bound, const LaneBox& box, double q) {
  return bound.scale * (bound.relative * q + bound.canonical * (2.25 * q + 36 * box.half_square) + bound.underflow);
}

// The usual case near the leaves: less work than one vector.
HWY_INLINE Pruned prune_two(const LaneCandidates& in, const LaneBox& box, const PruneBound& bound, uint8_t* keep) {
  double first = 0, second = 0, reach = 0;
  for (int64_t j = 0; j < box.d; ++j) {
    const double a = in.values[j * in.stride], b = in.values[j * in.stride + 1];
    const double to_a = box.middle[j] - a, to_b = box.middle[j] - b;
    first += to_a * to_a;
    second += to_b * to_b;
    reach += box.half[j] * __builtin_fabs(a - b);
  }
  const bool swapped = second < first;
  const double q = swapped ? second : first;
  const double square = swapped ? first : second;
  const double needed =
      bound.scale * (2 * (1 + bound.relative) * reach + bound.relative * square) + fixed_bound(bound, box, q);
  if (square - q > needed) return {1, swapped ? 1 : 0};
  for (int64_t c = 0; c < 2; c += kLaneStep) keep[c / kLaneStep] = kLaneStep == 1 ? 1 : 3;
  return {2, swapped ? 1 : 0};
}

// Candidate k falls out if q_k - q_z > 2 t + relative (q_k + q_z + 2 t) + canonical slack. Candidate z is the nearest
// to the middle, q are squared distances to the middle, and t = sum half_j |z_j - k_j|; NaN stays.
Pruned prune(const LaneCandidates& in, const LaneBox& box, const PruneBound& bound, double* squares, uint8_t* keep) {
  if (in.count == 2) return prune_two(in, box, bound, keep);
  const int64_t z = middle_distances(in, box, squares);
  const auto least = hn::Set(kLanes64, squares[z]);
  const auto rest = hn::Set(kLanes64, fixed_bound(bound, box, squares[z]));
  const auto of_square = hn::Set(kLanes64, bound.scale * bound.relative);
  const auto of_reach = hn::Set(kLanes64, bound.scale * 2 * (1 + bound.relative));
  Pruned result{0, z};
  for (int64_t c = 0; c < in.count; c += kLaneStep) {
    auto reach = hn::Zero(kLanes64);
    for (int64_t j = 0; j < box.d; ++j) {
      const double* values = in.values + j * in.stride;
      const auto u = hn::Abs(hn::Sub(hn::Set(kLanes64, values[z]), hn::LoadU(kLanes64, values + c)));
      reach = hn::MulAdd(hn::Set(kLanes64, box.half[j]), u, reach);
    }
    const auto square = hn::LoadU(kLanes64, squares + c);
    const auto needed = hn::MulAdd(of_reach, reach, hn::MulAdd(of_square, square, rest));
    const auto farther = hn::Gt(hn::Sub(square, least), needed);
    uint8_t bits[8] = {};
    hn::StoreMaskBits(kLanes64, farther, bits);
    const int64_t left = in.count - c;
    const unsigned lanes = left < kLaneStep ? (1U << left) - 1 : (1U << kLaneStep) - 1;
    const unsigned kept = ~static_cast<unsigned>(bits[0]) & lanes;
    keep[c / kLaneStep] = static_cast<uint8_t>(kept);
    result.count += __builtin_popcount(kept);
  }
  return result;
}

void copy_kept(const LaneCandidates& in, int64_t d, const uint8_t* keep, const KeptCandidates& to) {
  int64_t at = 0;
  for (int64_t c = 0; c < in.count; c += kLaneStep) {
    const unsigned kept = keep[c / kLaneStep];
    if (kept == 0) continue;
    const uint8_t bits[8] = {static_cast<uint8_t>(kept)};
    const auto mask = hn::LoadMaskBits(kLanes64, bits);
    for (int64_t j = 0; j < d; ++j) {
      hn::CompressBlendedStore(hn::LoadU(kLanes64, in.values + j * in.stride + c), mask, kLanes64,
                               to.values + j * to.stride + at);
    }
    for (unsigned rest = kept; rest != 0; rest &= rest - 1) to.ids[at++] = in.ids[c + __builtin_ctz(rest)];
  }
}

#if HWY_TARGET == HWY_SCALAR

template <class T>
void nearest_rows(const LaneRows<T>& in, const LaneCandidates& candidates, uint32_t* labels) {
  for (int64_t i = 0; i < in.rows; ++i) {
    double least = 0;
    for (int64_t c = 0; c < candidates.count; ++c) {
      double p[8] = {};
      for (int64_t j = 0; j < in.d; ++j) {
        const double t = static_cast<double>(in.values[j * in.rows + i]) - candidates.values[j * candidates.stride + c];
        p[j % 8] = j < 8 ? t * t : std::fma(t, t, p[j % 8]);
      }
      const double d2 = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
      if (c == 0 || d2 < least) {
        least = d2;
        labels[i] = candidates.ids[c];
      }
    }
  }
}

template <class T>
void row_distances(const LaneRows<T>& in, const double* prototype, double* squares) {
  for (int64_t i = 0; i < in.rows; ++i) {
    double p[8] = {};
    for (int64_t j = 0; j < in.d; ++j) {
      const double t = static_cast<double>(in.values[j * in.rows + i]) - prototype[j];
      p[j % 8] = j < 8 ? t * t : std::fma(t, t, p[j % 8]);
    }
    squares[i] = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
  }
}

template <class T>
void add_rows(const LaneRows<T>& in, const double* weights, const LaneTerms& terms) {
  for (int64_t j = 0; j < in.d; ++j) {
    for (int64_t i = 0; i < in.rows; ++i) {
      double y = (weights == nullptr ? 1.0 : weights[i]) * static_cast<double>(in.values[j * in.rows + i]);
      y *= terms.top[j];
      for (int g = terms.limbs - 1; g >= 0; --g) {
        const double part = (y + kMagic) - kMagic;
        terms.to[g * in.d + j] += static_cast<int64_t>(part);
        y = (y - part) * terms.radix;
      }
    }
  }
}

#else

using LaneIds = hn::FixedTag<uint64_t, kWide>;
using LaneLabels = hn::FixedTag<uint32_t, kWide>;

// ((p0 + p4) + (p2 + p6)) + ((p1 + p5) + (p3 + p7)) of the first L, the others being zero.
template <int L>
HWY_INLINE VecD fold(const VecD* p) {
  VecD even = p[0];
  if constexpr (L > 4) even = hn::Add(p[0], p[4]);
  if constexpr (L > 6) {
    even = hn::Add(even, hn::Add(p[2], p[6]));
  } else if constexpr (L > 2) {
    even = hn::Add(even, p[2]);
  }
  if constexpr (L < 2) {
    return even;
  } else {
    VecD odd = p[1];
    if constexpr (L > 5) odd = hn::Add(p[1], p[5]);
    if constexpr (L > 7) {
      odd = hn::Add(odd, hn::Add(p[3], p[7]));
    } else if constexpr (L > 3) {
      odd = hn::Add(odd, p[3]);
    }
    return hn::Add(even, odd);
  }
}

// Canonical distances of kWide rows, x being the first eight columns (all of them for d <= 8), to one candidate.
template <int L, class T>
HWY_INLINE VecD lane_distances(const LaneRows<T>& in, int64_t i, const VecD* x, const double* c, int64_t stride) {
  VecD p[L];
#pragma GCC unroll 8
  for (int l = 0; l < L; ++l) {
    const VecD t = hn::Sub(x[l], hn::Set(kF64, c[l * stride]));
    p[l] = hn::Mul(t, t);  // fma(t, t, 0)
  }
  if constexpr (L == 8) {
    for (int64_t j = 8; j < in.d; j += 8) {
#pragma GCC unroll 8
      for (int l = 0; l < 8; ++l) {
        if (j + l >= in.d) break;
        const VecD t = hn::Sub(load_wide(in.values + (j + l) * in.rows + i), hn::Set(kF64, c[(j + l) * stride]));
        p[l] = hn::MulAdd(t, t, p[l]);
      }
    }
  }
  return fold<L>(p);
}

template <int L, class T>
void nearest_of(const LaneRows<T>& in, const LaneCandidates& candidates, uint32_t* labels) {
  const LaneIds ids;
  for (int64_t i = 0; i < in.rows; i += kWide) {
    VecD x[L];
#pragma GCC unroll 8
    for (int l = 0; l < L; ++l) x[l] = load_wide(in.values + l * in.rows + i);
    VecD least = lane_distances<L>(in, i, x, candidates.values, candidates.stride);
    auto best = hn::Set(ids, candidates.ids[0]);
    for (int64_t c = 1; c < candidates.count; ++c) {
      const VecD d2 = lane_distances<L>(in, i, x, candidates.values + c, candidates.stride);
      const auto nearer = hn::Lt(d2, least);
      least = hn::IfThenElse(nearer, d2, least);
      best = hn::IfThenElse(hn::RebindMask(ids, nearer), hn::Set(ids, candidates.ids[c]), best);
    }
    hn::StoreU(hn::TruncateTo(LaneLabels(), best), LaneLabels(), labels + i);
  }
}

template <int L, class T>
void distances_of(const LaneRows<T>& in, const double* prototype, double* squares) {
  for (int64_t i = 0; i < in.rows; i += kWide) {
    VecD x[L];
#pragma GCC unroll 8
    for (int l = 0; l < L; ++l) x[l] = load_wide(in.values + l * in.rows + i);
    hn::StoreU(lane_distances<L>(in, i, x, prototype, 1), kF64, squares + i);
  }
}

// Calls use<number of columns, at most 8>.
#define MANYMEANS_WITH_COLUMNS(use, d, ...) \
  switch (d) {                              \
    case 1: return use<1>(__VA_ARGS__);     \
    case 2: return use<2>(__VA_ARGS__);     \
    case 3: return use<3>(__VA_ARGS__);     \
    case 4: return use<4>(__VA_ARGS__);     \
    case 5: return use<5>(__VA_ARGS__);     \
    case 6: return use<6>(__VA_ARGS__);     \
    case 7: return use<7>(__VA_ARGS__);     \
    default: return use<8>(__VA_ARGS__);    \
  }

template <class T>
void nearest_rows(const LaneRows<T>& in, const LaneCandidates& candidates, uint32_t* labels) {
  MANYMEANS_WITH_COLUMNS(nearest_of, in.d, in, candidates, labels)
}

template <class T>
void row_distances(const LaneRows<T>& in, const double* prototype, double* squares) {
  MANYMEANS_WITH_COLUMNS(distances_of, in.d, in, prototype, squares)
}

#undef MANYMEANS_WITH_COLUMNS

template <class T>
void add_rows(const LaneRows<T>& in, const double* weights, const LaneTerms& terms) {
  const hn::FixedTag<int64_t, kWide> i64;
  const VecD magic = hn::Set(kF64, kMagic);
  const VecD radix = hn::Set(kF64, terms.radix);
  for (int64_t j = 0; j < in.d; ++j) {
    auto s0 = hn::Zero(i64), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0;
    const VecD top = hn::Set(kF64, terms.top[j]);
    for (int64_t i = 0; i < in.rows; i += kWide) {
      const int64_t left = in.rows - i;
      const auto count = static_cast<size_t>(left < kWide ? left : kWide);
      VecD y = load_some(in.values + j * in.rows + i, count);  // zeros past the end
      if (weights != nullptr) y = hn::Mul(load_some(weights + i, count), y);
      y = hn::Mul(y, top);
      const auto part = [&](auto& sum) {
        const VecD shifted = hn::Add(y, magic);
        sum = hn::Add(sum, hn::Sub(hn::BitCast(i64, shifted), hn::BitCast(i64, magic)));
        y = hn::Mul(hn::Sub(y, hn::Sub(shifted, magic)), radix);
      };
      if (terms.limbs > 5) part(s5);
      if (terms.limbs > 4) part(s4);
      if (terms.limbs > 3) part(s3);
      if (terms.limbs > 2) part(s2);
      if (terms.limbs > 1) part(s1);
      part(s0);
    }
    const auto store = [&](int g, const auto& sum) {
      if (g < terms.limbs) terms.to[g * in.d + j] += hn::GetLane(hn::SumOfLanes(i64, sum));
    };
    store(0, s0);
    store(1, s1);
    store(2, s2);
    store(3, s3);
    store(4, s4);
    store(5, s5);
  }
}

#endif

constexpr LaneKernels lane_kernels() {
  return {prune,
          copy_kept,
          nearest_rows<float>,
          nearest_rows<double>,
          row_distances<float>,
          row_distances<double>,
          add_rows<float>,
          add_rows<double>};
}

}  // namespace
}  // namespace manymeans
