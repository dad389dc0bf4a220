// The statistics of a pass: integer sums over the rows whose labels changed.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/pass_ranges.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <span>

namespace manymeans::cuda {

/// How the terms of the columns become limbs (core/fixed_point.h); bits and limbs are the same for all columns.
struct ColumnTerms {
  int limbs = 1;
  int bits = 0;
  double radix = 1;                    ///< 2^bits
  const double* tops = nullptr;        ///< 2^exponent of every column, if all are normal numbers; else null
  const int32_t* exponents = nullptr;  ///< shift - (limbs - 1) * bits of every column
  bool plain = false;                  ///< split_rounded() may be used with factor_of()
};

/// A limb of at most this many bits is rounded by one addition. Only fewer than 512 rows have more.
constexpr int kMaxRoundedBits = 52;

/// What ColumnTerms::plain is for columns with these exponents.
inline bool are_plain(std::span<const int32_t> exponents, int bits) {
  constexpr int kMaxExponent = 1023 - 896;  // factor_of() is finite
  return bits <= kMaxRoundedBits &&
         std::ranges::all_of(exponents, [](int32_t exponent) { return exponent > -1022 && exponent <= kMaxExponent; });
}

/// Statistics of at most this many bytes a model are added up in the shared memory of a block. A list of changes lies
/// next to them.
constexpr int64_t kMaxSharedSums = 90 << 10;

/// Scratch for sums by label order (accumulate_by_label.h): rows that changed, each cluster's next to each other.
/// Cluster c of a range is number PassRange::first + c.
struct LabelOrder {
  uint32_t* entries = nullptr;  ///< two for each row and range of a slice
  int64_t capacity = 0;         ///< entries: label_order_capacity(); 0: there is no room, sums go another way
  uint32_t* first = nullptr;    ///< PassRanges::clusters + 1: each cluster's first entry
  uint32_t* next = nullptr;     ///< PassRanges::clusters: where a cluster's next entry goes
};
constexpr int64_t kLabelOrderRows = 4096;       ///< slices of rows are multiples of this, but for the last
constexpr int64_t kLabelOrderColumns = 32 * 4;  ///< of a warp
constexpr int64_t kMaxLabelOrderColumns = 65535 * kLabelOrderColumns;
constexpr int kMaxLabelOrderLimbs = 3;  ///< that a thread keeps in registers

struct AccumulateTask {
  DevicePoints points;
  ColumnTerms terms;
  int weight_shift = 0;  ///< a row's integer weight is w' 2^weight_shift
  PassRanges ranges;
  LabelRows next;     ///< the labels that the pass found
  LabelRows current;  ///< those before; become those of the pass
  LabelOrder order;   ///< for statistics that fit no shared memory
  // accumulate() chooses these:
  int32_t chunk = 0;     ///< rows that a block looks at together
  int32_t log_team = 0;  ///< 2^log_team threads share a row's values

  /// The case that has kernels of its own: values without weights, whose terms need no search for exponents.
  bool plain() const { return terms.plain && points.weights == nullptr; }
  bool plain_floats() const { return plain() && points.type == DataType::kFloat32; }
};

/// Adds the rows that entered a cluster and takes away those that left; in a first pass all rows enter. The ranges'
/// statistics must be zero then. Counts changes and the label sum's change. The rows may be a part of all.
void accumulate(const AccumulateTask& task, int multiprocessors, cudaStream_t stream);

/// Ends the pass, when all rows are added up, and stops the batch where the engine must judge: no label changed, or a
/// cluster is empty.
void end_pass(const PassRanges& ranges, int multiprocessors, cudaStream_t stream);

/// Adds sign times the first row of the task's points to a cluster's statistics.
void accumulate_row(const AccumulateTask& task, const PassRange& range, uint32_t cluster, int sign,
                    cudaStream_t stream);

}  // namespace manymeans::cuda
