// The statistics of all devices that share the rows, on each of them.
#pragma once

#include "backend/device/device_kernels.h"

#include <cuda_runtime.h>

namespace manymeans::cuda {

/// Writes own statistics into the memory of the others.
void send_statistics(const device::PassKernels::Joining& joining, int multiprocessors, cudaStream_t stream);
/// Adds up own statistics and the statistics that others sent.
void join_statistics(const device::PassKernels::Joining& joining, int multiprocessors, cudaStream_t stream);

}  // namespace manymeans::cuda
