// Linear models on a CUDA device.
#pragma once

#include "backend/backend.h"
#include "backend/cuda/pass/cuda_plan.h"

#include <memory>

namespace manymeans::cuda {

/// On the calling thread's device. `input` must outlive it.
std::unique_ptr<Upload> make_linear_upload(const Input& input, const CudaDevice& device, const BackendOptions& options,
                                           const Workload& workload);

}  // namespace manymeans::cuda
