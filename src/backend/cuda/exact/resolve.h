// Labels by canonical distances, for rows that no screen could prove.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/pass_ranges.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

/// A row that gets all canonical distances, by many blocks at once.
struct SplitRow {
  int64_t row;
  int32_t range;
};
struct SliceNearest {
  double distance;
  long long k;
};
constexpr int kMaxSplit = 4096;
constexpr int kSplitSlices = 32;

struct ResolveTask {
  DevicePoints points;
  PassRanges ranges;
  LabelRows next;             ///< written for every row that is resolved
  uint32_t* marks = nullptr;  ///< rows for which every prototype is possible, see ScreenOutput; cleared again
  int64_t mark_stride = 0;
  uint32_t* marked = nullptr;   ///< 0: there are no marks, so no block looks; null: look
  const FewRow* few = nullptr;  ///< rows with candidates; null: none
  const uint32_t* few_count = nullptr;
  uint32_t few_capacity = 0;
  OverflowRows overflow;  ///< further rows
  bool gathered = false;  ///< with their possible prototypes; else every prototype is
  const uint32_t* far =
      nullptr;                ///< per range, null: none is; where not 0, all its rows get marked and no entry counts
  SplitRow* split = nullptr;  ///< scratch: kMaxSplit rows, their number (zero), and (kMaxSplit, kSplitSlices) results
  uint32_t* split_count = nullptr;
  SliceNearest* nearest = nullptr;
  uint32_t few_blocks = 0;  ///< set by resolve_few()
};

/// A row costs less with all canonical distances at once, up to this many values of a model's prototypes.
constexpr int64_t kDirectValues = 16384;

/// Makes overflow rows of marked ones, as far as there is room, so that they are resolved side by side.
void overflow_marked(const ResolveTask& task, cudaStream_t stream);
/// Resolves the rows of few candidates and those whose lists overflowed; marks overflow rows with more possible
/// prototypes than were kept.
void resolve_few(const ResolveTask& task, int multiprocessors, cudaStream_t stream);
/// Takes rows out of the marks and puts them among task.split, as far as there is room: those that are resolved first.
/// A part of resolve_all().
void gather_split_rows(const ResolveTask& task, cudaStream_t stream);
/// Resolves marked rows.
void resolve_all(const ResolveTask& task, int multiprocessors, cudaStream_t stream);
// All count the rows and their canonical distances in the ranges' counters.

/// Marks all rows of all ranges.
void mark_all(uint32_t* marks, int64_t mark_stride, int ranges, int64_t rows, cudaStream_t stream);

/// Replaces every label l of a slot by table[l].
void renumber_rows(const LabelRows& labels, int slot, int64_t rows, const uint32_t* table, cudaStream_t stream);

}  // namespace manymeans::cuda
