// Common passes over many small problems (device/problem_kernels.h). Distances are computed in float32. Where these
// prove no label, or prototypes are float64, canonical distances are computed. Sums are in the shared memory of the
// blocks. A block has some rows of one model, and the model's prototypes in its shared memory.
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
constexpr int64_t kMaxProblemColumns = 128;  ///< that 8 threads keep in registers, or of float32 one

struct ProblemTask {
  DevicePoints points;  ///< all, without weights
  ColumnTerms terms;
  const int32_t* solve_shifts = nullptr;  ///< see SolveTask
  bool float64 = false;                   ///< the prototypes' type
  float factor = 1;                       ///< of problem_factor()
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

/// The bytes of a block's shared memory for a model with k prototypes.
int64_t problem_shared_bytes(int64_t k, int64_t d, int limbs, bool float64);
/// By which a float32 distance must exceed another one to prove that it is larger: docs/developer/screens.md, "Many
/// problems on a GPU". `scale`: tests only.
float problem_factor(int64_t d, double scale);
/// The rows that a block labels at once.
int64_t problem_rows_at_once(int64_t d, bool float64);

/// See ProblemKernels. All are asynchronous.
void problem_pass(const ProblemTask& task, cudaStream_t stream);
void problem_update(const ProblemTask& task, bool last, cudaStream_t stream);
void problem_facts(const ProblemTask& task, ProblemFacts* facts, cudaStream_t stream);
void problem_terms(const ProblemTask& task, const TermSplitter* splitters, int64_t* limbs, cudaStream_t stream);
void problem_distances(const ProblemTask& task, double* out, cudaStream_t stream);
void problem_ranges(const ProblemTask& task, double* ranges, cudaStream_t stream);

}  // namespace manymeans::cuda
