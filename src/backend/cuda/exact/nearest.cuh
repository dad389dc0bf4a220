// Canonical distances between points and prototypes as the device has them, and the nearest of some.
#pragma once

#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/device/point_value.cuh"
#include "backend/cuda/exact/resolve.h"

#include <cstdint>

namespace manymeans::cuda {

constexpr int kLanes = 8;  ///< of the canonical distance: a thread each

/// A row and a prototype of a range.
struct Pair {
  const PassRange& range;
  bool float64;  ///< the prototypes' type
  int64_t row;
  int64_t k;
};

/// d2 of a row and a prototype by the 8 neighbouring threads that call this together; all get it. kFloats: the points
/// are float32, which lets loads of several steps be in flight together.
template <bool kFloats>
__device__ __forceinline__ double distance_by_lanes(const DevicePoints& points, const Pair& pair, int lane,
                                                    unsigned mask) {
  const auto& [range, float64, row, k] = pair;
  const int64_t d = points.d;
  if constexpr (kFloats) {
    return canonical_distance_by_eight(static_cast<const float*>(points.data) + row * d,
                                       static_cast<const float*>(range.prototypes) + k * d, d, lane, mask);
  }
  double p = 0;
  for (int64_t j = lane; j < d; j += kLanes) {
    const double t = __dsub_rn(load_double(points, row * d + j), prototype_value(range, float64, k * d + j));
    p = __fma_rn(t, t, p);
  }
  return fold_eight(p, mask);
}

/// One thread, all lanes.
__device__ inline double distance_alone(const DevicePoints& points, int64_t row, const PassRange& range, bool float64,
                                        int64_t k) {
  const int64_t d = points.d;
  double p[kLanes] = {};
  for (int64_t first = 0; first < d; first += kLanes) {
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      const int64_t j = first + lane;
      if (j >= d) continue;
      const double t = __dsub_rn(load_double(points, row * d + j), prototype_value(range, float64, k * d + j));
      p[lane] = __fma_rn(t, t, p[lane]);
    }
  }
  const double even = __dadd_rn(__dadd_rn(p[0], p[4]), __dadd_rn(p[2], p[6]));
  return __dadd_rn(even, __dadd_rn(__dadd_rn(p[1], p[5]), __dadd_rn(p[3], p[7])));
}

/// The nearest of the prototypes seen so far, the lowest index of equals.
struct Nearest : SliceNearest {
  Nearest() = default;
  __device__ Nearest(double d2, long long index) : SliceNearest{d2, index} {}
  __device__ void take(double other_distance, long long other) {
    if (other_distance < distance || (other_distance == distance && other < k)) {
      distance = other_distance;
      k = other;
    }
  }
};

/// Of all threads of the warp.
__device__ inline Nearest warp_nearest(Nearest mine) {
  for (int step = 16; step > 0; step /= 2) {
    const double distance = __shfl_xor_sync(~0U, mine.distance, step);
    const long long k = __shfl_xor_sync(~0U, mine.k, step);
    mine.take(distance, k);
  }
  return mine;
}

}  // namespace manymeans::cuda
