// Linear models from sums, on the device: the same bits as solve_prototypes().
#pragma once

#include "backend/cuda/device/pass_ranges.h"
#include "core/fixed_point.h"
#include "data/linear_options.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

/// Words of an exact sum in a solve (prototype/word_solve.h).
enum class SolveWords : uint8_t {
  kNone,  ///< the device does not solve
  kFew,
  kMany,
};

/// Shared memory that a solve with rows of d columns takes.
size_t solve_bytes(SolveWords words, int64_t d);

struct ModelSolveTask {
  PassRanges ranges;
  int32_t d = 0;
  int32_t weight_shift = 0;
  LinearOptions linear;
  SolveWords words = SolveWords::kNone;
  const SumFormat* formats = nullptr;  ///< per term, on the device
};

/// Updates the ranges' models; clusters without weight keep theirs. Where a cluster does not fit the words, nothing is
/// updated, and the batch stops as after a pass: the update is the host's. Counts the shifts for which the limits of
/// the ranges' control ask.
void solve_models(const ModelSolveTask& task, cudaStream_t stream);

}  // namespace manymeans::cuda
