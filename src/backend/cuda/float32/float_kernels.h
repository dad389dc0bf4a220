// The float32 screen of the cuda backend: scores by fused multiply-adds, for any number of columns and prototypes, on
// any device. Proof: docs/developer/screens.md, "Float32 on a GPU".
#pragma once

#include "backend/cuda/device/device_frame.h"
#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/pass_ranges.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

/// Up to this many columns the points stay in registers.
constexpr int64_t kLowColumns = 16;
/// Prototypes are padded to whole groups of this many.
constexpr int64_t kLowMultiple = 4;
constexpr int64_t kTileMultiple = 64;

/// The parts of a score's error that do not depend on the prototype (docs/developer/screens.md).
struct FloatBound {
  double slope = 0;  ///< times |z|
  double half = 0;   ///< times |h|
  double absolute = 0;
  double canonical = 0;  ///< eta
  float slack = 0;       ///< u_b - 2 e_b - (slack n^2 + underflow) must exceed the second best u
  float underflow = 0;
  float half_up = 0, absolute_up = 0;  ///< an error from a column's start: at most half_up |start| + absolute_up

  static FloatBound make(int64_t d, int exponent, double scale);
  /// Returns true if there is a bound for `d` columns: its proof requires gamma <= 1/2.
  static bool holds(int64_t d) { return roundings(d) < 1 && roundings(d) / (1 - roundings(d)) <= 0.5; }
  /// The roundings of a score of d columns, in total.
  static double roundings(int64_t d) { return static_cast<double>(d + 8) * 0x1p-24; }
};

/// The prototypes of all active models as columns, padded; z = 2^e (c - mu) in float32. Column c starts its score at
/// starts[c * stride], adds n * slopes[c * stride] and then x_j * values[c * stride + j].
struct FloatColumns {
  float* starts = nullptr;  ///< -|z|^2 / 2 + error, rounded up; padding: never wins
  float* slopes = nullptr;
  float* values = nullptr;
  int64_t stride = 0;  ///< of the three arrays; for low d they are one array of structures
  int64_t value_stride = 0;
  float* errors = nullptr;  ///< one per column; null for low d, where they follow from starts
  uint32_t* far = nullptr;  ///< per range, 0: becomes 1 where a prototype is too far out to be screened
  int64_t columns = 0;      ///< of all ranges, padded
};

/// Floats that FloatColumns needs for one column of d values.
int64_t low_column_floats(int64_t d);

struct FloatScreenTask {
  DevicePoints points;
  DeviceFrame frame;
  FloatBound bound;
  FloatColumns columns;
  RowNorms norms;  ///< only for d > kLowColumns
  PassRanges ranges;
  LabelRows next;             ///< gets the label that is proved, or any
  uint32_t* marks = nullptr;  ///< bit (row % 32) of marks[range * mark_stride + row / 32]: not proved. All written.
  int64_t mark_stride = 0;
  const uint32_t* wanted = nullptr;  ///< null, or 0: float_pack() and float_screen_marked() have nothing to do
};

/// The best of a row in a slice of the columns.
struct SliceTop {
  float best, second;
  int32_t column;
};

/// Rows that a coarser screen marked, gathered by range.
struct MarkedRows {
  int64_t* rows = nullptr;     ///< (ranges, capacity)
  uint32_t* counts = nullptr;  ///< per range; may exceed the capacity: the others stay marked
  int64_t capacity = 0;
  SliceTop* top = nullptr;  ///< (ranges, capacity, slices)
  int32_t slices = 1;       ///< columns are shared out, so that few rows keep the whole device busy
};

/// Looks at marked rows once more, in float32; only what is not proved now either stays marked. For more than
/// kLowColumns columns.
void float_screen_marked(const FloatScreenTask& task, const MarkedRows& marked, int multiprocessors,
                         cudaStream_t stream);

/// n of every row, rounded up.
void float_norms(const DevicePoints& points, const DeviceFrame& frame, float* norms, cudaStream_t stream);
/// Columns from the ranges' prototypes.
void float_pack(const FloatScreenTask& task, cudaStream_t stream);
void float_screen(const FloatScreenTask& task, int multiprocessors, cudaStream_t stream);

}  // namespace manymeans::cuda
