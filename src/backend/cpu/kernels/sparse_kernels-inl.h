// Kernels of sparse points, written once for Highway: include from kernels-inl.h only.
//
// Bound: a value of a row adds one column of the table, K floats, which no other value of the row shares. A table that
// fits the cache reaches about a vector a cycle. In a larger table, columns that few rows have come from memory, so
// they are prefetched some values ahead. Prototypes are lanes: rows have different columns.
#pragma once

#include "backend/cpu/kernels/screen_kernels-inl.h"
#include "backend/cpu/kernels/sparse_kernels.h"

namespace manymeans {
namespace {

constexpr int64_t kSparseAhead = 8;

// Of kV vectors of prototypes from number `first` on; the largest lower scores so far.
template <int kV>
HWY_INLINE VecF score_sparse(const SparseScoreTask& in, int64_t first, VecF lower) {
  VecF sums[kV];
  for (int v = 0; v < kV; ++v) sums[v] = hn::Zero(kF32);
  const float* table = in.table + first;
  for (int64_t i = 0; i < in.count; ++i) {
    if (i + kSparseAhead < in.count) {
      const float* ahead = table + in.offsets[i + kSparseAhead];
      for (int v = 0; v < kV; ++v) __builtin_prefetch(ahead + v * kLanes);
    }
    const float* column = table + in.offsets[i];
    const VecF x = hn::Set(kF32, in.values[i]);
    for (int v = 0; v < kV; ++v) sums[v] = hn::MulAdd(x, hn::LoadU(kF32, column + v * kLanes), sums[v]);
  }
  const VecF of_norm = hn::Set(kF32, in.of_norm), of_residual = hn::Set(kF32, in.of_residual);
  const VecF rest = hn::Set(kF32, in.rest);
  for (int v = 0; v < kV; ++v) {
    const int64_t at = first + v * kLanes;
    VecF error = hn::Add(hn::LoadU(kF32, in.fixed + at), rest);
    error = hn::MulAdd(of_residual, hn::LoadU(kF32, in.residuals + at), error);
    error = hn::MulAdd(of_norm, hn::LoadU(kF32, in.norms + at), error);
    const VecF score = hn::Sub(sums[v], hn::LoadU(kF32, in.halves + at));
    lower = hn::Max(lower, hn::Sub(score, error));
    hn::StoreU(hn::Add(score, error), kF32, in.upper + at);
  }
  return lower;
}

HWY_INLINE VecF score_some_sparse(const SparseScoreTask& in, int64_t first, VecF lower) {
  switch ((in.stride - first) / kLanes) {
    case 1: return score_sparse<1>(in, first, lower);
    case 2: return score_sparse<2>(in, first, lower);
    case 3: return score_sparse<3>(in, first, lower);
    case 4: return score_sparse<4>(in, first, lower);
    case 5: return score_sparse<5>(in, first, lower);
    case 6: return score_sparse<6>(in, first, lower);
    case 7: return score_sparse<7>(in, first, lower);
    default: return score_sparse<8>(in, first, lower);
  }
}

int64_t sparse_candidates(const SparseScoreTask& in, uint32_t* found) {
  VecF lower = hn::Set(kF32, in.threshold);
  VecF least = lower;
  for (int64_t first = 0; first < in.stride; first += 8 * kLanes) least = score_some_sparse(in, first, least);
  if (in.rank) lower = hn::Set(kF32, hn::GetLane(hn::MaxOfLanes(kF32, least)));
  const float needed = hn::GetLane(lower);
  int64_t count = 0;
  for (int64_t at = 0; at < in.stride; at += kLanes) {
    if (hn::AllFalse(kF32, hn::Ge(hn::LoadU(kF32, in.upper + at), lower))) continue;
    for (int64_t k = at; k < at + kLanes; ++k) {
      if (in.upper[k] >= needed) found[count++] = static_cast<uint32_t>(k);
    }
  }
  return count;
}

double sparse_distance(const SparseTerms& x, const SparseTerms& c) {
  double p[8] = {};
  int64_t i = 0, j = 0;
  const auto add = [&](int64_t column, double t) { p[column % 8] = __builtin_fma(t, t, p[column % 8]); };
  while (i < x.count && j < c.count) {
    const int64_t column = x.columns[i] < c.columns[j] ? x.columns[i] : c.columns[j];
    const bool of_x = x.columns[i] == column, of_c = c.columns[j] == column;
    add(column, (of_x ? x.values[i] : 0.0) - (of_c ? c.values[j] : 0.0));
    i += of_x;
    j += of_c;
  }
  for (; i < x.count; ++i) add(x.columns[i], x.values[i]);
  for (; j < c.count; ++j) add(c.columns[j], c.values[j]);
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

constexpr int64_t kSparsePiece = 256;  // columns of a prototype that stay in the nearest cache

// Adds the squares of a piece to the eight sums of a row, in their order.
HWY_INLINE void add_squares(const double* values, double* sums) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t j = 0; j < kSparsePiece; ++j) sums[j % 8] = __builtin_fma(values[j], values[j], sums[j % 8]);
#else
  constexpr int kRegisters = 8 / kWide;
  VecD p[kRegisters];
  for (int v = 0; v < kRegisters; ++v) p[v] = hn::LoadU(kF64, sums + v * kWide);
  for (int64_t j = 0; j < kSparsePiece; j += 8) {
    for (int v = 0; v < kRegisters; ++v) {
      const VecD t = hn::LoadU(kF64, values + j + v * kWide);
      p[v] = hn::MulAdd(t, t, p[v]);
    }
  }
  for (int v = 0; v < kRegisters; ++v) hn::StoreU(p[v], kF64, sums + v * kWide);
#endif
}

// Where a row has a zero, t = -c, whose square equals the square of c: the prototype's values serve all rows. Elsewhere
// t replaces the prototype's value for as long as the row needs it.
template <class T>
void sparse_distances(const SparseDistances<T>& in) {
  alignas(64) double values[kSparsePiece];
  double sums[kSparseRows][8] = {};
  int64_t next[kSparseRows] = {};
  for (int64_t first = 0; first < in.d; first += kSparsePiece) {
    const int64_t count = in.d - first < kSparsePiece ? in.d - first : kSparsePiece;
    for (int64_t j = 0; j < count; ++j) values[j] = static_cast<double>(in.prototype[first + j]);
    for (int64_t j = count; j < kSparsePiece; ++j) values[j] = 0;
    for (int64_t r = 0; r < in.count; ++r) {
      const SparseTerms& row = in.rows[r];
      const int64_t begin = next[r];
      int64_t end = begin;
      for (; end < row.count && row.columns[end] < first + count; ++end) {
        double& value = values[row.columns[end] - first];
        value = row.values[end] - value;
      }
      add_squares(values, sums[r]);
      for (int64_t e = begin; e < end; ++e) {
        const int64_t column = row.columns[e];
        values[column - first] = static_cast<double>(in.prototype[column]);
      }
      next[r] = end;
    }
  }
  for (int64_t r = 0; r < in.count; ++r) {
    const double* p = sums[r];
    in.d2[r] = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
  }
}

constexpr SparseKernels sparse_kernels() {
  return {sparse_candidates, sparse_distance, sparse_distances<float>, sparse_distances<double>};
}

}  // namespace
}  // namespace manymeans
