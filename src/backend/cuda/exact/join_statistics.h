// The statistics of all devices that share the rows, on each of them.
#pragma once

#include "backend/device/device_kernels.h"

#include <cuda_runtime.h>

namespace manymeans::cuda {

/// Adds up a share of all devices' statistics, and writes it to all of them.
void join_statistics(const device::PassKernels::Joining& joining, int multiprocessors, cudaStream_t stream);

}  // namespace manymeans::cuda
