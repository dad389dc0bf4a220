// Arguments of kernels by value, and the layout of memory that they share with the host. This text is C++ for the host
// and OpenCL C for devices; CMake puts it before every program.
#ifdef __OPENCL_C_VERSION__
typedef int Int32;
typedef long Int64;
#else
#pragma once

#include <cstdint>

namespace manymeans::opencl {

using Int32 = int32_t;
using Int64 = int64_t;
#endif

/// One model of a batch of passes. Places are counted in values of their buffer.
typedef struct {
  Int64 k;
  Int64 first;       ///< its first column among the padded ones of all models
  Int64 prototypes;  ///< of k x d
  Int64 before;      ///< the prototypes before the last update
  Int64 sums;        ///< of (k, limbs, d)
  Int64 weights;     ///< of k
  Int64 counts;      ///< of k
  Int32 slot;
  Int32 first_pass;  ///< there are no labels before the batch's first pass
} Range;

/// Rows that are on the device together.
typedef struct {
  Int64 points;   ///< the first value, in bytes of the buffer
  Int64 weights;  ///< the first one
  Int64 first;    ///< the number of the first row among those of this rank
  Int64 number;   ///< the same among the rows of all ranks
  Int64 count;
  Int32 weighted;
  Int32 unused;
} RowBlock;

/// The shape of a session, for all its kernels.
typedef struct {
  Int64 d;
  Int64 label_stride;  ///< labels from one model's to the next
  Int64 next_stride;   ///< the same of the labels that a pass finds
  Int64 mark_stride;   ///< words of marks, likewise
  Int64 max_clusters;
  Int64 counters;  ///< the pass's first one
  Int32 label_width;
  Int32 ranges;  ///< models of the batch
  Int32 limbs;
  Int32 bits;          ///< of a limb
  Int32 weight_shift;  ///< w' times two to this power is an integer
  Int32 normal_tops;   ///< every column's power of two is a normal binary64
} Shape;

/// The parts of a score's bound that do not depend on the prototype.
typedef struct {
  float slack;
  float underflow;
} ScoreBound;

// Numbers of a pass and a model (PassCounters of device/pass_state.h), in this order.
enum Counter { kChanged, kHashLow, kHashHigh, kResolved, kCandidates, kKept, kEmpty, kStill, kShiftSum, kCounters };

// Results of packing a model's prototypes, for its screen; cleared before.
enum RangeState {
  kFar,       ///< a prototype is too far out to be screened
  kTopSlope,  ///< the largest slope of its columns, as a float
  kTopError,  ///< the largest error, likewise
  kStates
};

/// Leaves of the kd-tree, or the nodes above them, whose lists of candidates a pass makes.
typedef struct {
  Int64 first;  ///< the number of the first one among all
  Int64 count;
  Int64 stride;  ///< lists from one model's to the next
} NodeLists;

// Rows of a leaf of the kd-tree; leaves of a node above them; and how many numbers a list of candidates takes, with
// their number before them.
#define MANYMEANS_LEAF_ROWS 32
#define MANYMEANS_NODE_LEAVES 16
#define MANYMEANS_LEAF_LIST 32
#define MANYMEANS_NODE_LIST 256

// A packed row lies in a block of this many: value j of row i is at (i / 64 * (d + 1) + j) * 64 + i % 64. Value d is
// the row's norm.
#define MANYMEANS_PACKED_ROWS 64

#ifndef __OPENCL_C_VERSION__
}  // namespace manymeans::opencl
#endif
