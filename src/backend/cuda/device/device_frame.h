// The frame of a screen's rounded copies, as kernels know it.
#pragma once

#include <cstdint>

namespace manymeans::cuda {

/// y = (x - centre) * 2^exponent on the device; centre: d values.
struct DeviceFrame {
  const double* centre = nullptr;
  const float* scaled_centre = nullptr;  ///< centre * 2^exponent, exact but for underflow; used if `in_float`
  double scale = 1;
  float float_scale = 1;
  bool in_float = false;  ///< float32 subtraction of scaled values gives y, rounded once
};

/// Norms of rows. Times `scale`, a power of two, the norms in one frame are the norms in another.
struct RowNorms {
  const float* values = nullptr;  ///< n >= |y|
  float scale = 1;

#ifdef __CUDACC__
  __device__ __forceinline__ float operator[](int64_t row) const { return scale * values[row]; }
#endif
};

}  // namespace manymeans::cuda
