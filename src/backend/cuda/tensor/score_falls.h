// How much less than in the last pass a row's best score may be: a guess for every model, from a sample of its rows.
#pragma once

#include "backend/cuda/device/matrix_operands.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

constexpr int64_t kSampledRows = 8192;

struct FallsTask {
  PackedRows points;
  PackedColumns columns;       ///< this pass's
  ScoreThresholds thresholds;  ///< `falls` is written
  float* sample = nullptr;     ///< scratch: (models, kSampledRows)
  /// Sampled rows that fell by more than the guess; the same share of all rows will.
  int64_t failing = 1;
};

/// How many rows of the sample may fall by more. Such a row gets a second look, which costs several first ones. A
/// larger guess ranks more columns of all rows, which hardly matters with many clusters. At most a quarter of the
/// overflow rows that fit.
int64_t failing_rows(int64_t rows, int64_t clusters, uint32_t overflow_capacity);

/// For every model the fall that `failing` of the sampled rows exceed, sampled with replacement from all rows; 2
/// launches. A score falls because its prototype moved, mostly: by a share of that, which is what is guessed. The bound
/// that the score is lowered by changes too; a typical one is allowed for.
void guess_falls(const FallsTask& task, cudaStream_t stream);

}  // namespace manymeans::cuda
