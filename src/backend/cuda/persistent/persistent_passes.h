// Batches of passes over small problems: one kernel that keeps the points in the shared memory of the device's blocks.
#pragma once

#include "backend/cuda/device/matrix_operands.h"
#include "backend/cuda/exact/accumulate.h"
#include "backend/cuda/tensor/matrix_pack.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

/// The size of a block's shared memory; all models of a batch take turns.
struct PersistentShape {
  int32_t rows = 0;     ///< max of a block, a multiple of kPersistentTile
  int32_t columns = 0;  ///< of the largest model, a multiple of kPersistentColumns
  int32_t stride = 0;   ///< halves from row to row; 16 bytes more than a row, so that neighbours use other banks
  int32_t models = 0;
  int32_t blocks = 0;

  int64_t bytes() const;
};
constexpr int kPersistentTile = 16;           ///< rows that a warp screens at once
constexpr int kPersistentColumns = 32;        ///< prototypes that it looks at together
constexpr int64_t kMaxPersistentK = 2048;     ///< prototypes of a model
constexpr int kMaxPersistentModels = 4;       ///< of a batch: they take turns, with every wait of a pass
constexpr int kMaxPersistentLimbs = 3;        ///< that a thread keeps in registers
constexpr int64_t kMaxPersistentRows = 8192;  ///< of a block

/// A device as far as it matters here.
struct PersistentDevice {
  int multiprocessors = 0;
  int64_t shared_bytes = 0;  ///< that a block may have
  bool cooperative = false;  ///< blocks may wait for each other

  static PersistentDevice of(int device);
};

/// The problem that must fit there.
struct PersistentProblem {
  int64_t rows = 0;
  int32_t padded_columns = 0;  ///< halves of a row
  int64_t max_clusters = 0;    ///< of a model
  int models = 1;
  int limbs = 1;
};

/// How the rows are shared out; blocks = 0 where they do not fit.
PersistentShape persistent_shape(const PersistentProblem& problem, const PersistentDevice& device);

struct PersistentTask {
  AccumulateTask sums;                    ///< `next` and `order` are not used; ranges: counters of the first pass
  PackedRows points;                      ///< the same points for the screen
  MatrixPackTask columns;                 ///< the prototypes for it
  const int32_t* solve_shifts = nullptr;  ///< see SolveTask
  int32_t passes = 1;                     ///< at most
  PersistentShape shape;
};

/// Does up to task.passes passes with the solves between them, ending where the engine must judge. The control says how
/// many, and each has its counters. Asynchronous. Returns false, with nothing begun, if the blocks cannot all be there
/// at once (other work keeps a part of the device). Throws Error(kUnavailable) if the launch fails otherwise.
bool persistent_passes(const PersistentTask& task, cudaStream_t stream);

}  // namespace manymeans::cuda
