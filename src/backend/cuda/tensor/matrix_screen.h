// The screen in the matrix units: fp16 scores of all rows and columns, ranked as they come.
#pragma once

#include "backend/cuda/device/matrix_operands.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

/// What the device has.
MatrixUnit matrix_unit_of(int device);

/// The matrix screen's columns come in tiles of this many: 64 for small models, so that little is padding, and on
/// Hopper 256 for long rows, whose products then read shared memory least.
int matrix_tile_columns(MatrixUnit unit, int32_t padded_columns, int64_t largest_model);

/// Floats of PackedColumns::terms.
int64_t matrix_terms(int64_t columns, int tile_columns);

/// Fills `terms` from everything else; asynchronous. Before the screen, for whoever packs columns himself:
/// pack_matrix_columns() does it too.
void gather_tile_terms(const PackedColumns& columns, cudaStream_t stream);

/// Launches the screen over all rows; asynchronous. Accumulation may truncate: docs/developer/screens.md, "Tensor
/// cores". Throws Error(kUnavailable) where the launch fails.
void matrix_screen(const PackedRows& points, const PackedColumns& columns, const ScreenOutput& output,
                   cudaStream_t stream);

/// Rows of which only the device knows how many there are, perhaps copied together. They get margins
/// (carried_margins.h).
struct Counted {
  const uint32_t* count = nullptr;    ///< at most PackedRows::rows
  const uint32_t* numbers = nullptr;  ///< of the rows among all; null: 0, 1, ...
  float* margins = nullptr;           ///< of all rows; written where a row is proved
  float slack = 0;                    ///< margin_slack()
};
/// matrix_screen() of these; every column is ranked.
void matrix_screen_counted(const PackedRows& points, const PackedColumns& columns, const ScreenOutput& output,
                           const Counted& counted, cudaStream_t stream);

/// Looks at the overflow rows that matrix_screen() left once more, with the same scores, and notes every possible
/// prototype. `columns` as matrix_screen() left them, `output` what it was given: rows of which no
/// column reached the score threshold are compared with the score of the label that they had. There are kernels for
/// models of more than kDirectValues (resolve.h) values alone: the others' overflow rows get every distance.
void gather_candidates(const PackedRows& points, const PackedColumns& columns, const ScreenOutput& output,
                       cudaStream_t stream);

}  // namespace manymeans::cuda
