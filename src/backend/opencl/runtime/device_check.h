// Whether a device computes as the contract asks: it is tried when it is first used.
#pragma once

#include "backend/opencl/runtime/opencl_device.h"

namespace manymeans::opencl {

/// Of 100,000 triples of binary64 numbers, denormals among them, fma, a * b + c, difference, quotient, root and
/// conversions are those of the host, bit for bit; asked once for a device. False also where it has no binary64.
bool computes_doubles(const OpenClDevice& device);

/// The same of what screens do in float32, where whatever underflows may become zero.
bool computes_floats(const OpenClDevice& device);

/// Asks both at once, where there is a thread to spare: whoever opens a device waits for them.
void try_arithmetic(const OpenClDevice& device);

}  // namespace manymeans::opencl
