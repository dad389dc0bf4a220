// The screen in the matrix units: fp16 scores of all rows and columns, ranked as they come.
#pragma once

#include "backend/cuda/device/matrix_operands.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

/// Returns the device's matrix unit.
MatrixUnit matrix_unit_of(int device);

/// Returns the columns of a tile of the matrix screen. Small models have 64, so that little is padding. On Hopper long
/// rows have 256: their products then read shared memory least.
int matrix_tile_columns(MatrixUnit unit, int32_t padded_columns, int64_t largest_model);

/// Floats of PackedColumns::terms.
int64_t matrix_terms(int64_t columns, int tile_columns);

/// Fills `terms` from everything else; asynchronous. Callers that pack columns themselves need it before the screen:
/// pack_matrix_columns() does it too.
void gather_tile_terms(const PackedColumns& columns, cudaStream_t stream);

/// Launches the screen over all rows; asynchronous. Accumulation may truncate: docs/developer/screens.md, "Tensor
/// cores". Throws Error(kUnavailable) where the launch fails.
void matrix_screen(const PackedRows& points, const PackedColumns& columns, const ScreenOutput& output,
                   cudaStream_t stream);

/// Rows that only the device counts, perhaps copied together. They get margins (carried_margins.h).
struct Counted {
  const uint32_t* count = nullptr;    ///< at most PackedRows::rows
  const uint32_t* numbers = nullptr;  ///< of the rows among all; null: 0, 1, ...
  float* margins = nullptr;           ///< of all rows; written where a row is proved
  float slack = 0;                    ///< margin_slack()
};
/// Runs matrix_screen() for counted rows; every column is ranked.
void matrix_screen_counted(const PackedRows& points, const PackedColumns& columns, const ScreenOutput& output,
                           const Counted& counted, cudaStream_t stream);

/// Looks at the overflow rows that matrix_screen() left once more, with the same scores, and notes every possible
/// prototype. `columns` are as matrix_screen() left them, `output` as it was passed. Rows without a column that reached
/// the score threshold are compared with the score of their previous label. Kernels exist for models of more than
/// kDirectValues (resolve.h) values alone: the others' overflow rows get every distance.
void gather_candidates(const PackedRows& points, const PackedColumns& columns, const ScreenOutput& output,
                       cudaStream_t stream);

}  // namespace manymeans::cuda
