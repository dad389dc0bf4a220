// The statistics of all devices that share the rows, on each of them.
#pragma once

#include "backend/device/device_kernels.h"

#include <cuda_runtime.h>

namespace manymeans::cuda {

/// Own statistics into the memory of the others.
void send_statistics(const device::PassKernels::Joining& joining, int multiprocessors, cudaStream_t stream);
/// The sums of own statistics and of those that others sent.
void join_statistics(const device::PassKernels::Joining& joining, int multiprocessors, cudaStream_t stream);

}  // namespace manymeans::cuda
