// Canonical distances of rows to panels of prototypes, written once for Highway: include from kernels-inl.h only.
//
//   d2(x, c) = ((p0 + p4) + (p2 + p6)) + ((p1 + p5) + (p3 + p7)),  p_l = sum of (x_j - c_j)^2 over j = l mod 8,
//
// every operation in binary64 and in that order. Prototypes are lanes, and a value of a row is broadcast. No sum is
// reduced across lanes, and roots are stored as they lie. Of more than eight columns one p_l is summed after the other:
// R rows x V vectors of prototypes are R V chains of multiply-adds, which hide their latency; V loads and R broadcasts
// serve all of them. Eight p_l at a time would leave registers for one row and vector, and load for every multiply-add.
// The bound is one subtraction and one multiply-add a value. Columns as lanes would cost a reduction for each distance,
// which is as much as the distance of 20 columns.
#pragma once

#include "backend/cpu/kernels/lanes-inl.h"
#include "backend/cpu/kernels/panel_kernels.h"

namespace manymeans {
namespace {

#if HWY_TARGET == HWY_SCALAR

constexpr double kMaxMagnitude = 0x1p500;

bool acceptable(const float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(x[i])) return false;
  }
  return true;
}
bool acceptable(const double* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (!(std::fabs(x[i]) <= kMaxMagnitude)) return false;
  }
  return true;
}

void widen_values(const float* x, int64_t count, double* wide) {
  for (int64_t i = 0; i < count; ++i) wide[i] = x[i];
}

double panel_square(const double* x, const PrototypePanels& in, int64_t k) {
  const double* c = in.values + k / kPanelPrototypes * in.d * kPanelPrototypes + k % kPanelPrototypes;
  double p[8] = {};
  for (int64_t j = 0; j < in.d; ++j) {
    const double t = x[j] - c[j * kPanelPrototypes];
    p[j % 8] = j < 8 ? t * t : std::fma(t, t, p[j % 8]);
  }
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

void nearest_in_panels(const double* x, int64_t rows, const PrototypePanels& in, uint32_t* labels, double* d2) {
  for (int64_t i = 0; i < rows; ++i) {
    d2[i] = HUGE_VAL;
    for (int64_t k = 0; k < in.k; ++k) {
      const double square = panel_square(x + i * in.d, in, k);
      if (square < d2[i]) {
        d2[i] = square;
        labels[i] = static_cast<uint32_t>(k);
      }
    }
  }
}

template <class T>
void panel_distances(const double* x, int64_t rows, const PrototypePanels& in, T* out) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < in.k; ++k) {
      out[i * in.k + k] = static_cast<T>(std::sqrt(panel_square(x + i * in.d, in, k)));
    }
  }
}

#else

// The largest magnitude, as an integer of its bits: NaN and infinity have larger bits than every number.
template <class T, class Bits>
HWY_INLINE Bits max_bits(const T* x, int64_t count, Bits magnitude) {
  const hn::ScalableTag<Bits> tag;
  const auto step = static_cast<int64_t>(hn::Lanes(tag));
  const auto mask = hn::Set(tag, magnitude);
  const auto* bits = reinterpret_cast<const Bits*>(x);
  auto most = hn::Zero(tag), other = most;
  int64_t i = 0;
  for (; i + 2 * step <= count; i += 2 * step) {
    most = hn::Max(most, hn::And(hn::LoadU(tag, bits + i), mask));
    other = hn::Max(other, hn::And(hn::LoadU(tag, bits + i + step), mask));
  }
  most = hn::Max(most, other);
  for (; i < count; i += step) {
    const auto left = static_cast<size_t>(count - i < step ? count - i : step);
    most = hn::Max(most, hn::And(masked_load(hn::FirstN(tag, left), tag, bits + i), mask));
  }
  return hn::GetLane(hn::MaxOfLanes(tag, most));
}

bool acceptable(const float* x, int64_t count) {
  return max_bits<float, uint32_t>(x, count, 0x7fffffff) < 0x7f800000;
}
bool acceptable(const double* x, int64_t count) {
  return max_bits<double, uint64_t>(x, count, ~uint64_t{0} >> 1) <= uint64_t{1023 + 500} << 52;  // 2^500
}

void widen_values(const float* x, int64_t count, double* wide) {
  int64_t i = 0;
  for (; i + kWide <= count; i += kWide) hn::StoreU(load_wide(x + i), kF64, wide + i);
  for (; i < count; ++i) wide[i] = x[i];
}

