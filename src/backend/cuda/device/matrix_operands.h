// The operands and results of a screen of the cuda backend. Everything here is in device memory.
//
// A screen reads rounded copies of points and prototypes and proves labels: docs/developer/screens.md, "Tensor cores".
// For a row and a column it knows a score s within e = m * slope + error of the true one; m is the row's radius. It
// ranks by upper scores u = s + e. A row's label is proved if u_b - 2 e_b - (slack * n^2 + underflow) > the second
// largest u; n is the row's norm. Canonical distances decide the labels of the other rows afterwards. Such a row needs
// one of three things. The first is the distances of a few prototypes, which are listed with it. The second is another
// look, since its list overflowed. The third is all distances: the row is marked in a bitmap.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

/// Points in the layout of a matrix unit: y = 2^e (x - mu), rounded to fp16, row-major, zero padded.
struct PackedRows {
  const void* values = nullptr;  ///< __half, padded_rows x padded_columns
  const float* radii = nullptr;  ///< m, padded_rows
  const float* norms = nullptr;  ///< n >= |y|, padded_rows
  int64_t rows = 0;              ///< below 2^31
  int64_t padded_rows = 0;       ///< a multiple of kRowBlock
  int32_t padded_columns = 0;    ///< a multiple of kDepthBlock
};
constexpr int64_t kRowBlock = 128;

/// The instructions that multiply: Hopper's own (compute capability 9.0), or instructions of every device from 8.0 on.
enum class MatrixUnit : uint8_t { kNone, kSync, kHopper };

/// Hopper's instructions are machine code for 9.0 alone: later devices do not run it.
constexpr MatrixUnit matrix_unit_of(int major, int minor) {
  if (major == 9 && minor == 0) return MatrixUnit::kHopper;
  return major >= 8 ? MatrixUnit::kSync : MatrixUnit::kNone;
}

constexpr int32_t kDepthBlock = 16;

/// The columns of one model: a range of the concatenated ones.
struct ColumnRange {
  int32_t slot = 0;   ///< where its labels go
  int32_t first = 0;  ///< a multiple of tile_columns
  int32_t count = 0;  ///< with padding, a multiple of tile_columns; padding is at the end
  float slack = 0;    ///< u_b - 2 e_b - (slack * n^2 + underflow) must exceed the second best u
  float underflow = 0;
};
/// The distinct prototypes of the active models as columns, z = 2^e (c - mu) rounded to fp16.
struct PackedColumns {
  const void* values = nullptr;     ///< __half, columns x padded_columns (of PackedRows)
  const float* offsets = nullptr;   ///< h = -|z|^2 / 2; padding: kNeverWins
  const float* slopes = nullptr;    ///< >= 0; padding: 0
  const float* errors = nullptr;    ///< >= 0; padding: 0
  const uint32_t* order = nullptr;  ///< the prototype's index in its model; padding: ~0
  /// The column of prototype k of the model whose columns begin at f is column_of[f + k]; null: f + k.
  const uint32_t* column_of = nullptr;
  bool by_number = false;               ///< prototype k of that model, and no other, is column f + k
  int32_t columns = 0;                  ///< of all models
  const ColumnRange* ranges = nullptr;  ///< `models` of them
  int32_t models = 0;
  MatrixUnit unit = MatrixUnit::kHopper;
  int32_t tile_columns = 128;         ///< matrix_tile_columns(), or any of 64, 128, 256 that divides all ranges
  float* terms = nullptr;             ///< scratch of matrix_terms(columns, tile_columns) floats, aligned to 16
  const uint32_t* stopped = nullptr;  ///< null, or not 0: there is nothing to do (PassControl)
};
constexpr float kNeverWins = -0x1p126F;
/// Models of at most 64 prototypes are one tile each.
constexpr int kOneTile = 64;
inline bool one_tile_each(const PackedColumns& columns) {
  return columns.tile_columns == kOneTile && columns.columns == columns.models * kOneTile;
}

/// A row whose label is one of a few.
struct FewRow {
  int64_t row;
  int32_t range;  ///< index into PackedColumns::ranges
  int32_t count;  ///< of candidates, 1 .. kMaxCandidates; 0: this is no entry
  uint32_t candidates[8];
};
constexpr int kMaxCandidates = 8;

/// A row with more possible columns than an entry of the list holds: those whose upper score reaches `lower` (or is
/// NaN).
struct OverflowRow {
  int32_t row;
  float lower;
};
constexpr uint32_t kOverflowBlock = 256;  ///< of what there is room for, per range; a multiple of the kernels' heights

/// The overflow rows of all ranges, and of each the candidates that a second look has gathered.
struct OverflowRows {
  OverflowRow* rows = nullptr;     ///< (ranges, capacity)
  uint32_t* counts = nullptr;      ///< per range; may exceed the capacity: rows beyond it must be marked instead
  uint32_t capacity = 0;           ///< per range, a multiple of kOverflowBlock; 0: every overflow row is marked
  void* values = nullptr;          ///< scratch of gather_candidates(): __half (ranges, capacity, padded_columns)
  uint32_t* found = nullptr;       ///< (ranges, capacity): how many prototypes; may exceed kMaxGathered
  uint32_t* prototypes = nullptr;  ///< (ranges, capacity, kMaxGathered), in any order
};
constexpr int kMaxGathered = 32;

/// Labels of slot s: `width` bytes each (1, 2 or 4), from base + s * stride * width on.
struct LabelRows {
  void* base = nullptr;
  int64_t stride = 0;
  int32_t width = 4;
};

/// How much less a row's best score may be than in the last pass: per_shift times the movement of its label's prototype
/// and slope times its radius.
struct ScoreDrop {
  float per_shift;
  float slope;
};

/// The score that a row's best one is expected to reach: columns below it are not ranked. The guess may fail. Then the
/// row is not proved (docs/developer/screens.md, "Score thresholds").
struct ScoreThresholds {
  float* lowers = nullptr;  ///< of slot s and row i at [s * stride + i]: a lower bound of the best score when the row
                            ///< was last looked at; a screen writes its own. Null: not needed
  int64_t stride = 0;
  LabelRows labels;  ///< of the pass before
  const float* shifts =
      nullptr;  ///< how far prototype k of the model whose columns begin at f has moved since: [f + k]
  const ScoreDrop* falls = nullptr;  ///< per range: how much less it may be now. Null: every column is ranked
};

struct ScreenOutput {
  LabelRows labels;               ///< written for every row whose label is proved; the others may hold anything
  FewRow* few = nullptr;          ///< `few_capacity` of them, in any order
  uint32_t* few_count = nullptr;  ///< how many, and entries of count 0; may exceed the capacity: what is beyond it must
                                  ///< be marked instead
  uint32_t few_capacity = 0;
  uint32_t* marks = nullptr;  ///< bit (row % 32) of marks[range * mark_stride + row / 32]: all prototypes are
                              ///< possible. Cleared before the screen runs.
  int64_t mark_stride = 0;
  uint32_t* marked = nullptr;  ///< becomes 1 where a mark is set; may be null
  OverflowRows overflow;       ///< gets rows and counts
  ScoreThresholds thresholds;
};

}  // namespace manymeans::cuda
