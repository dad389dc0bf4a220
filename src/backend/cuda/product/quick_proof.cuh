// What float32 proves of an entry of a product: nothing that certify_float() does not prove, but for what that loses by
// its own roundings, and without the units of binary64, for which it would have to wait while others multiply.
#pragma once

#include "backend/cuda/product/packed_product.h"

#include <cstdint>

namespace manymeans::cuda {

/// Whether a sum proves that the number next to it, `entry`, is the entry: whether no point midway between two float32
/// numbers is within the error of it. `bound`: kQuickScale times the error, or more. Proves nothing where the entry is
/// 0, denormal or infinite (docs/developer/screens.md, "Products").
__device__ __forceinline__ bool proves_quickly(double sum, float bound, float& entry) {
  entry = __double2float_rn(sum);
  // Eighths of units in the sum's last place from the middle, the last 29 bits of a mantissa being less than float32's.
  const uint32_t away = static_cast<uint32_t>(__double2loint(sum)) * 8 + 0x80000000;
  const float eighths = fabsf(__int2float_rz(static_cast<int>(away)));
  // The power of two of the sum; half of it where the entry is a power of two, below which numbers are twice as dense.
  const float below = __fmul_rz(entry, 0x1.fffffep-1F);
  const float power = __uint_as_float(__float_as_uint(below) & 0x7f800000);
  return __fmul_rz(eighths, power) > bound;
}

}  // namespace manymeans::cuda
