// The statistics of a pass: integer sums over the rows whose labels changed.
#pragma once

#include "backend/cuda/device_points.h"
#include "backend/cuda/pass_ranges.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

/// How the terms of the columns become limbs (core/fixed_point.h); bits and limbs are the same for all columns.
struct ColumnTerms {
  int limbs = 1;
  int bits = 0;
  double radix = 1;                    ///< 2^bits
  const double* tops = nullptr;        ///< 2^exponent of every column, if all are normal numbers; else null
  const int32_t* exponents = nullptr;  ///< shift - (limbs - 1) * bits of every column
};

struct AccumulateTask {
  DevicePoints points;
  ColumnTerms terms;
  int weight_shift = 0;  ///< a row's integer weight is w' 2^weight_shift
  PassRanges ranges;
  LabelRows next;     ///< the labels that the pass found
  LabelRows current;  ///< those before; become those of the pass
  int32_t chunk = 0;  ///< rows that a block looks at together; accumulate() chooses it
};

/// Adds the rows that entered a cluster and takes away those that left; in a first pass all rows enter. The ranges'
/// statistics must be zero then. Counts changes and the label sum's change, ends the pass and stops the batch where the
/// engine must judge: no label changed, or a cluster is empty.
void accumulate(const AccumulateTask& task, int multiprocessors, cudaStream_t stream);

/// Adds sign times one row to a cluster's statistics.
void accumulate_row(const AccumulateTask& task, const PassRange& range, int64_t row, int64_t cluster, int sign,
                    cudaStream_t stream);

}  // namespace manymeans::cuda