// p_l of R rows and V vectors of prototypes.
template <int R, int V>
HWY_INLINE void panel_lane(const double* x, int64_t d, const double* panel, int64_t l, VecD (&sums)[R * V]) {
#pragma GCC unroll 16
  for (int i = 0; i < R * V; ++i) sums[i] = hn::Zero(kF64);
  for (int64_t j = l; j < d; j += 8) {
    const double* c = panel + j * kPanelPrototypes;
    VecD columns[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) columns[v] = hn::LoadU(kF64, c + v * kWide);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const VecD value = hn::Set(kF64, x[r * d + j]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const VecD t = hn::Sub(value, columns[v]);
        sums[r * V + v] = hn::MulAdd(t, t, sums[r * V + v]);
      }
    }
  }
}

// Squares of R rows and V vectors, of more than eight columns: row r, vector v at (r * V + v) * kWide.
template <int R, int V>
HWY_INLINE void long_squares(const double* x, int64_t d, const double* panel, double* squares) {
  constexpr int64_t kPairs[4] = {0, 2, 1, 3};  // l, to which l + 4 belongs
  HWY_ALIGN double pairs[4][R * V * kWide];
  VecD sums[R * V];
  for (int pair = 0; pair < 4; ++pair) {
    panel_lane<R, V>(x, d, panel, kPairs[pair], sums);
#pragma GCC unroll 16
    for (int i = 0; i < R * V; ++i) hn::Store(sums[i], kF64, pairs[pair] + i * kWide);
    panel_lane<R, V>(x, d, panel, kPairs[pair] + 4, sums);
#pragma GCC unroll 16
    for (int i = 0; i < R * V; ++i) {
      hn::Store(hn::Add(hn::Load(kF64, pairs[pair] + i * kWide), sums[i]), kF64, pairs[pair] + i * kWide);
    }
  }
  for (int i = 0; i < R * V * kWide; i += kWide) {
    const VecD even = hn::Add(hn::Load(kF64, pairs[0] + i), hn::Load(kF64, pairs[1] + i));
    const VecD odd = hn::Add(hn::Load(kF64, pairs[2] + i), hn::Load(kF64, pairs[3] + i));
    hn::Store(hn::Add(even, odd), kF64, squares + i);
  }
}

// Squares of L columns, at most eight: a p_l is one square.
template <int L, int R, int V>
HWY_INLINE void short_squares(const double* x, const double* panel, double* squares) {
  for (int v = 0; v < V; ++v) {
    VecD columns[L];
#pragma GCC unroll 8
    for (int l = 0; l < L; ++l) columns[l] = hn::LoadU(kF64, panel + l * kPanelPrototypes + v * kWide);
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
      VecD p[L];
#pragma GCC unroll 8
      for (int l = 0; l < L; ++l) {
        const VecD t = hn::Sub(hn::Set(kF64, x[r * L + l]), columns[l]);
        p[l] = hn::Mul(t, t);  // fma(t, t, 0)
      }
      hn::Store(fold<L>(p), kF64, squares + (r * V + v) * kWide);
    }
  }
}

template <int R, int V>
HWY_INLINE void panel_squares(const double* x, int64_t d, const double* panel, double* squares) {
  switch (d) {
    case 1: return short_squares<1, R, V>(x, panel, squares);
    case 2: return short_squares<2, R, V>(x, panel, squares);
    case 3: return short_squares<3, R, V>(x, panel, squares);
    case 4: return short_squares<4, R, V>(x, panel, squares);
    case 5: return short_squares<5, R, V>(x, panel, squares);
    case 6: return short_squares<6, R, V>(x, panel, squares);
    case 7: return short_squares<7, R, V>(x, panel, squares);
    case 8: return short_squares<8, R, V>(x, panel, squares);
    default: return long_squares<R, V>(x, d, panel, squares);
  }
}

// The prototypes that V vectors hold of one panel, and where they begin.
struct PanelPart {
  const double* values;
  int64_t first;
  int vectors;
};

// Calls use(row, first prototype, vectors, squares) for every row and V vectors of prototypes.
template <int R, int V, class Use>
HWY_INLINE void for_each_row_of_part(const double* x, int64_t rows, int64_t d, const PanelPart& part, Use&& use) {
  HWY_ALIGN double squares[R * V * kWide];
  int64_t i = 0;
  for (; i + R <= rows; i += R) {
    panel_squares<R, V>(x + i * d, d, part.values, squares);
    for (int r = 0; r < R; ++r) use(i + r, part.first, V, squares + r * V * kWide);
  }
  for (; i < rows; ++i) {
    panel_squares<1, V>(x + i * d, d, part.values, squares);
    use(i, part.first, V, squares);
  }
}

