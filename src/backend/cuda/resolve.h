// Labels by canonical distances, for rows that no screen could prove.
#pragma once

#include "backend/cuda/device_points.h"
#include "backend/cuda/pass_ranges.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

/// A row that gets all canonical distances, by many blocks at once.
struct LeftRow {
  int64_t row;
  int32_t range;
};
struct SliceNearest {
  double distance;
  long long k;
};
constexpr int kMostLeft = 4096;
constexpr int kLeftSlices = 32;

struct ResolveTask {
  DevicePoints points;
  PassRanges ranges;
  LabelRows next;             ///< written for every row that is resolved
  uint32_t* marks = nullptr;  ///< rows for which every prototype is possible, see ScreenOutput
  int64_t mark_stride = 0;
  const Unproved* list = nullptr;  ///< rows with candidates; null: none
  const uint32_t* listed = nullptr;
  uint32_t capacity = 0;
  const int32_t* far = nullptr;  ///< per range, with a list: its rows are all marked, so entries do not count
  LeftRow* left = nullptr;       ///< scratch: kMostLeft rows, their number, and (kMostLeft, kLeftSlices) results
  uint32_t* left_count = nullptr;
  SliceNearest* nearest = nullptr;
};

/// Counts the rows and their canonical distances in the ranges' counters.
void resolve(const ResolveTask& task, int multiprocessors, cudaStream_t stream);

/// Marks all rows of all ranges.
void mark_all(uint32_t* marks, int64_t mark_stride, int ranges, int64_t rows, cudaStream_t stream);

/// Replaces every label l of a slot by table[l].
void relabel_rows(const LabelRows& labels, int slot, int64_t rows, const uint32_t* table, cudaStream_t stream);

}  // namespace manymeans::cuda
