// What the cuda backend does for a shape, decided before anything is allocated.
#pragma once

#include "backend/backend.h"
#include "backend/bounds_policy.h"
#include "backend/cuda/device/screen.h"
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
  MatrixUnit matrix_unit = MatrixUnit::kNone;
  int double_ratio = 2;  ///< how many times slower than float32 it is in binary64
};

/// Products of a canonical distance that the device should do in a second, at a gigahertz.
double products_per_second(const CudaDevice& device);

/// Makes it the calling thread's device.
void use_device(const CudaDevice& device);

struct CudaPlan : SlicePlan {
  MatrixUnit matrix_unit = MatrixUnit::kNone;  ///< for kMatrix
  bool floors = false;                         ///< likewise: rows remember what their best score was (score_falls.h)
  BoundsUse bounds = BoundsUse::kNever;        ///< of sessions of one model, by kMatrix
  bool apart = false;                          ///< so models that would share passes have a session each
  int64_t upload_bytes = 0;                    ///< device memory of an upload
  int64_t session_bytes = 0;                   ///< that sessions may take; seeding has what they leave
  double usual_seconds = 0;                    ///< that a pass may take, see Patience
  std::string text;                            ///< for people
  std::string warning;                         ///< where an algorithm that was asked for does less than its name says
};

/// Whether columns below floors are to be passed over (score_falls.h) in a plan that has them, after a pass that
/// changed so many of all models' labels. Where many change, scores have fallen so far that too many columns are above
/// the floors; these cost the more the fewer clusters the largest model has. And not where rows have so many columns
/// that the product takes longer than ranking.
bool floors_pay(int64_t changed, int64_t labels, int64_t most_clusters, int64_t columns);

/// The most rows of a slice: kernels number packed rows, and what they list of all models' rows together (rows times
/// models, or for kBoxes boxes times models), in 32 bits.
int64_t most_slice_rows(ScreenKind screen, int64_t models);

/// Throws Error(kUnavailable) for more models or clusters than kernels can number in one pass.
void check_counts(int64_t models, int64_t clusters);

/// Whether values of the frame are differences of float32 numbers, scaled by 2^exponent before: else they are computed
/// in binary64. Powers of two that are normal floats do; and nothing may overflow, as a constant column does whose
/// value is far larger than the spread of the others.
bool subtracts_in_float(const Input& input, int exponent);

/// Throws Error(kUnavailable) where not even slices fit, and Error(kUsage) for what this backend does not have.
/// `half_ratio`: what rounding to fp16 usually takes from a row, relative to its norm.
CudaPlan make_cuda_plan(const Input& input, const CudaDevice& device, const BackendOptions& options, double half_ratio,
                        const Workload& workload);

/// Rows with few candidates that a pass can list; what does not fit is resolved by all distances.
int64_t list_capacity(int64_t rows, int64_t models);

/// Open rows of each model that there is room for: a multiple of kOpenBlock.
int64_t open_capacity(int64_t rows, int64_t models);

/// Marked rows of all models that a pass can look at again in float32.
int64_t marked_capacity(int64_t rows, int64_t models);
/// Parts of the columns that are looked at side by side for so many marked rows.
int64_t marked_slices(int64_t marked);

/// Whether open rows of a model with so many prototypes are looked at once more; smaller models get all distances.
bool collects(const CudaPlan& plan, int64_t clusters, int64_t d);

/// Entries of the rows that changed, for sums by label order; 0 where statistics are added up in another way: they fit
/// shared memory, have too many limbs, or there are too few values for the kernels that this takes.
int64_t label_order_capacity(int64_t rows, int64_t columns, int limbs, int64_t most_clusters, int64_t models);

/// Whether a model may come to carry margins without being asked to.
bool margins_may_pay(int64_t rows, int64_t columns, const Workload& workload);
/// Whether a session of these models may carry margins (carried_margins.h).
bool carries_margins(const CudaPlan& plan, int64_t rows, std::span<const int64_t> k);
/// The most rows that are worth screening on their own: of columns so many that a row's copies cost little, nearly all.
int64_t most_rows_left(int64_t rows, int64_t clusters, BoundsUse use);
/// Of which so many are copied together.
int64_t margin_piece_rows(int64_t most_left, int32_t padded_columns);

/// Device memory of a session of models with these numbers of prototypes, seeding left out.
int64_t session_bytes(const Input& input, std::span<const int64_t> k, const CudaPlan& plan);

/// Throws Error(kUnavailable) if `bytes` for `what` do not fit into what is free.
void check_room(int64_t bytes, int64_t room, const char* what);

}  // namespace manymeans::cuda
