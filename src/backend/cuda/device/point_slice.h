// Rows that are on the device together, and what the screens know of them.
#pragma once

#include "backend/cuda/device/device_frame.h"
#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/matrix_operands.h"

namespace manymeans::cuda {

struct PointSlice {
  DevicePoints points;  ///< `first` says their place among all
  PackedRows packed;    ///< for the matrix screen
  RowNorms norms;       ///< for the float32 screen of more than kLowColumns columns
};

}  // namespace manymeans::cuda
