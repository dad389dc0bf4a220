// Kernels of linear models, written once for Highway: include from kernels-inl.h only.
//
// Residuals have the features for lanes, as the contract numbers them. For a swap search with short rows, residuals of
// many rows to the same models have rows for lanes.
//
// Sums of products: a row u = (x, y, 1) of n = d + 1 values adds n (n + 1) / 2 - 1 products to one cluster's sums. It
// subtracts them from another cluster's sums. Terms are lanes: a cluster's sums lie side by side, so that rows come in
// any order and nothing is reduced. First the products of some rows are computed, each value times all from it on; the
// next store overwrites the tail of a store. Then each row's terms are split into integers, once for both clusters.
// Bound: two loads and two stores a word and vector of terms, in addition to six operations. Rows as lanes, in the
// order of clusters, would keep sums in registers. They would make the terms twice, once where a row comes and once
// where it leaves.
#pragma once

#include "backend/cpu/kernels/lanes-inl.h"
#include "backend/cpu/kernels/packing_kernels-inl.h"

namespace manymeans {
namespace {

constexpr double kMaxResidual = 0x1p1000;

// r2 of a row whose prediction is `sum` and the intercept.
template <class T>
HWY_INLINE double squared_residual(double sum, const T* row, const T* model, int64_t features) {
  const double residual = static_cast<double>(row[features]) - (sum + static_cast<double>(model[features]));
  const double squared = residual * residual;
  return squared < kMaxResidual ? squared : kMaxResidual;
}

#if HWY_TARGET == HWY_SCALAR

template <class T>
double residual(const T* row, const T* model, int64_t d) {
  double p[8] = {};
  for (int64_t j = 0; j + 1 < d; ++j) {
    p[j % 8] = std::fma(static_cast<double>(model[j]), static_cast<double>(row[j]), p[j % 8]);
  }
  const double sum = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
  return squared_residual(sum, row, model, d - 1);
}

template <class T>
int64_t residuals_in_lanes(const LabelledRows<T>&, double*) {
  return 0;
}

#else

// Lane l of the eight sums lives in lane l % kWide of register l / kWide; lanes past the end add fma(0, 0, p) = p.
template <class T>
HWY_INLINE double residual(const T* row, const T* model, int64_t d) {
  constexpr int kRegisters = 8 / kWide;
  const int64_t features = d - 1;
  VecD sums[kRegisters];
  for (int v = 0; v < kRegisters; ++v) sums[v] = hn::Zero(kF64);
  int64_t j = 0;
  for (; j + 8 <= features; j += 8) {
    for (int v = 0; v < kRegisters; ++v) {
      sums[v] = hn::MulAdd(load_wide(model + j + v * kWide), load_wide(row + j + v * kWide), sums[v]);
    }
  }
  for (int v = 0; v < kRegisters && j + v * kWide < features; ++v) {
    const int64_t rest = features - j - v * kWide;
    const size_t count = rest < kWide ? static_cast<size_t>(rest) : kWide;
    sums[v] = hn::MulAdd(load_some(model + j + v * kWide, count), load_some(row + j + v * kWide, count), sums[v]);
  }
  return squared_residual(fold_in_halves(sums), row, model, features);
}

// A column of kWide rows.
HWY_INLINE VecD strided(const float* x, int64_t d) {
  const hn::Rebind<int32_t, Narrow> i32;
  return hn::PromoteTo(kF64,
                       hn::GatherIndex(Narrow(), x, hn::Mul(hn::Iota(i32, 0), hn::Set(i32, static_cast<int32_t>(d)))));
}
HWY_INLINE VecD strided(const double* x, int64_t d) {
  const hn::Rebind<int64_t, F64> i64;
  const VecD places = hn::Mul(hn::Iota(kF64, 0), hn::Set(kF64, static_cast<double>(d)));
  return hn::GatherIndex(kF64, x, hn::ConvertTo(i64, places));
}

// kWide rows, whose columns these are, and one model: rows are lanes, and the eight sums are registers.
template <class T>
HWY_INLINE VecD residuals_of_model(const double* columns, const T* model, int64_t d) {
  const int64_t features = d - 1;
  VecD p[8];
#pragma GCC unroll 8
  for (int l = 0; l < 8; ++l) p[l] = hn::Zero(kF64);
  for (int64_t j = 0; j < features; j += 8) {
#pragma GCC unroll 8
    for (int l = 0; l < 8; ++l) {
      if (j + l < features) {
        const VecD column = hn::Load(kF64, columns + (j + l) * kWide);
        p[l] = hn::MulAdd(hn::Set(kF64, static_cast<double>(model[j + l])), column, p[l]);
      }
    }
  }
  const VecD predicted = hn::Add(fold<8>(p), hn::Set(kF64, static_cast<double>(model[features])));
  const VecD rest = hn::Sub(hn::Load(kF64, columns + features * kWide), predicted);
  const VecD squared = hn::Mul(rest, rest), most = hn::Set(kF64, kMaxResidual);
  return hn::IfThenElse(hn::Lt(squared, most), squared, most);
}

// Computes residuals of rows to all models, as many rows as fill vectors; returns how many. Beyond 24 columns the
// values of a row fill vectors better than a column of rows, which is gathered.
template <class T>
int64_t residuals_in_lanes(const LabelledRows<T>& in, double* r2) {
  constexpr int64_t kMaxGathered = 24;
  if (in.d > kMaxGathered) return 0;
  alignas(64) double columns[kMaxGathered * kWide];
  int64_t i = 0;
  for (; i + kWide <= in.count; i += kWide) {
    for (int64_t j = 0; j < in.d; ++j) hn::Store(strided(in.points + i * in.d + j, in.d), kF64, columns + j * kWide);
    for (int64_t k = 0; k < in.k; ++k) {
      hn::StoreU(residuals_of_model(columns, in.prototypes + k * in.d, in.d), kF64, r2 + k * in.count + i);
    }
  }
  return i;
}

#endif

template <class T>
void all_residuals(const LabelledRows<T>& in, double* r2) {
  for (int64_t i = residuals_in_lanes(in, r2); i < in.count; ++i) {
    for (int64_t k = 0; k < in.k; ++k) {
      r2[k * in.count + i] = residual(in.points + i * in.d, in.prototypes + k * in.d, in.d);
    }
  }
}

template <class T>
void residuals(const LabelledRows<T>& in, double* r2) {
  if (in.k == 1) return all_residuals(in, r2);
  for (int64_t i = 0; i < in.count; ++i) {
    r2[i] = residual(in.points + i * in.d, in.prototypes + in.labels[i] * in.d, in.d);
  }
}

// Scratch for the terms of a batch's rows.
struct ProductRoom {
  double* values;    // kProductRows x (d + 1), and padding
  double* products;  // kProductRows x products, and padding
  double* rests;     // kProductRows x products, and padding

