// Prototypes from statistics, on the device: the same bits as solve_prototypes().
#pragma once

#include "backend/cuda/device/pass_ranges.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

struct SolveTask {
  PassRanges ranges;
  int64_t d = 0;
  int limbs = 1;
  int bits = 0;
  const int32_t* shifts = nullptr;  ///< weight_shift - shift of the column's sum, d of them
};

/// Overwrites the ranges' prototypes; clusters without weight keep theirs. Counts the shifts for which the limits of
/// the ranges' control ask.
void solve(const SolveTask& task, cudaStream_t stream);

/// Then: stops the batch where this update may be the last one of a model.
void judge_update(const PassRanges& ranges, cudaStream_t stream);

}  // namespace manymeans::cuda
