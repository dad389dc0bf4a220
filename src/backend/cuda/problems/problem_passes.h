// Common passes over many small problems (device/problem_kernels.h). A block has some rows of one model. The model's
// prototypes and sums are in its shared memory. Products in tf32 prove labels; warps find the others by canonical
// distances.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/matrix_operands.h"
#include "backend/cuda/device/pass_ranges.h"
#include "backend/cuda/device/term_splitter.h"
#include "backend/cuda/exact/accumulate.h"
#include "backend/device/problem_kernels.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

using device::ProblemFacts;
using device::ProblemModel;

/// Rows of one model, counted within it.
struct ProblemTile {
  int64_t first = 0, last = 0;
  int32_t model = 0;
  int32_t unused = 0;
};
constexpr int64_t kMaxProblemColumns = 128;  ///< of 32 rows that a warp keeps in registers

struct ProblemTask {
  DevicePoints points;  ///< all, without weights
  ColumnTerms terms;
  const int32_t* solve_shifts = nullptr;  ///< see SolveTask
  bool float64 = false;                   ///< the prototypes' type
  float rounding = 0;                     ///< problem_rounding()
  float bound_scale = 1;                  ///< tests only: multiplies the screen's bound
  const ProblemModel* models = nullptr;
  int32_t model_count = 0;
  int32_t tile_count = 0;
  const ProblemTile* tiles = nullptr;  ///< of the active models
  PassControl* controls = nullptr;     ///< one for each model
  PassCounters* counters = nullptr;    ///< of the pass, one for each model
  LabelRows labels;                    ///< of all models, in slot 0
  void* prototypes = nullptr;
  void* before = nullptr;
  long long* sums = nullptr;
  long long* weights = nullptr;
  long long* counts = nullptr;
  int64_t shared_bytes = 0;  ///< of a block of problem_pass(), for the largest model
};

constexpr int64_t kMaxProblemClusters = 1024;  ///< of a model
constexpr int64_t kProblemRows = 256;          ///< that a block labels at once
/// The bytes of a block's shared memory for a model with k prototypes.
int64_t problem_shared_bytes(int64_t k, int64_t d, int limbs);
/// The share of |x'| |c'| + |c'|^2 / 2 by which float32 sums may be wrong: docs/developer/screens.md, "Many problems on
/// a GPU".
float problem_rounding(int64_t d);

/// See ProblemKernels. All are asynchronous.
void problem_pass(const ProblemTask& task, cudaStream_t stream);
void problem_update(const ProblemTask& task, bool last, cudaStream_t stream);
void problem_facts(const ProblemTask& task, ProblemFacts* facts, cudaStream_t stream);
void problem_terms(const ProblemTask& task, const TermSplitter* splitters, int64_t* limbs, cudaStream_t stream);
void problem_distances(const ProblemTask& task, double* out, cudaStream_t stream);
void problem_ranges(const ProblemTask& task, double* ranges, cudaStream_t stream);

}  // namespace manymeans::cuda
