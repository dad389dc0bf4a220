// Shape and machine -> a plain struct that the backend obeys. It never changes results.
#pragma once

#include "backend/backend.h"
#include "backend/bounds_policy.h"
#include "backend/cpu/choose/screen_costs.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/screen/points_plan.h"
#include "data/input.h"

#include <cstdint>
#include <span>

namespace manymeans {

/// Settings for the models of one session.
struct SessionPlan {
  int64_t tiles_per_block = 1;   ///< tiles that one thread labels together, so that prototypes are read once for them
  int64_t spans_per_chunk = 1;   ///< spans of prototypes that stay in the first cache while a block's tiles pass
  int64_t max_spans = 1;         ///< of one model
  bool by_label_order = false;   ///< accumulate by cluster instead of with a copy of the statistics per thread
  bool carry_bounds = false;     ///< some models may have CarriedBounds
  int64_t bounded_models = 0;    ///< max number of models that carry bounds at the same time
  int64_t tiles_per_search = 1;  ///< tiles among which one thread looks for rows to label: a block, or with bounds more
  int64_t statistics_bytes = 0;  ///< of one copy
};

/// Returns whether `auto` plans a kd-tree if there is room for one.
bool tree_pays(const BackendOptions& options, const PointsView& points, const Workload& workload);

/// Chooses the screen and whether its rounded copy of the points is kept. `memory`: of earlier uploads.
PointsPlan plan_points(const Input& input, const CpuKernels& kernels, const BackendOptions& options,
                       const Workload& workload, ScreenMemory* memory = nullptr);
/// Returns whether copies of the points may take `bytes` bytes.
bool has_room(const Input& input, const BackendOptions& options, int64_t bytes);
/// Of a model of k prototypes, under this plan.
BoundsUse bounds_use(const PointsPlan& plan, int64_t k);
/// The share of rows that must keep their label after an exact distance for these distances to pay.
double worth_of_tightening(const PointsPlan& plan, int64_t k, int64_t d);
/// `k` prototypes of every model; `memory_budget` in bytes, 0: from what the machine has.
SessionPlan plan_session(const Input& input, const PointsPlan& points, std::span<const int64_t> k, int threads,
                         int64_t memory_budget);

}  // namespace manymeans
