// The statistics of a pass: integer sums over the rows whose labels changed.
#pragma once

#include "backend/cuda/device_points.h"
#include "backend/cuda/limbs.cuh"
#include "backend/cuda/pass_ranges.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

struct AccumulateTask {
  DevicePoints points;
  const TermSplitter* columns = nullptr;  ///< d of them, all with `limbs` limbs
  int limbs = 1;
  double weight_scale = 1;  ///< 2^weight_shift: a row's integer weight is w' times this
  PassRanges ranges;
  LabelRows next;     ///< the labels that the pass found
  LabelRows current;  ///< those before; become those of the pass
};

/// Adds the rows that entered a cluster and takes away those that left; in a first pass all rows enter. The ranges'
/// statistics must be zero then. Counts changes and the label sum's change.
void accumulate(const AccumulateTask& task, int multiprocessors, cudaStream_t stream);

/// Adds sign times one row to a cluster's statistics.
void accumulate_row(const AccumulateTask& task, int64_t row, int64_t cluster, int sign, cudaStream_t stream);

}  // namespace manymeans::cuda
