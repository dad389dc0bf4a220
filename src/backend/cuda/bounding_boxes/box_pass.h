// A pass over boxed points: labels and statistics by looking at boxes first. Exact; for few columns.
//
// find_kernel: finds the boxes that lie wholly in the cell of one prototype. Such a box has that label. If it had the
// label before, nothing of it is read or written. The kernel lists the others, and boxes that go from one cell to
// another.
// rows_kernel: a warp takes a listed box. A box that goes from cell to cell brings its own sums. In the others,
// canonical distances compare the prototypes that can be nearest to a point, usually two or three. The kernel writes
// and adds up the changes.
#pragma once

#include "backend/cuda/bounding_boxes/box_test.h"
#include "backend/cuda/bounding_boxes/boxed_points.h"
#include "backend/cuda/device/pass_ranges.h"
#include "backend/cuda/exact/accumulate.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

/// A box that a pass has to look into.
struct alignas(16) BoxEntry {
  uint32_t box : 31;
  uint32_t whole : 1;  ///< all of its rows get the label `nearest`
  int32_t range;
  uint32_t nearest;  ///< to the box's middle
  uint32_t before;   ///< the label that all of its rows have, or kMixedBox; anything in a first pass
};

/// Of a box whose rows' labels differ, or are not known to be equal.
constexpr uint32_t kMixedBox = ~0U;

struct BoxTask {
  BoxedRows rows;
  BoxBound bound;
  ColumnTerms terms;
  int weight_shift = 0;
  PassRanges ranges;
  LabelRows labels;                ///< in the boxes' order; those of the pass before become those of the pass
  uint32_t* box_labels = nullptr;  ///< (slots, boxes): the label that all rows of a box have, or kMixedBox
  BoxEntry* entries = nullptr;     ///< scratch: boxes x ranges
  uint32_t* listed = nullptr;      ///< 0 when a pass begins; cleared by its end
};

/// Labels, statistics and counters of a pass, but for its end (end_pass). In a first pass the ranges' statistics must
/// be zero.
void box_pass(const BoxTask& task, int multiprocessors, cudaStream_t stream);

/// The labels of a slot in the rows' own order, `width` bytes each.
void unbox_labels(const BoxedRows& rows, const LabelRows& labels, int slot, void* to, cudaStream_t stream);
/// Sets the label of one row. Its box is mixed then.
void set_boxed_label(const BoxTask& task, int slot, int64_t row, uint32_t label, cudaStream_t stream);

}  // namespace manymeans::cuda
