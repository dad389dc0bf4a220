// How the points of an upload come to the device, and for which screen: cuda_plan.h decides it.
#pragma once

#include "backend/device/row_slices.h"

#include <cstdint>

namespace manymeans::cuda {

enum class ScreenKind : uint8_t {
  kNone,           ///< canonical distances only
  kFloat,          ///< float32 by fused multiply-adds
  kMatrix,         ///< fp16 in the matrix units
  kBoundingBoxes,  ///< boxes of neighbouring rows, then canonical distances
};

/// Rows of a slice are a multiple of kSliceRows.
struct SlicePlan : device::SlicePlan {
  ScreenKind screen = ScreenKind::kFloat;
  int32_t padded_columns = 0;  ///< of a packed row, for kMatrix
};
constexpr int64_t kSliceRows = 4096;

}  // namespace manymeans::cuda
