// Where kernels wait, and where they let others go on.
#pragma once

namespace manymeans::cuda {

/// Stands before and after every wait and release that these sources write out. Nothing here; the chaos build
/// (MANYMEANS_CUDA_CHAOS, tests/backend/cuda/instances/chaos_wait_point.cuh) has another file in this one's place,
/// which sleeps.
__device__ __forceinline__ void wait_point() {}

}  // namespace manymeans::cuda
