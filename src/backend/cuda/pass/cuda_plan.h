// The plan of the cuda backend for a shape, made before anything is allocated.
#pragma once

#include "backend/backend.h"
#include "backend/bounds_policy.h"
#include "backend/cuda/device/matrix_operands.h"
#include "backend/cuda/device/session_shape.h"
#include "backend/cuda/points/slice_plan.h"
#include "data/input.h"

#include <cstdint>
#include <span>
#include <string>

namespace manymeans::cuda {

/// One device, as far as plans and launches need to know it.
struct CudaDevice {
  int index = 0;
  std::string name;
  int major = 0, minor = 0;
  int multiprocessors = 1;
  int64_t memory_free = 0;  ///< bytes
  size_t shared_bytes = 0;  ///< shared memory that a block may have
  MatrixUnit matrix_unit = MatrixUnit::kNone;
  int double_ratio = 2;  ///< how many times slower than float32 it is in binary64
};

/// Products of a canonical distance that the device should do in a second, at a gigahertz.
double products_per_second(const CudaDevice& device);

/// The time that a pass may take: every distance of every row, by sessions that share the device, and every point over
/// a slow link. See Patience.
double usual_seconds(const Input& input, const CudaDevice& device, const Workload& workload);

/// Makes it the calling thread's device.
void use_device(const CudaDevice& device);

struct CudaPlan : SlicePlan {
  MatrixUnit matrix_unit = MatrixUnit::kNone;  ///< for kMatrix
  bool score_thresholds = false;               ///< for kMatrix: rows remember their best score (score_falls.h)
  BoundsUse bounds = BoundsUse::kNever;        ///< of sessions of one model, by kMatrix
  bool apart = false;                          ///< so models that would share passes have a session each
  int64_t upload_bytes = 0;                    ///< device memory of an upload
  int64_t session_bytes = 0;                   ///< that sessions may take; seeding has what they leave
  double usual_seconds = 0;                    ///< that a pass may take, see Patience
  std::string text;                            ///< for people
  std::string warning;                         ///< where an algorithm that was asked for does less than its name says
};

/// The max rows of a slice. Kernels number packed rows in 32 bits. They also number the rows that they list of all
/// models: rows times models, or for kBoundingBoxes boxes times models.
int64_t max_slice_rows(ScreenKind screen, int64_t models);

/// Throws Error(kUnavailable) for more models or clusters than kernels can number in one pass.
void check_counts(int64_t models, int64_t clusters);

/// Returns true if values of the frame are differences of float32 numbers, scaled by 2^exponent before. Else they are
/// computed in binary64. The power must be a normal float. No value may overflow, as in a constant column whose value
/// is far larger than the spread of the others.
bool subtracts_in_float(const Input& input, int exponent);

/// Throws Error(kUnavailable) where not even slices fit, and Error(kUsage) for what this backend does not have.
/// `half_ratio`: what rounding to fp16 usually takes from a row, relative to its norm.
CudaPlan make_cuda_plan(const Input& input, const CudaDevice& device, const BackendOptions& options, double half_ratio,
                        const Workload& workload);

/// Returns true if a model may come to carry margins that no option names.
bool margins_may_pay(int64_t rows, int64_t columns, const Workload& workload);
/// A session of models with these numbers of prototypes. `k` must outlive it.
SessionShape session_shape(const Input& input, std::span<const int64_t> k, const CudaPlan& plan);
/// Its device memory, but for the counters of a batch and seeding.
int64_t session_bytes(const Input& input, std::span<const int64_t> k, const CudaPlan& plan);
/// Throws Error(kUnavailable) if a session of `bytes` has no room on the current device next to its upload.
void check_session_room(int64_t bytes, int64_t upload_bytes, const BackendOptions& options);

}  // namespace manymeans::cuda
