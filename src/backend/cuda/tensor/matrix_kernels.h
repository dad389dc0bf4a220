// The kernels of the screen in the matrix units: one set for Hopper, one for every device from compute capability 8.0
// on.
#pragma once

#include "backend/cuda/tensor/matrix_meeting.h"
#include "backend/cuda/tensor/matrix_task.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <span>

namespace manymeans::cuda {

enum class MatrixPurpose : uint8_t {
  kProve,         ///< labels and lists of all rows
  kProveOneTile,  ///< the same where every model is one tile (one_tile_each()) of columns that stand by number; no
                  ///< thresholds
  kProveCounted,  ///< the same of counted rows, and their margins
  kFilter,        ///< as kProve, ranking only columns above the rows' thresholds
  kGather,        ///< all possible prototypes of the overflow rows
};

constexpr int kShortColumns = kShortPanels * kPanel;  ///< of points, for which Hopper's kernels keep them on the chip

/// One kernel, and its purpose. A screen is chosen from tables of instances; cuda_instances (tests/backend/cuda) runs
/// them one by one.
struct MatrixInstance {
  MatrixPurpose purpose;
  int32_t tile_columns;
  int32_t first_columns;  ///< padded columns of a row, from these
  int32_t last_columns;   ///< to these
  int64_t min_rows;
  int32_t shared_bytes;  ///< of a block
  const void* kernel;
  /// `rows`: what is multiplied; task.points: what the epilogue knows of it.
  void (*launch)(MatrixTask& task, const PackedRows& rows, cudaStream_t stream);

  bool serves(MatrixPurpose wanted, int32_t tile, const PackedRows& rows) const {
    return purpose == wanted && tile_columns == tile && first_columns <= rows.padded_columns &&
           rows.padded_columns <= last_columns && rows.rows >= min_rows;
  }
};
constexpr int32_t kMaxColumns = kMaxPanels * int64_t{kPanel} - 1;

/// All kernels of a unit. The first one that serves is taken.
std::span<const MatrixInstance> matrix_instances(MatrixUnit unit);
std::span<const MatrixInstance> hopper_instances();
std::span<const MatrixInstance> sync_instances();

}  // namespace manymeans::cuda
