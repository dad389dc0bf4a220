// Large statistics, which fit no shared memory: the rows that changed are ordered by label first, so that a sum is kept
// in registers as long as the label stays the same.
#pragma once

#include "backend/cuda/exact/accumulate.h"

#include <cuda_runtime.h>

namespace manymeans::cuda {

/// The sums of accumulate() by way of task.order, which must have room. Also counts changes and brings task.current up
/// to date; does not end the pass. Nothing waits for the device. The integers are those of any other order.
void accumulate_by_label(const AccumulateTask& task, int multiprocessors, cudaStream_t stream);

}  // namespace manymeans::cuda
