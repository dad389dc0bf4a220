#pragma once

#include "backend/cuda/tensor/matrix_screen.h"

#include <cstdint>

namespace manymeans::cuda {

constexpr int kPanelColumns = 64;  ///< halves of a row that the kernels copy together: 128 bytes

/// Arguments of the matrix screen's kernels, in addition to their tensor maps.
struct MatrixTask {
  PackedRows points;
  PackedColumns columns;
  ScreenOutput output;
  int32_t tiles;        // of columns
  int32_t row_tiles;    // of the kernel's height
  int32_t panels;       // of 64 halves
  int32_t lag;          // meeting_lag(), of the kernels of long rows
  uint32_t place_mask;  // ~(tile_columns / 4 - 1)
  Counted counted;      // of MatrixPurpose::kProveCounted
};

}  // namespace manymeans::cuda
