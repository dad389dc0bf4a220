// The points as kernels read them: pointers into device memory with another owner.
#pragma once

#include <manymeans/points.h>

#include <cstdint>

namespace manymeans::cuda {

/// N x D points in device memory, row-major without gaps, in the type they came in.
struct DevicePoints {
  const void* data = nullptr;
  DataType type = DataType::kFloat32;
  int64_t n = 0;
  int64_t d = 0;
  const double* weights = nullptr;  ///< w' of Input, n values, or nullptr: all one
  int64_t first = 0;                ///< the number of the first row, where these are a part of all points
  int64_t number = 0;  ///< its number among the rows of all ranks: what label terms and random numbers take

  size_t bytes() const { return static_cast<size_t>(n) * static_cast<size_t>(d) * size_of(type); }
};

}  // namespace manymeans::cuda
