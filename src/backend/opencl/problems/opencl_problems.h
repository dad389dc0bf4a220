// The points of many small problems on a device, for common passes.
#pragma once

#include "backend/backend.h"
#include "backend/opencl/pass/opencl_plan.h"
#include "backend/opencl/runtime/opencl_device.h"

#include <memory>
#include <span>

namespace manymeans::opencl {

/// See Backend::upload_problems().
std::unique_ptr<ProblemUpload> make_problem_upload(const Input& input, std::span<const ModelRows> models,
                                                   const OpenClDevice& device, const UsedDevice& use,
                                                   const BackendOptions& options);

}  // namespace manymeans::opencl
