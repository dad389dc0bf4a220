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

template <bool kFloats>
__device__ __forceinline__ double value_of(const DevicePoints& points, int64_t at) {
  if constexpr (kFloats) return widened(static_cast<const float*>(points.data)[at]);
  return load_double(points, at);
}

template <bool kFloats>
__device__ __forceinline__ double prototype_of(const PassRange& range, bool float64, int64_t at) {
  if constexpr (kFloats) return widened(static_cast<const float*>(range.prototypes)[at]);
  return prototype_value(range, float64, at);
}

/// d2 of a row and a prototype by the 8 neighbouring threads that call this together; all get it. With kFloats both are
/// float32, so that loads of several steps are in flight together.
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
    p = squared_step(load_double(points, row * d + j), prototype_value(range, float64, k * d + j), p);
  }
  return fold_eight(p, mask);
}

/// A row and two prototypes of a range.
struct TwoPairs {
  const PassRange& range;
  bool float64;  ///< the prototypes' type
  int64_t row;
  const uint32_t* k;
};

/// As distance_by_lanes(), of both pairs. With kFloats the row is read once.
template <bool kFloats>
__device__ __forceinline__ Distances<2> distances_of_two(const DevicePoints& points, const TwoPairs& two, int lane,
                                                         unsigned mask) {
  const auto& [range, float64, row, k] = two;
  if constexpr (kFloats) {
    const auto* all = static_cast<const float*>(range.prototypes);
    const float* const prototypes[2] = {all + k[0] * points.d, all + k[1] * points.d};
    return canonical_distances_by_eight(static_cast<const float*>(points.data) + row * points.d, prototypes, points.d,
                                        lane, mask);
  }
  return {{distance_by_lanes<kFloats>(points, {range, float64, row, k[0]}, lane, mask),
           distance_by_lanes<kFloats>(points, {range, float64, row, k[1]}, lane, mask)}};
}

/// Folds eight canonical distances over eight neighbouring threads. Each thread holds one lane of all eight distances
/// in p. Thread l gets the distance that the values [l] of all eight fold to. One exchange of two values serves both
/// threads, so this takes 7 exchanges where fold_eight() would take 24. All threads of the warp call it together.
__device__ __forceinline__ double fold_eight_each(double (&p)[kLanes], int lane) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) {
    const bool upper = (lane & step) != 0;
#pragma unroll
    for (int i = 0; i < step; ++i) {
      const double given = upper ? p[i] : p[i + step];
      const double kept = upper ? p[i + step] : p[i];
      p[i] = __dadd_rn(kept, __shfl_xor_sync(~0U, given, step));
    }
  }
  return p[0];
}

/// A row and the prototypes [first, first + kLanes) of a range; prototypes at `end` and beyond do not count.
struct RowOfEight {
  const PassRange& range;
  bool float64;  ///< the prototypes' type
  int64_t row;
  int64_t first;
  int64_t end;
};

/// d2 of the row and prototype first + lane by 8 neighbouring threads: each has the row's values in registers for all
/// eight prototypes. All threads of the warp call it together; beyond `end` the distance is some other prototype's.
template <bool kFloats>
__device__ __forceinline__ double distances_of_eight(const DevicePoints& points, const RowOfEight& of, int lane) {
  constexpr int kSteps = 2;  // of eight columns; their loads are under way together
  const int64_t d = points.d;
  double p[kLanes] = {};
  for (int64_t first = 0; first < d; first += kSteps * kLanes) {
    double x[kSteps];
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const int64_t j = first + s * kLanes + lane;
      x[s] = j < d ? value_of<kFloats>(points, of.row * d + j) : 0;
    }
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      const int64_t k = min(of.first + i, of.end - 1);
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        const int64_t j = first + s * kLanes + lane;
        const double c = j < d ? prototype_of<kFloats>(of.range, of.float64, k * d + j) : 0;
        p[i] = squared_step(x[s], c, p[i]);  // beyond the last column + 0
      }
    }
  }
  return fold_eight_each(p, lane);
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

/// The nearest over all threads of the warp.
__device__ inline Nearest warp_nearest(Nearest mine) {
  for (int step = 16; step > 0; step /= 2) {
    const double distance = __shfl_xor_sync(~0U, mine.distance, step);
    const long long k = __shfl_xor_sync(~0U, mine.k, step);
    mine.take(distance, k);
  }
  return mine;
}

/// The nearest of the prototypes [first, end) of a row, by a team: a warp, or all threads of a block of `of_warps`
/// warps. Its first thread has it.
template <bool kFloats>
__device__ Nearest nearest_of(const DevicePoints& points, const RowOfEight& of, bool by_block, SliceNearest* of_warps) {
  const unsigned thread = by_block ? threadIdx.x : threadIdx.x % 32;
  const unsigned threads = by_block ? blockDim.x : 32;
  Nearest mine{INFINITY, of.range.k};
  const int lane = threadIdx.x % kLanes;
  for (int64_t of_warp = of.first + thread / 32 * 32; of_warp < of.end; of_warp += threads) {
    const int64_t eight = of_warp + thread % 32 / kLanes * kLanes;
    const double d2 = distances_of_eight<kFloats>(points, {of.range, of.float64, of.row, eight, of.end}, lane);
    if (eight + lane < of.end) mine.take(d2, eight + lane);
  }
  mine = warp_nearest(mine);
  if (threads == 32) return mine;
  __syncthreads();  // of_warps may still be read
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  for (unsigned w = 0; w < threads / 32; ++w) mine.take(of_warps[w].distance, of_warps[w].k);
  return mine;
}

}  // namespace manymeans::cuda
