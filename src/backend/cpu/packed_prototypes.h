// The prototypes of one model as the screen sees them, with a proved bound for every score: docs/screens.md.
//
//   u_k(x) = offset_k + x~ . z~_k + norm(x) slope_k   is at least the true score S_k,
//   u_k(x) - 2 (norm(x) slope_k + error_k)            is at most S_k,
//
// where S_k = y . z_k - |z_k|^2 / 2 of the exact centred and scaled point and prototype.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/packed_points.h"
#include "core/aligned_buffer.h"

#include <vector>

namespace manymeans {

struct PackedPrototypes {
  int64_t k = 0;
  int64_t blocks = 0;
  bool screenable = true;        ///< false: a prototype is too far out for float32; use exact distances
  AlignedBuffer<float> values;   ///< blocks x d x R
  AlignedBuffer<float> offsets;  ///< blocks * R; padding and repeated prototypes can never win
  AlignedBuffer<float> slopes;
  std::vector<float> errors;  ///< blocks * R
  float slack = 0;            ///< a point's own share of a margin is slack * norm^2 + underflow
  float underflow = 0;

  /// Score error of prototype k for a point of this norm, one side.
  float bound(int64_t index, float norm) const {
    return norm * slopes[static_cast<size_t>(index)] + errors[static_cast<size_t>(index)];
  }
  float point_slack(float norm) const { return slack * norm * norm + underflow; }
};

/// `bound_scale` is 1 but in tests that want to see a wrong bound fail.
PackedPrototypes pack_prototypes(const Matrix& prototypes, const Frame& frame, const CpuKernels& kernels,
                                 double bound_scale);

}  // namespace manymeans
