// Launches of the kernels of seeding.
#include "backend/cuda/queries/row_dispatch.cuh"
#include "backend/cuda/queries/seed_apply.cuh"
#include "backend/cuda/queries/seed_draw.cuh"
#include "backend/cuda/queries/seed_exact.cuh"
#include "backend/cuda/queries/seed_screen.cuh"
#include "backend/cuda/queries/seed_state_kernels.cuh"
#include "backend/cuda/queries/seed_tasks.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "backend/cuda/runtime/launch.h"

#include <algorithm>

namespace manymeans::cuda {
namespace {

// As many blocks as the device holds at once.
template <class Kernel>
int resident_blocks(Kernel kernel, size_t shared_bytes) {
  int each = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kSeedThreads, shared_bytes),
        "asking how many blocks of the seeding screen it holds");
  return std::max(1, multiprocessors_here() * each);
}

// Returns the blocks whose warps take units of the rows, for each of `parts` tasks over all rows. Each of several tasks
// gets more than its share of the `resident` blocks, so that none runs alone at the end.
int blocks_of_units(const SeedArguments& arguments, int parts, int resident) {
  const int64_t units = (arguments.points.n + arguments.unit_rows - 1) / arguments.unit_rows;
  const int64_t share = parts == 1 ? resident : 2 * resident / parts + 1;
  return static_cast<int>(std::min<int64_t>(share, (units + kSeedWarps - 1) / kSeedWarps));
}

template <class T, int kTiles>
void launch_screen(const SeedArguments& arguments, cudaStream_t stream) {
  constexpr int64_t kFragmentBytes = 32 << 10;  // candidates that fit into this much shared memory are read from there
  const int64_t bytes = kTiles * arguments.code_bytes * 8;
  const bool fit = bytes <= kFragmentBytes;
  const size_t shared = fit ? static_cast<size_t>(bytes) : 0;
  const auto kernel = seed_screen_kernel<T, kTiles>;
  const int groups = arguments.candidates.count / kTiles;
  const int blocks = blocks_of_units(arguments, groups, resident_blocks(kernel, shared));
  launch_dependent(kernel, {dim3(static_cast<unsigned>(groups * blocks)), kSeedThreads, shared, stream},
                   "screening candidates of seeding", arguments, fit);
}

}  // namespace

void find_seed_frame(const DevicePoints& points, const SeedColumnsOfSample& sample, cudaStream_t stream) {
  dispatch_type(points.type, [&](auto type) {
    const auto blocks = static_cast<int>((points.d + kFrameColumns - 1) / kFrameColumns);
    seed_frame_kernel<decltype(type)><<<blocks, kFrameColumns * kFrameParts, 0, stream>>>(points, sample);
  });
  check_launch("choosing the frame of the seeding screen");
}

void encode_rows(const DevicePoints& points, const SeedFrame& frame, const SeedEncoding& encoding,
                 cudaStream_t stream) {
  dispatch_type(points.type, [&](auto type) {
    seed_encode_kernel<decltype(type)>
        <<<grid_for(encoding.count, kSeedWarps), kSeedThreads, 0, stream>>>(points, frame, encoding);
  });
  check_launch("coding points");
}

void find_first_distances(const DevicePoints& points, const SeedFirst& first, cudaStream_t stream) {
  dispatch_rows(points, [&]<class T, bool kEight>() {
    seed_first_kernel<T, kEight><<<grid_for(points.n, kSeedThreads), kSeedThreads, 0, stream>>>(points, first);
  });
  check_launch("computing distances to first centres");
}

void summarize_rows(const DevicePoints& points, const SeedRows& rows, const SeedFrame& frame, bool sums,
                    cudaStream_t stream) {
  seed_summary_kernel<<<static_cast<int>((points.n + kSeedSumRows - 1) / kSeedSumRows), kSeedThreads, 0, stream>>>(
      points, rows, frame, sums);
  check_launch("summing terms of seeding");
}

void code_candidates(const SeedArguments& arguments, const SeedFrame& frame, cudaStream_t stream) {
  const int columns = arguments.candidates.count * kSeedTileColumns;
  if (arguments.points.type == DataType::kFloat64) {
    seed_column_kernel<double><<<columns, kCoders, 0, stream>>>(arguments, frame);
  } else {
    seed_column_kernel<float><<<columns, kCoders, 0, stream>>>(arguments, frame);
  }
  check_launch("preparing candidates of seeding");
}

void draw_candidates(const SeedArguments& arguments, const SeedFrame& frame, const SeedStep& step,
                     cudaStream_t stream) {
  dispatch_type(arguments.points.type, [&](auto type) {
    launch_dependent(seed_draw_kernel<decltype(type)>,
                     {dim3(static_cast<unsigned>(step.count)), kPickThreads, 0, stream},
                     "drawing candidates of seeding", arguments, frame, step);
  });
}

void compare_candidates(const SeedArguments& arguments, cudaStream_t stream) {
  const int tiles = arguments.candidates.count;
  if (arguments.codes != nullptr) {
    dispatch_type(arguments.points.type, [&](auto type) {
      using T = decltype(type);
      if (tiles == 1) return launch_screen<T, 1>(arguments, stream);
      if (tiles == 2) return launch_screen<T, 2>(arguments, stream);
      launch_screen<T, kMaxSeedTiles>(arguments, stream);
    });
    return;
  }
  dispatch_rows(arguments.points, [&]<class T, bool kEight>() {
    const auto kernel = seed_exact_kernel<T, kEight>;
    const int blocks = blocks_of_units(arguments, tiles, resident_blocks(kernel, 0));
    launch_dependent(kernel, {dim3(static_cast<unsigned>(tiles * blocks)), kSeedThreads, 0, stream},
                     "comparing candidates of seeding", arguments);
  });
}

void add_chosen(const SeedArguments& arguments, const SeedFrame& frame, const SeedStep& step, cudaStream_t stream) {
  dispatch_rows(arguments.points, [&]<class T, bool kEight>() {
    const auto kernel = seed_apply_kernel<T, kEight>;
    const int blocks = blocks_of_units(arguments, step.count, resident_blocks(kernel, 0));
    launch_dependent(kernel, {dim3(static_cast<unsigned>(step.count * blocks)), kSeedThreads, 0, stream},
                     "adding centres of seeding", arguments, frame, step);
  });
}

void pick_rows(const DevicePoints& points, const SeedRows& rows, const SeedTargets& targets, int64_t* picked,
               cudaStream_t stream) {
  seed_pick_kernel<<<1, kPickThreads, 0, stream>>>(points, rows, targets, picked);
  check_launch("picking rows");
}

void sample_rows(const DevicePoints& points, const SeedRows& rows, const SeedDraw& draw, const SeedRowsFound& found,
                 cudaStream_t stream) {
  seed_sample_kernel<<<grid_for(points.n, kSeedThreads), kSeedThreads, 0, stream>>>(points, rows, draw, found);
  check_launch("sampling rows");
}

}  // namespace manymeans::cuda