  ProductRoom(const ProductUnits& units, int64_t d)
      : values(units.scratch),
        products(values + kProductRows * (d + 1) + 2 * kProductPadding),
        rests(products + kProductRows * units.products + kProductPadding) {}
};

// The terms of a row, all products or all rests, on their way to a cluster's sums, and from another's or from nowhere.
struct TermMove {
  const double* terms;
  const double* top;
  int64_t stride;  // of a word
  int64_t* to;
  int64_t* from;
};

// Some of the rows that are moved.
struct MovedBatch {
  const MovedRows& moved;
  int64_t first;
  int64_t count;
};

#if HWY_TARGET == HWY_SCALAR

template <bool kRests>
void make_products(const double* u, int64_t d, double weight, double* products, double* rests) {
  for (int64_t i = 0; i < d; ++i) {
    for (int64_t j = i; j <= d; ++j) {
      const double product = u[i] * u[j];
      const double weighted = weight * product;
      *products++ = weighted;
      if constexpr (kRests) {
        const double rest = std::fma(u[i], u[j], -product);
        *rests++ = std::fma(weight, product, -weighted) + weight * rest;
      }
    }
  }
}

void move_terms(const TermMove& in, const ProductUnits& units) {
  for (int64_t t = 0; t < units.products; ++t) {
    double y = in.terms[t] * in.top[t];
    for (int g = units.words - 1; g >= 0; --g) {
      const double part = (y + kMagic) - kMagic;
      const auto integer = static_cast<int64_t>(part);
      in.to[g * in.stride + t] += integer;
      if (in.from != nullptr) in.from[g * in.stride + t] -= integer;
      y = (y - part) * units.radix;
    }
  }
}

#else

template <bool kRests>
HWY_INLINE void make_products(const double* u, int64_t d, double weight, double* products, double* rests) {
  const VecD w = hn::Set(kF64, weight);
  int64_t at = 0;
  for (int64_t i = 0; i < d; ++i) {
    const VecD value = hn::Set(kF64, u[i]);
    for (int64_t j = i; j <= d; j += kWide) {
      const VecD other = hn::LoadU(kF64, u + j);
      const VecD product = hn::Mul(value, other);
      if constexpr (kRests) {
        const VecD weighted = hn::Mul(w, product);
        const VecD rest = hn::MulSub(value, other, product);
        hn::StoreU(weighted, kF64, products + at + j - i);
        hn::StoreU(hn::Add(hn::MulSub(w, product, weighted), hn::Mul(w, rest)), kF64, rests + at + j - i);
      } else {
        hn::StoreU(product, kF64, products + at + j - i);
      }
    }
    at += d + 1 - i;
  }
}

// kWords: how many words, where that is known when compiling, else 0.
template <int kWords>
HWY_INLINE void move_words(const TermMove& in, const ProductUnits& units) {
  const hn::FixedTag<int64_t, kWide> i64;
  const VecD magic = hn::Set(kF64, kMagic);
  const VecD radix = hn::Set(kF64, units.radix);
  const int words = kWords > 0 ? kWords : units.words;
  int64_t* HWY_RESTRICT to = in.to;
  int64_t* HWY_RESTRICT from = in.from;
  for (int64_t t = 0; t < units.products; t += kWide) {
    VecD y = hn::Mul(hn::LoadU(kF64, in.terms + t), hn::LoadU(kF64, in.top + t));
#pragma GCC unroll 3
    for (int g = words - 1; g >= 0; --g) {
      const VecD shifted = hn::Add(y, magic);
      const auto integer = hn::Sub(hn::BitCast(i64, shifted), hn::BitCast(i64, magic));
      int64_t* sum = to + g * in.stride + t;
      hn::Store(hn::Add(hn::Load(i64, sum), integer), i64, sum);
      if (from != nullptr) {
        sum = from + g * in.stride + t;
        hn::Store(hn::Sub(hn::Load(i64, sum), integer), i64, sum);
      }
      y = hn::Mul(hn::Sub(y, hn::Sub(shifted, magic)), radix);
    }
  }
}

HWY_INLINE void move_terms(const TermMove& in, const ProductUnits& units) {
  switch (units.words) {
    case 1: return move_words<1>(in, units);
    case 2: return move_words<2>(in, units);
    case 3: return move_words<3>(in, units);
    default: return move_words<0>(in, units);
  }
}

#endif

// Products of the rows of a batch.
template <class T>
HWY_INLINE void make_batch(const T* points, const MovedBatch& batch, const UnitSums& sums, const ProductUnits& in) {
  const ProductRoom room(in, sums.d);
  const int64_t* rows = batch.moved.rows + batch.first;
  const int64_t width = sums.d + 1;
  for (int64_t r = 0; r < batch.count; ++r) {
    const T* x = points + rows[r] * sums.d;
    for (int64_t j = 0; j < sums.d; ++j) room.values[r * width + j] = x[j];
    room.values[r * width + sums.d] = 1;
  }
  for (int64_t r = 0; r < batch.count; ++r) {
    const double weight = in.weights == nullptr ? 1 : in.weights[rows[r]];
    double* products = room.products + r * in.products;
    if (in.rests) {
      make_products<true>(room.values + r * width, sums.d, weight, products, room.rests + r * in.products);
    } else {
      make_products<false>(room.values + r * width, sums.d, weight, products, nullptr);
    }
  }
}

HWY_INLINE void move_row(const ProductRoom& room, int64_t r, const ProductUnits& in, int64_t* to, int64_t* from) {
  const int64_t stride = in.rests ? 2 * in.products : in.products;
  move_terms({room.products + r * in.products, in.top, stride, to, from}, in);
  if (!in.rests) return;
  move_terms({room.rests + r * in.products, in.top + in.products, stride, to + in.products,
              from == nullptr ? nullptr : from + in.products},
             in);
}

template <class T>
int64_t move_products(const T* points, const MovedRows& moved, const UnitSums& sums, const ProductUnits& in) {
  const ProductRoom room(in, sums.d);
  for (int64_t i = 0; i < moved.count; ++i) {
    const int64_t r = i % kProductRows;
    if (r == 0) {
      const int64_t left = moved.count - i;
      for (int64_t a = i + kProductRows; a < i + 2 * kProductRows && a < moved.count; ++a) {
        prefetch_move(points, moved, sums, a);
      }
      make_batch(points, {moved, i, left < kProductRows ? left : kProductRows}, sums, in);
    }
    const uint32_t to = moved.to[i];
    if (sums.terms[to] == sums.max_terms) return i;
    int64_t* from_sums = nullptr;
    if (moved.from != nullptr) {
      const uint32_t from = moved.from[i];
      if (sums.terms[from] == sums.max_terms) return i;
      from_sums = sums.sums + from * sums.stride;
      ++sums.terms[from];
      --sums.counts[from];
    }
    move_row(room, r, in, sums.sums + to * sums.stride, from_sums);
    ++sums.terms[to];
    ++sums.counts[to];
  }
  return moved.count;
}

// Segments: the rows of one cluster are lanes, and a product's words are summed in registers. A row that comes or
// leaves costs a third of the cost above. It takes some vectors of rows of a cluster at a time to pay.
#if HWY_TARGET == HWY_SCALAR

void add_segment(const float* points, const ProductSegment& in, const ProductUnits& units) {
  for (int64_t r = 0; r < in.count; ++r) {
    const float* x = points + in.rows[r] * in.d;
    const auto value = [&](int64_t j) { return j == in.d ? 1.0 : static_cast<double>(x[j]); };
    int64_t place = 0;
    for (int64_t i = 0; i < in.d; ++i) {
      for (int64_t j = i; j <= in.d; ++j, ++place) {
        double y = value(i) * value(j) * units.top[place];
        for (int g = units.words - 1; g >= 0; --g) {
          const double part = (y + kMagic) - kMagic;
          const auto integer = static_cast<int64_t>(part);
          in.sums[g * units.products + place] += in.leaves ? -integer : integer;
          y = (y - part) * units.radix;
        }
      }
    }
  }
}

#else

// Rows become columns of binary64; rows up to a whole vector are zero.
HWY_INLINE void segment_columns(const float* points, const ProductSegment& in) {
  for (int64_t r = 0; r < in.count; r += kWide) {
    for (int64_t j = 0; j < in.d; j += kWide) {
      const int64_t left = in.d - j;
      const auto some = hn::FirstN(Narrow(), static_cast<size_t>(left < kWide ? left : kWide));
      VecN block[kWide];
#pragma GCC unroll 8
      for (int v = 0; v < kWide; ++v) {
        const bool exists = r + v < in.count;
        const VecN row = masked_load(some, Narrow(), points + in.rows[exists ? r + v : r] * in.d + j);
        block[v] = exists ? row : hn::Zero(Narrow());
      }
      transpose(block);
      const int64_t columns = left < kWide ? left : kWide;
#pragma GCC unroll 8
      for (int v = 0; v < kWide; ++v) {
        if (v < columns) hn::Store(wide(block[v]), kF64, in.columns + (j + v) * kSegmentRows + r);
      }
    }
    const int64_t left = in.count - r;
    const auto exist = hn::FirstN(kF64, static_cast<size_t>(left < kWide ? left : kWide));
    hn::Store(hn::IfThenElseZero(exist, hn::Set(kF64, 1)), kF64, in.columns + in.d * kSegmentRows + r);
  }
}

// The products of column i with `kPairs` neighbouring columns from j on; `place` is the first product's place. The
// number that rounds to a word is so large that the sum's lowest bits are the word.
template <int kWords, int kPairs>
HWY_INLINE void segment_products(const ProductSegment& in, const ProductUnits& units, int64_t i, int64_t j,
                                 int64_t place) {
  const hn::FixedTag<int64_t, kWide> i64;
  VecD rounders[kPairs][kWords];
  hn::Vec<decltype(i64)> sums[kPairs][kWords];
#pragma GCC unroll 4
  for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 3
    for (int g = 0; g < kWords; ++g) {
      rounders[p][g] = hn::Set(kF64, units.rounders[g * units.products + place + p]);
      // Sums of the rounded numbers' bits; the rounders' bits are subtracted at the end.
      sums[p][g] = hn::Zero(i64);
    }
  }
  const double* a = in.columns + i * kSegmentRows;
  const double* b = in.columns + j * kSegmentRows;
  for (int64_t r = 0; r < in.count; r += kWide) {
    const VecD value = hn::Load(kF64, a + r);
#pragma GCC unroll 4
    for (int p = 0; p < kPairs; ++p) {
      VecD y = hn::Mul(value, hn::Load(kF64, b + p * kSegmentRows + r));
#pragma GCC unroll 3
      for (int g = kWords - 1; g >= 0; --g) {
        const VecD shifted = hn::Add(y, rounders[p][g]);
        sums[p][g] = hn::Add(sums[p][g], hn::BitCast(i64, shifted));
        if (g > 0) y = hn::Sub(y, hn::Sub(shifted, rounders[p][g]));
      }
    }
  }
  const auto vectors = static_cast<uint64_t>((in.count + kWide - 1) / kWide);
#pragma GCC unroll 4
  for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 3
    for (int g = 0; g < kWords; ++g) {
      const auto bits = static_cast<uint64_t>(hn::GetLane(hn::BitCast(i64, rounders[p][g])));
      // Each lane counts modulo 2^64 until its rounders leave it; the sum of all lanes is in range.
      const auto rounded = hn::Sub(sums[p][g], hn::Set(i64, static_cast<int64_t>(vectors * bits)));
      const int64_t sum = hn::GetLane(hn::SumOfLanes(i64, rounded));
      in.sums[g * units.products + place + p] += in.leaves ? -sum : sum;
    }
  }
}

template <int kWords>
HWY_INLINE void segment_words(const ProductSegment& in, const ProductUnits& units) {
  int64_t place = 0;
  for (int64_t i = 0; i < in.d; ++i) {
    int64_t j = i;
    for (; j + 3 <= in.d; j += 4, place += 4) segment_products<kWords, 4>(in, units, i, j, place);
    for (; j <= in.d; ++j, ++place) segment_products<kWords, 1>(in, units, i, j, place);
  }
}

void add_segment(const float* points, const ProductSegment& in, const ProductUnits& units) {
  segment_columns(points, in);
  switch (units.words) {
    case 1: return segment_words<1>(in, units);
    case 2: return segment_words<2>(in, units);
    default: return segment_words<3>(in, units);
  }
}

#endif

}  // namespace
}  // namespace manymeans
