// The points of many small problems on a device, for common passes.
#pragma once

#include "backend/backend.h"
#include "backend/cuda/pass/cuda_plan.h"

#include <memory>
#include <span>

namespace manymeans::cuda {

/// See Backend::upload_problems().
std::unique_ptr<ProblemUpload> make_problem_upload(const Input& input, std::span<const ModelRows> models,
                                                   const CudaDevice& device, const BackendOptions& options);

}  // namespace manymeans::cuda
