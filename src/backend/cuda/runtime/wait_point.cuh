// Where kernels wait, and where they let others go on.
#pragma once

namespace manymeans::cuda {

/// Called before and after every wait and release that these sources write out. Does nothing here. The chaos build
/// (MANYMEANS_CUDA_CHAOS) replaces this file by tests/backend/cuda/instances/chaos_wait_point.cuh, which sleeps.
__device__ __forceinline__ void wait_point() {}

}  // namespace manymeans::cuda
