// A counting sort of the rows whose labels a pass changed: the entries of each cluster, rows that enter or leave it,
// next to each other. For sums that are kept in registers as long as the label stays the same.
#pragma once

#include "backend/cuda/exact/accumulate.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

/// Rows of the task's points that are put in order together.
struct OrderedRows {
  int64_t first;
  int64_t end;
};

/// As many rows as task.order has room for, a multiple of kLabelOrderRows.
int64_t ordered_together(const AccumulateTask& task);

/// Writes task.order for the rows of a slice, counts their changes and brings task.current up to date. It does not wait
/// for the device. label_runs.cuh reads the entries.
void put_in_label_order(AccumulateTask task, const OrderedRows& slice, int multiprocessors, cudaStream_t stream);

}  // namespace manymeans::cuda
