// Labels that the tensor-core screen need not find again: docs/developer/screens.md, "Margins across passes on a GPU".
//
// Every row that the screen proves keeps a margin, in the frame's units. All other prototypes are at least this much
// farther away than its own. A pass subtracts the prototypes' moves since the last one. A row whose margin stays above
// zero keeps its label. The others, if they are few enough, are copied together, piece by piece, and screened as all
// rows would be. The choice of rows changes no label.
//
//   follow_prototypes   shifts of the prototypes, losses of each label
//   keep_labels         margins, kept labels, rows left, rows to screen
//   gather_left         a piece of the rows left
//
// For one model. A margin that is not known is NaN.
#pragma once

#include "backend/cuda/device/matrix_operands.h"
#include "backend/cuda/device/pass_ranges.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace manymeans::cuda {

constexpr int kMaxPieces = 32;

/// Numbers that the kernels of a pass exchange with each other and the screen. All zero before the first pass.
struct MarginState {
  uint32_t left;       ///< rows that may not keep their labels, while they are counted
  uint32_t followed;   ///< blocks of follow_prototypes() that are done
  uint32_t kept;       ///< blocks of keep_labels() that are done
  uint32_t skip_all;   ///< not 0: the rows are not screened all together
  uint32_t skip_left;  ///< not 0: the rows left are not screened on their own
  uint32_t all_rows;   ///< how many there are
  uint32_t piece_rows[kMaxPieces];
};

struct MarginTask {
  PassRanges ranges;  ///< of one model
  int64_t rows = 0;
  int64_t d = 0;
  double scale = 1;      ///< a power of two: from distances of points to the frame's
  double underflow = 0;  ///< of a distance, in the frame's units
  double bound_scale = 1;
  bool known = false;               ///< the margins are those of the pass before
  void* previous = nullptr;         ///< that pass's prototypes, k x d in the prototypes' type; replaced by this one's
  float* shifts = nullptr;          ///< k: upper bounds, in the frame's units
  float* losses = nullptr;          ///< k: of the margins of a label's rows
  float* margins = nullptr;         ///< a row each, with room up to a multiple of four
  LabelRows current;                ///< before the pass
  LabelRows next;                   ///< gets the labels of the rows that keep theirs
  const uint32_t* far = nullptr;    ///< not 0: this pass has a prototype that cannot be screened
  uint32_t* row_numbers = nullptr;  ///< of the rows left, max_left of them
  int64_t max_left = 0;             ///< where more rows are left, all are screened
  int64_t piece_rows = 0;           ///< a multiple of kRowBlock; kMaxPieces of them are enough for max_left
  PackedRows piece;                 ///< room for that many rows
  MarginState* state = nullptr;

  int pieces() const { return static_cast<int>((max_left + piece_rows - 1) / piece_rows); }
};

/// O(K D).
void follow_prototypes(const MarginTask& task, cudaStream_t stream);
/// After follow_prototypes() and after the prototypes were packed. O(N).
void keep_labels(const MarginTask& task, int multiprocessors, cudaStream_t stream);
/// Copies the rows of a piece, 0 .. pieces() - 1.
void gather_left(const MarginTask& task, const PackedRows& points, int piece, int multiprocessors, cudaStream_t stream);

/// A lower bound of D_k - D_b for all other prototypes k; D are the distances in the frame's units. It requires a proof
/// that the score of b is at least `lower` and no other above `others` < lower. `away`: margin_slack(). Each step is
/// off by less than 2^-23 of its result, which the factor covers.
__host__ __device__ inline float margin_of(float lower, float others, float norm, float away) {
  const float more = 2 * (lower - others);                // at most D_k^2 - D_b^2
  const float square = std::fma(norm, norm, -2 * lower);  // at least D_b^2, so not below zero
  const float own = std::sqrt(square);
  return more / (std::sqrt(square + more) + own) * (1 - 0x1p-20F) - (own * 0x1p-20F + away);
}

/// The slack for underflow of canonical distances and of the margins themselves.
inline float margin_slack(double underflow) {
  return static_cast<float>(2 * std::min(underflow, 0x1p100) * (1 + 0x1p-20) + 0x1p-60);
}

/// The max loss of a canonical distance by underflow, in the frame's units.
inline double distance_underflow(int64_t d, double scale) {
  return std::sqrt(static_cast<double>(d)) * 0x1p-537 * scale;
}

}  // namespace manymeans::cuda
