// The canonical squared distance on a device: docs/developer/contract.md, "Distance and label"; core/distance.h is the
// same for the host. Every operation is an intrinsic with its rounding, which no flag contracts.
//
// Points keep the type they came in; values widen exactly. Storage types: float, double, __half, __nv_bfloat16,
// uint8_t, int8_t. dispatch_type() turns a DataType into one of them.
#pragma once

#include <manymeans/points.h>

#include "backend/cuda/device/device_points.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace manymeans::cuda {

// Exact, denormals and all.
__host__ __device__ inline double widened(float v) {
  return static_cast<double>(v);
}
__host__ __device__ inline double widened(double v) {
  return v;
}
__host__ __device__ inline double widened(__half v) {
  return static_cast<double>(__half2float(v));
}
__host__ __device__ inline double widened(__nv_bfloat16 v) {
  return static_cast<double>(__bfloat162float(v));
}
__host__ __device__ inline double widened(uint8_t v) {
  return static_cast<double>(v);
}
__host__ __device__ inline double widened(int8_t v) {
  return static_cast<double>(v);
}

/// The type of prototypes for points stored as T.
template <class T>
struct PrototypeOf {
  using type = float;
};
template <>
struct PrototypeOf<double> {
  using type = double;
};

/// Calls body(T{}) with the storage type of `type`; every use compiles six kernels.
template <class Body>
void dispatch_type(DataType type, Body&& body) {
  switch (type) {
    case DataType::kFloat32: return body(float{});
    case DataType::kFloat64: return body(double{});
    case DataType::kFloat16: return body(__half{});
    case DataType::kBFloat16: return body(__nv_bfloat16{});
    case DataType::kUInt8: return body(uint8_t{});
    case DataType::kInt8: return body(int8_t{});
  }
}

__device__ inline double squared_step(double x, double c, double p) {
  const double t = __dsub_rn(x, c);
  return __fma_rn(t, t, p);
}

/// d2(x, c), by one thread. T is a storage type, C float or double.
template <class T, class C>
__device__ double canonical_distance(const T* x, const C* c, int64_t d) {
  double p[8] = {};
  int64_t j = 0;
  for (; j + 8 <= d; j += 8) {
#pragma unroll
    for (int l = 0; l < 8; ++l) p[l] = squared_step(widened(x[j + l]), widened(c[j + l]), p[l]);
  }
#pragma unroll
  for (int l = 0; l < 8; ++l) {
    if (j + l < d) p[l] = squared_step(widened(x[j + l]), widened(c[j + l]), p[l]);
  }
  return __dadd_rn(__dadd_rn(__dadd_rn(p[0], p[4]), __dadd_rn(p[2], p[6])),
                   __dadd_rn(__dadd_rn(p[1], p[5]), __dadd_rn(p[3], p[7])));
}

/// The eight lanes' sums in the fixed order, the result in all of eight neighbouring threads (which must all be in
/// `mask`). Additions commute, so each thread may put its own number first.
__device__ inline double fold_eight(double p, unsigned mask = 0xffffffffu) {
  p = __dadd_rn(p, __shfl_xor_sync(mask, p, 4));
  p = __dadd_rn(p, __shfl_xor_sync(mask, p, 2));
  return __dadd_rn(p, __shfl_xor_sync(mask, p, 1));
}

template <int kCentres>
struct Distances {
  double d2[kCentres] = {};
};

/// d2(x, c) of kCentres vectors c, by eight neighbouring threads of a warp; this is thread `lane` (0..7). The bits
/// equal the bits by one thread. Eight values of a row are one 32-byte sector in float32. All threads of `mask` call it
/// together.
template <int kCentres, int kTogether = 8, class T, class C>
__device__ __forceinline__ Distances<kCentres> canonical_distances_by_eight(const T* x, const C* const (&c)[kCentres],
                                                                            int64_t d, int lane, unsigned mask) {
  // Loads of 8 kTogether columns are in flight together: rows are far away, and loads in sequence would each take as
  // long.
  Distances<kCentres> found;
  for (int64_t first = 0; first < d; first += 8 * kTogether) {
    T xs[kTogether];
    C cs[kCentres][kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const int64_t j = first + 8 * i + lane;
      xs[i] = j < d ? x[j] : T{};
#pragma unroll
      for (int k = 0; k < kCentres; ++k) cs[k][i] = j < d ? c[k][j] : C{};
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (first + 8 * i >= d) continue;
      const double wide = widened(xs[i]);  // beyond the last column + 0
#pragma unroll
      for (int k = 0; k < kCentres; ++k) found.d2[k] = squared_step(wide, widened(cs[k][i]), found.d2[k]);
    }
  }
#pragma unroll
  for (double& p : found.d2) p = fold_eight(p, mask);
  return found;
}

/// As canonical_distances_by_eight(), of one vector.
template <int kTogether = 8, class T, class C>
__device__ double canonical_distance_by_eight(const T* x, const C* c, int64_t d, int lane,
                                              unsigned mask = 0xffffffffu) {
  const C* const one[1] = {c};
  return canonical_distances_by_eight<1, kTogether>(x, one, d, lane, mask).d2[0];
}

}  // namespace manymeans::cuda