// Panels are the outer loop: one stays in the first cache while the rows, which stay in the second, go by.
template <class Use>
HWY_INLINE void for_each_square(const double* x, int64_t rows, const PrototypePanels& in, Use&& use) {
  constexpr int kMaxVectors = kManyRegisters ? 4 : 2;
  for (int64_t first = 0; first < in.k; first += kMaxVectors * kWide) {
    const int64_t panel = first / kPanelPrototypes;
    const double* values = in.values + panel * in.d * kPanelPrototypes + first % kPanelPrototypes;
    const int64_t left = (in.k - first + kWide - 1) / kWide;
    const PanelPart part{values, first, static_cast<int>(left < kMaxVectors ? left : kMaxVectors)};
    switch (part.vectors) {
      case 1: for_each_row_of_part<8, 1>(x, rows, in.d, part, use); break;
      case 2: for_each_row_of_part<kManyRegisters ? 8 : 4, 2>(x, rows, in.d, part, use); break;
      case 3: for_each_row_of_part<4, 3>(x, rows, in.d, part, use); break;
      default: for_each_row_of_part<4, 4>(x, rows, in.d, part, use); break;
    }
  }
}

void nearest_in_panels(const double* x, int64_t rows, const PrototypePanels& in, uint32_t* labels, double* d2) {
  HWY_ALIGN double least[kPanelRows * kWide];
  HWY_ALIGN double nearest[kPanelRows * kWide];  // numbers of prototypes
  for (int64_t i = 0; i < rows; ++i) {
    hn::Store(hn::Set(kF64, HUGE_VAL), kF64, least + i * kWide);
    hn::Store(hn::Zero(kF64), kF64, nearest + i * kWide);
  }
  for_each_square(x, rows, in, [&](int64_t row, int64_t first, int vectors, const double* squares) HWY_ATTR {
    VecD smallest = hn::Load(kF64, least + row * kWide);
    VecD best = hn::Load(kF64, nearest + row * kWide);
    for (int v = 0; v < vectors; ++v) {
      const VecD square = hn::Load(kF64, squares + v * kWide);
      const auto nearer = hn::Lt(square, smallest);
      smallest = hn::IfThenElse(nearer, square, smallest);
      best = hn::IfThenElse(nearer, hn::Set(kF64, static_cast<double>(first + v * kWide)), best);
    }
    hn::Store(smallest, kF64, least + row * kWide);
    hn::Store(best, kF64, nearest + row * kWide);
  });
  for (int64_t i = 0; i < rows; ++i) {
    const VecD smallest = hn::Load(kF64, least + i * kWide);
    const VecD everywhere = hn::MinOfLanes(kF64, smallest);
    const VecD number = hn::Add(hn::Load(kF64, nearest + i * kWide), hn::Iota(kF64, 0));
    const VecD lowest = hn::IfThenElse(hn::Eq(smallest, everywhere), number, hn::Set(kF64, HUGE_VAL));
    labels[i] = static_cast<uint32_t>(hn::GetLane(hn::MinOfLanes(kF64, lowest)));
    d2[i] = hn::GetLane(everywhere);
  }
}

HWY_INLINE void store_some(VecD value, size_t count, double* to) {
  masked_store(value, hn::FirstN(kF64, count), kF64, to);
}
HWY_INLINE void store_some(VecD value, size_t count, float* to) {
  masked_store(hn::DemoteTo(Narrow(), value), hn::FirstN(Narrow(), count), Narrow(), to);
}
HWY_INLINE void store_whole(VecD value, double* to) {
  hn::StoreU(value, kF64, to);
}
HWY_INLINE void store_whole(VecD value, float* to) {
  hn::StoreU(hn::DemoteTo(Narrow(), value), Narrow(), to);
}

template <class T>
void panel_distances(const double* x, int64_t rows, const PrototypePanels& in, T* out) {
  for_each_square(x, rows, in, [&](int64_t row, int64_t first, int vectors, const double* squares) HWY_ATTR {
    T* to = out + row * in.k + first;
    const int64_t left = in.k - first;
    for (int v = 0; v < vectors; ++v) {
      const VecD root = hn::Sqrt(hn::Load(kF64, squares + v * kWide));
      if (left >= (v + 1) * kWide) {
        store_whole(root, to + v * kWide);
      } else {
        store_some(root, static_cast<size_t>(left - v * kWide), to + v * kWide);
      }
    }
  });
}

#endif

constexpr PanelKernels panel_kernels() {
  return {static_cast<bool (*)(const float*, int64_t)>(acceptable),
          static_cast<bool (*)(const double*, int64_t)>(acceptable),
          widen_values,
          nearest_in_panels,
          panel_distances<float>,
          panel_distances<double>};
}

}  // namespace
}  // namespace manymeans
