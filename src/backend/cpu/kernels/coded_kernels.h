// Points and candidates in one byte a value, for the first look of seeding: docs/developer/screens.md, "Seeding in
// bytes".
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

struct CodedKernels {
  int tile_rows;
  void (*hits)(const CodedHitsTask&);
};

}  // namespace manymeans
