// Functions on sparse points that the cpu backend requires of an instruction set, one row a call.
#pragma once

#include <cstdint>

namespace manymeans {

/// The table of prototypes as columns stores kSparseLanes values together: a whole number of vectors of every
/// instruction set.
constexpr int64_t kSparseLanes = 16;

/// A row's scores s_k = x~ . c~_k - h_k, in float32. Their errors are at most e_k = of_norm * norms_k + of_residual *
/// residuals_k + fixed_k + rest (backend/cpu/sparse/sparse_screen.h).
struct SparseScoreTask {
  const float* values;     // count
  const int64_t* offsets;  // count: where the table has the prototypes' values in that column
  int64_t count;
  const float* table;
  int64_t stride;  // of the table, and of what follows: prototypes, in multiples of kSparseLanes
  const float* halves;
  const float* norms;
  const float* residuals;
  const float* fixed;
  float of_norm, of_residual, rest;
  float threshold;  // which upper scores s_k + e_k have to reach
  bool rank;        // they have to reach the largest lower score s_k - e_k, too
  float* upper;     // stride: for the kernel
};

/// The values of a row that are there.
struct SparseTerms {
  const double* values;
  const int64_t* columns;
  int64_t count;
};

/// Rows whose distances to one prototype are computed together, so that none waits for the sum of what was just added.
constexpr int64_t kSparseRows = 8;

/// Some rows, and one prototype of d values.
template <class T>
struct SparseDistances {
  const SparseTerms* rows;
  int64_t count;  // at most kSparseRows
  const T* prototype;
  int64_t d;
  double* d2;  // count: out
};

struct SparseKernels {
  /// Writes the prototypes whose upper scores reach what they have to, ascending; returns how many there are.
  int64_t (*candidates)(const SparseScoreTask&, uint32_t* found);
  /// The canonical distance (core/distance.h) of two rows. Columns that neither has add fma(0, 0, p) = p.
  double (*distance)(const SparseTerms& x, const SparseTerms& c);
  /// Canonical distances of rows to a prototype with all of its values.
  void (*distances_f32)(const SparseDistances<float>&);
  void (*distances_f64)(const SparseDistances<double>&);
};

}  // namespace manymeans
