// Checks that a device computes as the contract requires, when it is first used.
#pragma once

#include "backend/opencl/runtime/opencl_device.h"

namespace manymeans::opencl {

/// Compares 100,000 triples of binary64 numbers, denormals among them, with the host: fma, a * b + c, difference,
/// quotient, root and conversions have the same bits. So have the operations of the screens in float32, where numbers
/// that underflow may become zero. A device is tried once; two threads try both types at the same time.
bool computes_alike(const OpenClDevice& device);

}  // namespace manymeans::opencl
