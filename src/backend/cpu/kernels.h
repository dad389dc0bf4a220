// The table of functions that each instruction set fills. Everything above it is compiled once.
#pragma once

#include "backend/cpu/screen_kernels.h"

#include <cstdint>

namespace manymeans {

struct TermRow {
  int64_t d;
  int limbs;
  double weight;
  const double* top;  // d: 2^(shift_j - (limbs - 1) * bits)
  double radix;       // 2^bits, bits <= 50
  int64_t* to;        // limbs x d: the terms are added
  int64_t* from;      // limbs x d: the terms are subtracted; may be null
};

struct CpuKernels {
  const char* name;
  const char* description;
  bool (*supported)();
  const ScreenKernels* screens;  ///< one per format, kFloat32 first
  int screen_count;

  /// Bit i is set if row i's best column is NOT proved to be the nearest.
  uint64_t (*certify)(const CertifyTask&);
  /// float32 scores offset_k + x . z_k of one row and `columns` columns in blocks of the float32 format.
  void (*rescore)(const float* x, const float* blocks, const float* offsets, int64_t d, int64_t columns, float* scores);
  /// Canonical distances of one row to a row (core/distance.h), same bits.
  double (*distance_f32)(const float* x, const float* c, int64_t d);
  double (*distance_f64)(const double* x, const double* c, int64_t d);
  /// Order-free terms RN(weight * x_j) of one row.
  void (*add_terms_f32)(const float* x, const TermRow&);
  void (*add_terms_f64)(const double* x, const TermRow&);
  /// Adds the label terms (core/label_term.h) of `count` < 2^31 pairs of row and label to sum[0] (low half) and sum[1].
  void (*label_terms)(const int64_t* rows, const uint32_t* labels, int64_t count, uint64_t* sum);
  /// Writes one float32 tile: centred, scaled, rounded; norms rounded up.
  void (*pack_f32)(const float* x, const PackTask&, float* tile, float* norms);
  void (*pack_f64)(const double* x, const PackTask&, float* tile, float* norms);
};

}  // namespace manymeans
