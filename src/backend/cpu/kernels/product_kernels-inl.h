// Kernels of matrix products, written once for Highway: include from kernels-inl.h only.
//
// Columns are lanes, a value of a row is broadcast: R rows x V vectors are R V chains of multiply-adds, which hide
// their latency, and V loads and R broadcasts serve all of them. The bound is the multiply-adds alone.
#pragma once

#include "backend/cpu/kernels/product_kernels.h"

#include <hwy/highway.h>

#include <cstdint>

namespace manymeans {
namespace {

using ProductTag = hn::ScalableTag<double>;
using ProductVec = hn::Vec<ProductTag>;
constexpr ProductTag kProductTag;
constexpr hn::Rebind<float, ProductTag> kProductFloats;
constexpr int kProductLanes = static_cast<int>(hn::MaxLanes(kProductTag));

template <int R, int V>
void add_products(const double* a, const double* b, int64_t depth, double* sums, const ProductAhead& ahead) {
  ProductVec tile[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) tile[r][v] = hn::Zero(kProductTag);
  }
  const char* soon = reinterpret_cast<const char*>(ahead.first);
  for (int64_t l = 0; l < depth; ++l, soon += ahead.step) {
    constexpr int kRead = 0, kSecondCache = 2;
    __builtin_prefetch(soon, kRead, kSecondCache);
    ProductVec values[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) values[v] = hn::Load(kProductTag, b + (l * V + v) * kProductLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const ProductVec x = hn::Set(kProductTag, a[l * R + r]);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) tile[r][v] = hn::MulAdd(x, values[v], tile[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      double* at = sums + (r * V + v) * kProductLanes;
      hn::Store(hn::Add(hn::Load(kProductTag, at), tile[r][v]), kProductTag, at);
    }
  }
}

// The weight of the lowest bit that is set; infinite for zero.
HWY_INLINE ProductVec lowest_bit_of(ProductVec magnitude) {
  const hn::RebindToUnsigned<ProductTag> words;
  const auto bits = hn::BitCast(words, magnitude);
  const auto others = hn::And(bits, hn::Sub(bits, hn::Set(words, 1)));  // without the lowest bit
  const auto no_mantissa = hn::Eq(hn::And(bits, hn::Set(words, 0xfffffffffffff)), hn::Zero(words));
  const ProductVec rest =
      hn::IfThenZeroElse(hn::RebindMask(kProductTag, no_mantissa), hn::BitCast(kProductTag, others));
  const ProductVec lowest = hn::Sub(magnitude, rest);
  return hn::IfThenElse(hn::Eq(lowest, hn::Zero(kProductTag)), hn::Set(kProductTag, HUGE_VAL), lowest);
}

template <int N>
void measure_lines(const double* panel, int64_t depth, const LineMeasures& to) {
  for (int n = 0; n < N; ++n) {
    const int first = n * kProductLanes;
    auto largest = hn::LoadU(kProductTag, to.largest + first), squares = hn::LoadU(kProductTag, to.squares + first);
    auto lowest = hn::LoadU(kProductTag, to.lowest + first), special = hn::LoadU(kProductTag, to.special + first);
    for (int64_t l = 0; l < depth; ++l) {
      const ProductVec x = hn::Load(kProductTag, panel + (l * N + n) * kProductLanes);
      const ProductVec magnitude = hn::Abs(x);
      largest = hn::Max(largest, magnitude);
      squares = hn::MulAdd(x, x, squares);
      lowest = hn::Min(lowest, lowest_bit_of(magnitude));
      special = hn::MulAdd(x, hn::Zero(kProductTag), special);
    }
    hn::StoreU(largest, kProductTag, to.largest + first);
    hn::StoreU(squares, kProductTag, to.squares + first);
    hn::StoreU(lowest, kProductTag, to.lowest + first);
    hn::StoreU(special, kProductTag, to.special + first);
  }
}

template <int N>
void slice_lines(const double* panel, int64_t depth, const ProductSlices& to) {
  const ProductVec first = hn::Set(kProductTag, to.first), second = hn::Set(kProductTag, to.second);
  for (int n = 0; n < N; ++n) {
    const ProductVec factor = hn::LoadU(kProductTag, to.factors + n * kProductLanes);
    const ProductVec more = hn::LoadU(kProductTag, to.more_factors + n * kProductLanes);
    for (int64_t l = 0; l < depth; ++l) {
      const int64_t at = (l * N + n) * kProductLanes;
      const ProductVec y = hn::Mul(hn::Mul(hn::Load(kProductTag, panel + at), factor), more);
      const ProductVec high = hn::Sub(hn::Add(y, first), first);
      const ProductVec rest = hn::Sub(y, high);
      const ProductVec middle = hn::Sub(hn::Add(rest, second), second);
      hn::Store(high, kProductTag, to.out + at);
      hn::Store(middle, kProductTag, to.out + to.stride + at);
      hn::Store(hn::Sub(rest, middle), kProductTag, to.out + 2 * to.stride + at);
      hn::Store(rest, kProductTag, to.out + 3 * to.stride + at);
    }
  }
}

#if HWY_TARGET == HWY_SCALAR

// Highway's own conversion makes the largest float32 of what is infinite in it.
HWY_INLINE auto to_floats(ProductVec v) {
  return hn::Set(kProductFloats, static_cast<float>(hn::GetLane(v)));
}

#else

HWY_INLINE auto to_floats(ProductVec v) {
  return hn::DemoteTo(kProductFloats, v);
}

#endif

template <class D>
HWY_INLINE uint32_t bits_of(D d, hn::Mask<D> mask) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  return bytes[0];
}

template <class D, class V>
HWY_INLINE auto same_bits(D d, V a, V b) {
  const hn::RebindToUnsigned<D> words;
  return hn::RebindMask(d, hn::Eq(hn::BitCast(words, a), hn::BitCast(words, b)));
}

template <int R, int V>
void certify_products_f32(const ProductScreen& in, float* out, uint32_t* failed) {
  const auto exact_width = hn::Set(kProductTag, in.exact_width);
  for (int r = 0; r < R; ++r) {
    const auto row_bound = hn::Set(kProductTag, in.row_bounds[r]), row_width = hn::Set(kProductTag, in.row_widths[r]);
    failed[r] = 0;
    for (int v = 0; v < V; ++v) {
      const int at = (r * V + v) * kProductLanes, column = v * kProductLanes;
      const auto sum = hn::Load(kProductTag, in.sums + at);
      const auto bound = hn::Mul(row_bound, hn::LoadU(kProductTag, in.column_bounds + column));
      const auto width = hn::Add(row_width, hn::LoadU(kProductTag, in.column_widths + column));
      const auto exact = hn::Le(width, exact_width);
      // The two sums below round by less than 2^-51 of the sum; where the bound is 0, nothing is rounded.
      const auto slack = hn::MulAdd(hn::Abs(sum), hn::Set(kProductTag, 0x1p-51), bound);
      const auto error = hn::IfThenZeroElse(exact, slack);
      const auto low = to_floats(hn::Sub(sum, error)), high = to_floats(hn::Add(sum, error));
      hn::StoreU(low, kProductFloats, out + at);
      const auto same = same_bits(kProductFloats, low, high);
      const auto finite = hn::Lt(error, hn::Set(kProductTag, HUGE_VAL));
      const uint32_t proved = bits_of(kProductFloats, same) & bits_of(kProductTag, finite);
      failed[r] |= (~proved & ((1U << kProductLanes) - 1)) << column;
    }
  }
}

// a + b = sum + rest, exactly.
HWY_INLINE ProductVec two_sum(ProductVec a, ProductVec b, ProductVec& rest) {
  const ProductVec sum = hn::Add(a, b);
  const ProductVec part = hn::Sub(sum, a);
  rest = hn::Add(hn::Sub(a, hn::Sub(sum, part)), hn::Sub(b, part));
  return sum;
}

template <int R, int V>
void certify_products_f64(const ProductScreen& in, double* out, uint32_t* failed) {
  const auto ulps = hn::Set(kProductTag, 0x1p-51);
  for (int r = 0; r < R; ++r) {
    failed[r] = 0;
    for (int v = 0; v < V; ++v) {
      const int at = (r * V + v) * kProductLanes, column = v * kProductLanes;
      const double* sums = in.sums + at;
      const auto scale =
          hn::Mul(hn::Set(kProductTag, in.row_bounds[r]), hn::LoadU(kProductTag, in.column_bounds + column));
      const auto width =
          hn::Add(hn::Set(kProductTag, in.row_widths[r]), hn::LoadU(kProductTag, in.column_widths + column));
      ProductVec rest, rest_of_all;
      const auto upper = two_sum(hn::Load(kProductTag, sums), hn::Load(kProductTag, sums + kMaxProductTile), rest);
      const auto lower = hn::Add(rest, hn::Load(kProductTag, sums + 2 * kMaxProductTile));
      const auto all = two_sum(upper, lower, rest_of_all);
      const auto rounding = hn::Mul(hn::Add(hn::Abs(lower), hn::Abs(rest_of_all)), ulps);
      const auto exact = hn::Le(width, hn::Set(kProductTag, in.exact_width));
      const auto error = hn::IfThenZeroElse(exact, hn::Add(rounding, hn::Set(kProductTag, in.error)));
      const auto low = hn::Add(all, hn::Sub(rest_of_all, error)), high = hn::Add(all, hn::Add(rest_of_all, error));
      const auto entry = hn::Mul(low, scale);
      hn::StoreU(entry, kProductTag, out + at);
      // Scaling by a power of two is exact where nothing over- or underflows.
      const auto size = hn::Abs(entry);
      const auto normal =
          hn::And(hn::Ge(size, hn::Set(kProductTag, 0x1p-1021)), hn::Le(size, hn::Set(kProductTag, 0x1p1022)));
      const auto zero =
          hn::And(exact, hn::And(hn::Eq(low, hn::Zero(kProductTag)), hn::Eq(size, hn::Zero(kProductTag))));
      const auto proved = hn::And(same_bits(kProductTag, low, high), hn::Or(normal, zero));
      failed[r] |= (~bits_of(kProductTag, proved) & ((1U << kProductLanes) - 1)) << column;
    }
  }
}

template <int V, int R>
constexpr ProductKernels product_kernels() {
  static_assert(R * V * kProductLanes <= kMaxProductTile && V * kProductLanes <= 32 && R % kProductLanes == 0);
  return {R,
          V * kProductLanes,
          add_products<R, V>,
          measure_lines<R / kProductLanes>,
          measure_lines<V>,
          slice_lines<R / kProductLanes>,
          slice_lines<V>,
          certify_products_f32<R, V>,
          certify_products_f64<R, V>};
}

}  // namespace
}  // namespace manymeans
