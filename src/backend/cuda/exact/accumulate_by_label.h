// Large statistics that do not fit shared memory. The rows that changed are ordered by label first, so that a sum stays
// in registers while the label stays the same.
#pragma once

#include "backend/cuda/exact/accumulate.h"

#include <cuda_runtime.h>

namespace manymeans::cuda {

/// Computes the sums of accumulate() by way of task.order, which must have room. It also counts changes and brings
/// task.current up to date. It does not end the pass and does not wait. The integers equal the sums in any other order.
void accumulate_by_label(const AccumulateTask& task, int multiprocessors, cudaStream_t stream);

}  // namespace manymeans::cuda
