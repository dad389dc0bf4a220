// Lists of prototypes that can be nearest to a point of a bounding box: docs/developer/screens.md, "kd-tree". This text
// is OpenCL C for devices, and C++ for tests, which try the lists on the host.
#ifdef __OPENCL_C_VERSION__
#define MANYMEANS_MEMORY __global
#define MANYMEANS_INLINE
typedef Prototype BoxPrototype;
typedef ushort ListEntry;
#else
#pragma once

#include "backend/opencl/kernels/kernel_types.h"

#include <cmath>

#define MANYMEANS_MEMORY
#define MANYMEANS_INLINE inline

namespace manymeans::opencl {

using std::fabs;
using std::fma;
using BoxPrototype = double;
using ListEntry = uint16_t;
#endif

/// A list begins with its number of prototypes; their numbers follow, ascending. If it begins with this, there are too
/// many: the parent's list counts, or all prototypes.
#define MANYMEANS_ALL_OF_PARENT 0xffff

/// Room that a comparison leaves for roundings of its sums and the canonical slack.
typedef struct {
  double of_square;  ///< times the squared distance of either prototype to the box's middle
  double of_reach;   ///< times the box's reach
  double of_near;    ///< canonical, times that of the nearest prototype
  double of_half;    ///< canonical, times the sum of the squared half widths
  double underflow;
} BoxBound;

/// Prototypes, some of them candidates.
typedef struct {
  MANYMEANS_MEMORY const BoxPrototype* values;  ///< k x d
  MANYMEANS_MEMORY const ListEntry* parent;     ///< the list from which candidates are taken; null: all
  Int64 k;
  Int64 d;
} BoxCandidates;

MANYMEANS_INLINE Int64 count_of(BoxCandidates from) {
  return from.parent ? from.parent[0] : from.k;
}

MANYMEANS_INLINE Int64 candidate(BoxCandidates from, Int64 i) {
  return from.parent ? from.parent[1 + i] : i;
}

/// The squared distance to the middle of a box: d middles, d half widths, and at least the sum of their squares.
MANYMEANS_INLINE double square_to_middle(MANYMEANS_MEMORY const double* box, MANYMEANS_MEMORY const BoxPrototype* c,
                                         Int64 d) {
  double square = 0;
  for (Int64 j = 0; j < d; ++j) {
    const double t = box[j] - c[j];
    square = fma(t, t, square);
  }
  return square;
}

/// The prototype with which the others are compared, and what all these comparisons share.
typedef struct {
  MANYMEANS_MEMORY const BoxPrototype* values;
  double square;  ///< square_to_middle()
  double fixed;   ///< of the bound
} NearPrototype;

/// Returns true if every point of the box is nearer to `near`, in canonical distance, than to `c`. False for NaN.
MANYMEANS_INLINE bool falls_out(MANYMEANS_MEMORY const double* box, NearPrototype near,
                                MANYMEANS_MEMORY const BoxPrototype* c, Int64 d, BoxBound bound) {
  double square = 0;
  double reach = 0;
  for (Int64 j = 0; j < d; ++j) {
    const double t = box[j] - c[j];
    square = fma(t, t, square);
    reach = fma(box[d + j], fabs((double)near.values[j] - (double)c[j]), reach);
  }
  return square - near.square > fma(bound.of_reach, reach, fma(bound.of_square, square, near.fixed));
}

/// Writes the list of a box: the candidates that may be nearest to one of its points. MANYMEANS_ALL_OF_PARENT if they
/// are more than `most`.
MANYMEANS_INLINE void list_candidates(MANYMEANS_MEMORY const double* box, BoxCandidates from, BoxBound bound,
                                      MANYMEANS_MEMORY ListEntry* list, Int64 most) {
  const Int64 d = from.d;
  const Int64 count = count_of(from);
  NearPrototype near = {from.values, INFINITY, 0};
  for (Int64 i = 0; i < count; ++i) {
    MANYMEANS_MEMORY const BoxPrototype* const c = from.values + candidate(from, i) * d;
    const double square = square_to_middle(box, c, d);
    if (i != 0 && !(square < near.square)) continue;
    near.values = c;
    near.square = square;
  }
  near.fixed = fma(bound.of_square + bound.of_near, near.square, fma(bound.of_half, box[2 * d], bound.underflow));
  Int64 found = 0;
  for (Int64 i = 0; i < count; ++i) {
    const Int64 c = candidate(from, i);
    if (falls_out(box, near, from.values + c * d, d, bound)) continue;
    if (found == most || c >= MANYMEANS_ALL_OF_PARENT) {
      list[0] = MANYMEANS_ALL_OF_PARENT;
      return;
    }
    list[++found] = (ListEntry)c;
  }
  list[0] = (ListEntry)found;
}

#ifndef __OPENCL_C_VERSION__
}  // namespace manymeans::opencl
#endif
