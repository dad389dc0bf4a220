// Order-free sums on a device: docs/developer/contract.md, "Order-free sums"; core/fixed_point.h has the host's.
#pragma once

#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/device/term_splitter.h"
#include "backend/cuda/device/wide.cuh"

#include <cstdint>

namespace manymeans::cuda {

/// to[g] += sign * t_g, sum of t_g 2^(g * bits) = T(v) = RNE(v * 2^shift). All parts have the sign of v. Each remainder
/// is exact; only the last limb rounds. Where the scaling itself rounds (a denormal result), the term is far below one
/// half and T is 0 whatever the rounding. G: the format's limbs.
template <int G>
__device__ void add_limbs(const TermSplitter& splitter, double v, int64_t sign, int64_t (&to)[G]) {
  double y = splitter.fast ? __dmul_rn(v, splitter.top) : scaled_by_power(v, splitter.top_exponent);
#pragma unroll
  for (int g = G - 1; g > 0; --g) {
    const long long part = __double2ll_rz(y);
    to[g] += sign * part;
    y = __dmul_rn(__dsub_rn(y, __ll2double_rn(part)), splitter.radix);
  }
  to[0] += sign * __double2ll_rn(y);
}

/// Integer atomics: sums mod 2^64, so the order is free.
__device__ inline void atomic_add(int64_t* to, int64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

/// Adds the limbs of all threads of the block to to[0 .. G). All threads call it; `scratch` is shared memory of
/// G * 32 numbers. Ends with the block synchronised.
template <int G>
__device__ void block_add(const int64_t (&limbs)[G], int64_t* to, int64_t* scratch) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warps = (static_cast<int>(blockDim.x) + 31) / 32;
#pragma unroll
  for (int g = 0; g < G; ++g) {
    const int64_t sum = warp_sum(limbs[g]);
    if (lane == 0) scratch[g * 32 + warp] = sum;
  }
  __syncthreads();
  if (warp == 0) {
#pragma unroll
    for (int g = 0; g < G; ++g) {
      const int64_t sum = warp_sum(lane < warps ? scratch[g * 32 + lane] : 0);
      if (lane == 0 && sum != 0) atomic_add(&to[g], sum);
    }
  }
  __syncthreads();
}

/// RN(S) of limbs: rounded_sum() of core/fixed_point.h, for at most 6 limbs.
__device__ inline double device_rounded_sum(const int64_t* limbs, int count, int bits, int64_t stride = 1) {
  if (count == 1) return __ll2double_rn(limbs[0]);
  if (count == 2) return recombined<2>(limbs, count, bits, stride).to_double();  // below 2^63 (1 + 2^62)
  if (count <= 4) return recombined<4>(limbs, count, bits, stride).to_double();
  return recombined<7>(limbs, count, bits, stride).to_double();
}

}  // namespace manymeans::cuda
