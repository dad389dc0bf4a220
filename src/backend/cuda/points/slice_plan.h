// How the points of an upload come to the device, and for which screen: cuda_plan.h decides it.
#pragma once

#include <cstdint>

namespace manymeans::cuda {

enum class ScreenKind : uint8_t {
  kNone,           ///< canonical distances only
  kFloat,          ///< float32 by fused multiply-adds
  kMatrix,         ///< fp16 in the matrix units
  kBoundingBoxes,  ///< boxes of neighbouring rows, then canonical distances
};

struct SlicePlan {
  ScreenKind screen = ScreenKind::kFloat;
  int32_t padded_columns = 0;  ///< of a packed row, for kMatrix
  // Where not everything fits: rows that a pass has on the device together, a multiple of kSliceRows, and the first
  // rows, whole slices, whose points stay there (all those of points that lie on the device already).
  int64_t slice_rows = 0;
  int64_t resident_rows = 0;

  /// All rows at once.
  bool whole(int64_t n) const { return slice_rows >= n; }
};
constexpr int64_t kSliceRows = 4096;

}  // namespace manymeans::cuda
