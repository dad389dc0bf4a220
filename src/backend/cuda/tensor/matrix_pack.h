// fp16 copies for the screen in the matrix units: of the points once, of the prototypes in every pass.
#pragma once

#include "backend/cuda/device/device_frame.h"
#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/pass_ranges.h"
#include "backend/cuda/tensor/matrix_bounds.h"
#include "data/input.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <span>

namespace manymeans::cuda {

/// A frame with components of the points below 2^15.
struct HalfFrame : DeviceFrame {
  int exponent = 0;
  RadiusRule radius;
};

/// From a sample of rows, without what is on the device. `largest` bounds every |x_j - centre_j|. `of_product`:
/// product_roundings() of the device.
HalfFrame find_half_frame(const Input& input, std::span<const double> centre, double largest, int of_product);

/// Rows to fp16, with radii and norms, all rounded up. Fills the padding.
void pack_rows(const DevicePoints& points, const HalfFrame& frame, const PackedRows& rows, cudaStream_t stream);

/// Scratch for sorting columns by ascending norm; null if they keep the order of their prototypes.
struct ColumnSort {
  uint64_t* keys = nullptr;         ///< of all columns, for which range and norm
  uint64_t* sorted_keys = nullptr;  ///< likewise
  uint32_t* prototypes = nullptr;   ///< likewise
  void* scratch = nullptr;
  size_t scratch_bytes = 0;

  /// Room for the scratch of any sort of this many columns; the same on every device. It holds keys and prototypes once
  /// more, messages of blocks of at least 128 columns, and the counts of digits.
  static int64_t room(int64_t columns) { return 20 * columns + (int64_t{1} << 20); }
  /// Scratch bytes of the sort on the current device.
  static size_t bytes_for(int64_t columns);
};

/// How far prototypes have moved since they were packed before; with a ColumnSort only.
struct PrototypeShifts {
  const void* prototypes = nullptr;  ///< where those of the session's first model begin
  float* before = nullptr;           ///< in the frame, laid out like these; written
  float* shifts = nullptr;           ///< ScoreThresholds::shifts; written
};

struct MatrixPackTask {
  PassRanges ranges;
  int64_t d = 0;
  HalfFrame frame;
  double bound_scale = 1;
  PackedColumns columns;  ///< its ranges agree with `ranges` in order and prototypes
  ColumnSort sort;
  PrototypeShifts shifts;
  int32_t padded_columns = 0;
  uint32_t* far = nullptr;  ///< per range, 0: becomes 1 where a prototype is too far out to be screened
};

/// Packs prototypes as fp16, with their bounds and the terms of their tiles. If task.sort has room, neighbours in a
/// tile have similar norms, and so similar bounds and offsets.
void pack_matrix_columns(const MatrixPackTask& task, cudaStream_t stream);

}  // namespace manymeans::cuda
