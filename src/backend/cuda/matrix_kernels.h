// The kernels of the screen in the matrix units: one set for Hopper, one for every device from compute capability 8.0
// on.
#pragma once

#include <manymeans/error.h>

#include "backend/cuda/matrix_task.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

enum class MatrixPurpose : uint8_t {
  kProve,         ///< labels and lists of all rows
  kProveOneTile,  ///< the same where every model is one tile (one_tile_each()) of columns that stand by number; no
                  ///< floors
  kProveCounted,  ///< the same of counted rows, and their margins
  kFilter,        ///< as kProve, ranking only columns above the rows' floors
  kCollect,       ///< all possible prototypes of the open rows
};

constexpr int kNarrowColumns = 128;  ///< of points, for which Hopper's kernels keep them in registers

/// `rows`: what is multiplied; task.points: what the epilogue knows of it.
void hopper_screen(MatrixTask task, const PackedRows& rows, MatrixPurpose purpose, cudaStream_t stream);
void sync_screen(MatrixTask task, const PackedRows& rows, MatrixPurpose purpose, cudaStream_t stream);

/// A defect of the caller.
Error no_such_tiles(const MatrixTask& task);

}  // namespace manymeans::cuda
