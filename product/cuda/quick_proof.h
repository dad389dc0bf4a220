// Proofs in float32 of a product's entries. They prove only what certify_float() proves, or would prove without its own
// roundings. They avoid the binary64 units, for which they would wait while others multiply. On the host for the test.
#pragma once

#include "core/everywhere.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace manymeans::cuda {

/// The product of two lines' factors is kQuickScale times their sum's error.
constexpr double kQuickScale = 0x1p55;

namespace detail {

#ifdef __CUDA_ARCH__
__device__ __forceinline__ float toward_zero(int value) {
  return __int2float_rz(value);
}
__device__ __forceinline__ float product_toward_zero(float a, float b) {
  return __fmul_rz(a, b);
}
__device__ __forceinline__ float product_upwards(float a, float b) {
  return __fmul_ru(a, b);
}
__device__ __forceinline__ float upwards(double value) {
  return __double2float_ru(value);
}
#else
MANYMEANS_EVERYWHERE inline float toward_zero(double value) {
  const auto nearest = static_cast<float>(value);
  return std::fabs(static_cast<double>(nearest)) > std::fabs(value) ? std::nextafterf(nearest, 0.0F) : nearest;
}
MANYMEANS_EVERYWHERE inline float upwards(double value) {
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) < value ? std::nextafterf(nearest, HUGE_VALF) : nearest;
}
// Products of two float32 numbers are exact in binary64.
MANYMEANS_EVERYWHERE inline float product_toward_zero(float a, float b) {
  return toward_zero(static_cast<double>(a) * static_cast<double>(b));
}
MANYMEANS_EVERYWHERE inline float product_upwards(float a, float b) {
  return upwards(static_cast<double>(a) * static_cast<double>(b));
}
#endif

MANYMEANS_EVERYWHERE inline uint32_t bits_of(float value) {
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace detail

/// A line's factor, of its norm and what makes norms factors.
MANYMEANS_EVERYWHERE inline float quick_factor(double norm, double factor_of_norm) {
  return detail::upwards(norm * factor_of_norm);
}

/// kQuickScale times the error of a sum of two lines, or more.
MANYMEANS_EVERYWHERE inline float quick_bound(float row_factor, float column_factor) {
  return detail::product_upwards(row_factor, column_factor);
}

/// Returns true if a sum proves that the nearest number, `entry`, is the entry. The error must not reach a point midway
/// between two float32 numbers. Proves nothing if the entry is 0, denormal, or infinite with infinite error
/// (docs/developer/screens.md, "Products").
MANYMEANS_EVERYWHERE inline bool proves_quickly(double sum, float bound, float& entry) {
  entry = static_cast<float>(sum);
  // Eighths of units in the sum's last place from the middle, the last 29 bits of a mantissa being less than float32's.
  uint64_t bits = 0;
  memcpy(&bits, &sum, sizeof bits);
  const uint32_t away = static_cast<uint32_t>(bits) * 8 + 0x80000000;
  const float eighths = fabsf(detail::toward_zero(static_cast<int>(away)));
  // The power of two of the sum; half of it where the entry is a power of two, below which numbers are twice as dense.
  const float below = detail::product_toward_zero(entry, 0x1.fffffep-1F);
  const uint32_t field = detail::bits_of(below) & 0x7f800000;
  float power = 0;
  memcpy(&power, &field, sizeof power);
  return detail::product_toward_zero(eighths, power) > bound;
}

}  // namespace manymeans::cuda
