// Shape and machine -> a plain struct that the backend obeys. Nothing here changes results.
#pragma once

#include "backend/cpu/kernels.h"
#include "data/input.h"

#include <cstdint>
#include <string>

namespace manymeans {

struct PointsPlan {
  bool brute = false;   ///< canonical distances only
  bool packed = false;  ///< packed copy kept for the fit; else tiles are packed in every pass
  int64_t packed_bytes = 0;
  std::string why;  ///< one sentence
};

/// What the models of one session need.
struct SessionPlan {
  int64_t tiles_per_group = 1;   ///< tiles that one thread labels together, so that prototypes are read once for them
  int64_t blocks_per_chunk = 1;  ///< blocks of prototypes that stay in the first cache while a group's tiles pass
  bool by_label_order = false;   ///< accumulate by cluster instead of with a copy of the statistics per thread
  int64_t statistics_bytes = 0;  ///< of one copy
};

/// `memory_budget` in bytes, 0: from what the machine has.
PointsPlan plan_points(const Input& input, const CpuKernels& kernels, std::string_view algorithm,
                       int64_t memory_budget);
SessionPlan plan_session(const Input& input, const CpuKernels& kernels, int64_t clusters, int threads,
                         int64_t memory_budget);

}  // namespace manymeans
