// Labels by canonical distances, for rows that no screen could prove.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/pass_ranges.h"

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
  uint32_t* marks = nullptr;  ///< rows for which every prototype is possible, see ScreenOutput; cleared again
  int64_t mark_stride = 0;
  uint32_t* marked = nullptr;      ///< 0: there are no marks, so nobody looks; null: look
  const Unproved* list = nullptr;  ///< rows with candidates; null: none
  const uint32_t* listed = nullptr;
  uint32_t capacity = 0;
  OpenRows open;           ///< further rows
  bool collected = false;  ///< with their possible prototypes; else every prototype is
  const uint32_t* far =
      nullptr;              ///< per range, null: none is; where not 0, all its rows get marked and no entry counts
  LeftRow* left = nullptr;  ///< scratch: kMostLeft rows, their number (zero), and (kMostLeft, kLeftSlices) results
  uint32_t* left_count = nullptr;
  SliceNearest* nearest = nullptr;
  uint32_t list_blocks = 0;  ///< set by resolve_few()
};

/// Up to this many values of a model's prototypes a row costs least when it gets all canonical distances at once.
constexpr int64_t kDirectValues = 16384;

/// Makes open rows of marked ones, as far as there is room.
void open_marked(const ResolveTask& task, cudaStream_t stream);
/// Resolves listed and open rows; marks open rows with more possible prototypes than were kept.
void resolve_few(const ResolveTask& task, int multiprocessors, cudaStream_t stream);
/// Takes rows out of the marks and puts them among task.left, as far as there is room: those that are resolved first.
/// A part of resolve_marked().
void gather_left_rows(const ResolveTask& task, cudaStream_t stream);
/// Resolves marked rows.
void resolve_marked(const ResolveTask& task, int multiprocessors, cudaStream_t stream);
// All count the rows and their canonical distances in the ranges' counters.

/// Marks all rows of all ranges.
void mark_all(uint32_t* marks, int64_t mark_stride, int ranges, int64_t rows, cudaStream_t stream);

/// Replaces every label l of a slot by table[l].
void relabel_rows(const LabelRows& labels, int slot, int64_t rows, const uint32_t* table, cudaStream_t stream);

}  // namespace manymeans::cuda
