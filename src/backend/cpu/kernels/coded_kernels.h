// Points and candidates or prototypes in one byte a value, for a first look: docs/developer/screens.md, "Seeding in
// bytes" and "A first look in bytes".
#pragma once

#include "backend/cpu/kernels/screen_kernels.h"

#include <cstdint>

namespace manymeans {

constexpr int kCodedValues = 4;   // neighbours that one instruction multiplies
constexpr int kCodedColumns = 8;  // of a block

/// Candidates as columns, computed in twos. The upper score of row i and column c is
///   unit_c sum_j q_ij p_jc + radius_i slope_c + offset_c.
struct CodedColumns {
  int64_t groups;              // of four values
  int64_t count;               // a multiple of 2
  const int8_t* values;        // p: (blocks, groups, 8 columns, 4 values)
  const int32_t* corrections;  // -128 sum_j p_jc, as tiles hold q + 128
  const float* units;
  const float* slopes;
  const float* offsets;
};

/// As HitsTask. Tiles hold (groups, P rows, 4 values) bytes q + 128.
struct CodedHitsTask {
  CodedColumns columns;
  const HitsTile* tiles;
  int64_t tile_count;
  uint64_t* hits;  // (tiles, count)
  double* excess;  // per column, added to
};

/// No offset of a column is lower, so that sums of up to kMaxLookColumns products stay within 32 bits; padding has it.
constexpr int32_t kMinCodedOffset = -(1 << 30);
constexpr int64_t kMaxLookColumns = 1 << 12;

/// Prototypes as columns, in spans that share a unit. In this unit the upper score of row i and the column at place c
/// is sum_j q_ij p_jc + offset_c + radius_i slope / unit.
struct CodedSpans {
  int64_t groups;          // of four values
  int64_t count;           // spans
  const int8_t* values;    // p: (spans, 4 blocks, groups, 8 columns, 4 values)
  const int32_t* offsets;  // per place, with -128 sum_j p_jc, as tiles hold q + 128
  const float* inverses;   // per span: 1 / unit
  const float* slopes;
  const int32_t* widths;  // per span: places that are computed, a multiple of 8
};

/// Rows whose upper score of a place is above their threshold.
struct CodedHit {
  int64_t place;
  uint64_t rows;
};

struct CodedLook {
  CodedSpans columns;
  const void* tile;         // (groups, P rows, 4 values) bytes q + 128
  const float* radii;       // P
  const float* thresholds;  // P
  CodedHit* hits;           // out: at most one a place
};

struct CodedKernels {
  int tile_rows;
  void (*hits)(const CodedHitsTask&);
  /// Returns how many places are hit; padding may be among them where a threshold says nothing.
  int64_t (*look)(const CodedLook&);
};

}  // namespace manymeans
