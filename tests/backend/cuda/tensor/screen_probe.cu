// Does the matrix unit add as the screen's bound assumes?
#include "backend/cuda/runtime/ptx.cuh"
#include "backend/cuda/tensor/matrix_bounds.h"
#include "backend/cuda/tensor/matrix_screen.h"
#include "backend/cuda/tensor/warp_product.cuh"
#include "backend/cuda/tensor/wgmma.cuh"
#include "screen_check.h"

#include <cmath>

namespace manymeans::test {

using namespace cuda;

namespace {

__device__ inline int swizzled(int row, int column) {  // of a panel of halves, 64 wide
  return row * 64 + ((column / 8) ^ (row % 8)) * 8 + column % 8;
}

// sums += a b' for the 16 rows of a warp, eight columns at a time; the elements of wgmma's fragments.
__device__ void multiply_by_warps(const __half* a, const __half* b, float (&sums)[32]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const auto two = [](const __half* matrix, int row, int column) {
    return *reinterpret_cast<const uint32_t*>(matrix + swizzled(row, column));
  };
  const int row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
  const int column = lane % 4 * 2;
  const uint32_t left[4] = {two(a, row, column), two(a, row + 8, column), two(a, row, column + 8),
                            two(a, row + 8, column + 8)};
  for (int t = 0; t < 8; ++t) {
    float four[4] = {sums[4 * t], sums[4 * t + 1], sums[4 * t + 2], sums[4 * t + 3]};
    multiply_add(four, left, two(b, t * 8 + lane / 4, column), two(b, t * 8 + lane / 4, column + 8));
    for (int e = 0; e < 4; ++e) sums[4 * t + e] = four[e];
  }
}

// As multiply_by_warps(), in tf32 and for the first eight columns. tf32 has all values of fp16.
__device__ void multiply_by_warps_tf32(const __half* a, const __half* b, float (&sums)[32]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const auto one = [](const __half* matrix, int row, int column) {
    return __half2float(matrix[swizzled(row, column)]);
  };
  const int row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
  const int column = lane % 4;
  const float left[4] = {one(a, row, column), one(a, row + 8, column), one(a, row, column + 4),
                         one(a, row + 8, column + 4)};
  for (int t = 0; t < 8; ++t) {
    const float before[4] = {sums[4 * t], sums[4 * t + 1], sums[4 * t + 2], sums[4 * t + 3]};
    float four[4];
    multiply_tf32(four, left, one(b, t * 8 + lane / 4, column), one(b, t * 8 + lane / 4, column + 4), before);
    for (int e = 0; e < 4; ++e) sums[4 * t + e] = four[e];
  }
}

enum class Unit : uint8_t { kFourWarps, kWarp, kWarpTf32 };

// Each block makes `rounds` products of 64 x 64 x 16 (tf32: 8) from random numbers of several kinds and keeps the
// largest error, in units of 2^-22 of the largest magnitude.
template <Unit kUnit>
__global__ void probe_sums(int rounds, uint32_t seed, double* worst) {
  __shared__ __align__(1024) __half a[64 * 64];
  __shared__ __align__(1024) __half b[64 * 64];
  double most = 0;
  for (int round = 0; round < rounds; ++round) {
    const uint64_t base =
        (static_cast<uint64_t>(seed) << 48) + (static_cast<uint64_t>(blockIdx.x) * rounds + round) * 8192;
    const int kind = round % 8;
    const auto value = [&](uint32_t u) {
      const int spread = kind == 0 ? 1 : kind == 1 ? 4 : kind == 2 ? 12 : 24;
      const float mantissa = 1.0F + static_cast<float>(kind == 7 ? 1023 : u & 0x3FF) * 0x1p-10F;
      const int exponent = static_cast<int>(u >> 10) % spread - spread / 2;
      const float v = ldexpf(mantissa, exponent);
      return kind < 4 && (u >> 20 & 1) ? -v : v;
    };
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < 64 * 16; i += 128) {
      a[swizzled(i / 16, i % 16)] = __float2half(value(mix(base + i)));
      b[swizzled(i / 16, i % 16)] = __float2half(value(mix(base + 1024 + i)));
    }
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    fence_proxies();
#endif
    __syncthreads();
    float sums[32];
    float before[32];
    const int c_exponent = static_cast<int>(mix(base + 5000) % 40U) - 20;
    for (int i = 0; i < 32; ++i) {
      const uint32_t u = mix(base + 2048 + static_cast<uint64_t>(i) * 128 + threadIdx.x);
      const float c = ldexpf(1.0F + static_cast<float>(u & 0x7FFFFF) * 0x1p-23F, c_exponent);
      before[i] = sums[i] = kind == 6 ? 0.0F : (u >> 24 & 1) ? -c : c;
    }
    if constexpr (kUnit == Unit::kWarpTf32) {
      multiply_by_warps_tf32(a, b, sums);
    } else if constexpr (kUnit == Unit::kWarp) {
      multiply_by_warps(a, b, sums);
    } else {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
      pin(sums);
      wgmma_fence();
      wgmma<64>(sums, panel_descriptor(a), panel_descriptor(b), 1);
      wgmma_commit();
      wgmma_wait<0>();
      pin(sums);
#endif
    }
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int i = 0; i < 32; ++i) {
      const int row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4 + (i % 4 / 2) * 8;
      const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      double exact = before[i];
      double largest = fmax(fabs(exact), fabs(static_cast<double>(sums[i])));
      for (int j = 0; j < (kUnit == Unit::kWarpTf32 ? 8 : 16); ++j) {
        const double product = static_cast<double>(__half2float(a[swizzled(row, j)])) *
                               static_cast<double>(__half2float(b[swizzled(column, j)]));
        exact += product;  // exact but for 2^-53 of the largest, far below what is looked for
        largest = fmax(largest, fabs(product));
      }
      most = fmax(most, fabs(static_cast<double>(sums[i]) - exact) / (largest * kProductUnit));
    }
  }
  atomicMax(reinterpret_cast<unsigned long long*>(worst), static_cast<unsigned long long>(__double_as_longlong(most)));
}

template <Unit kUnit>
bool probe_one(const char* name) {
  Device<double> worst(1);
  worst.fill(0);
  const int rounds = 400;
  const int blocks = 132 * 8;
  probe_sums<kUnit><<<blocks, 128>>>(rounds, 1, worst.data);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  const double most = worst.host()[0];
  std::printf("probe of %s: %.3g sums; the worst is off by %.4f units of 2^-22 of the largest magnitude; assumed %d\n",
              name, static_cast<double>(rounds) * blocks * 64 * 64, most, product_roundings(true));
  return most <= product_roundings(true) && most != 0;
}

}  // namespace

bool probe_matrix_units() {
  const bool of_four_warps = matrix_unit_of(0) != MatrixUnit::kHopper || probe_one<Unit::kFourWarps>("wgmma");
  const bool of_warps = probe_one<Unit::kWarp>("mma.sync, fp16");
  return probe_one<Unit::kWarpTf32>("mma.sync, tf32") && of_warps && of_four_warps;
}

}  // namespace manymeans::test
