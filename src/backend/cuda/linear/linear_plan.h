// The plan of the cuda backend for linear models of a shape, made before anything is allocated.
#pragma once

#include "backend/backend.h"
#include "backend/cuda/linear/solve_models.h"
#include "backend/cuda/pass/cuda_plan.h"
#include "backend/device/row_slices.h"
#include "data/input.h"

#include <cstdint>
#include <span>
#include <string>

namespace manymeans::cuda {

struct LinearPlan : device::SlicePlan {
  int64_t upload_bytes = 0;  ///< device memory of an upload
  double usual_seconds = 0;  ///< that a pass may take, see Patience
  SolveWords solve = SolveWords::kNone;
  std::string text;  ///< for people
};

/// Throws Error(kUnavailable) where not even slices fit, and Error(kUsage) for an algorithm that linear models do not
/// have.
LinearPlan make_linear_plan(const Input& input, const CudaDevice& device, const BackendOptions& options,
                            const Workload& workload);

/// Returns true if the rest of a product, its rounding error, may be other than 0.
bool rests_of_products(const Input& input);
/// Labels that a pass finds for a slice's rows: from one model's to the next.
int64_t label_stride_of_slice(const Input& input, const device::SlicePlan& plan);
/// Entries of the rows that change, of all models (LabelOrder).
int64_t product_entries(const Input& input, const device::SlicePlan& plan, int64_t models);
/// Device memory of a session of models with these numbers of prototypes.
int64_t linear_session_bytes(const Input& input, const device::SlicePlan& plan, std::span<const int64_t> k);

}  // namespace manymeans::cuda
