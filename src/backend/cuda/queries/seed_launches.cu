// Launches of the kernels of seeding.
#include "backend/cuda/queries/row_dispatch.cuh"
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

template <class T, int kTiles>
void launch_screen(const SeedArguments& arguments, cudaStream_t stream) {
  constexpr int64_t kFragmentBytes = 40 << 10;  // candidates that fit into this much shared memory are read from there
  const int64_t bytes = arguments.tiles * arguments.code_bytes * 8;
  const bool fit = bytes <= kFragmentBytes;
  const size_t shared = fit ? static_cast<size_t>(bytes) : 0;
  const auto kernel = seed_screen_kernel<T, kTiles>;
  const int64_t units = (arguments.points.n + kSeedUnitRows - 1) / kSeedUnitRows;
  const int64_t blocks = std::min<int64_t>(resident_blocks(kernel, shared), (units + kSeedWarps - 1) / kSeedWarps);
  kernel<<<static_cast<int>(blocks), kSeedThreads, shared, stream>>>(arguments, fit);
}

int64_t sum_blocks(const DevicePoints& points) {
  return (points.n + kSeedSumRows - 1) / kSeedSumRows;
}

}  // namespace

void find_seed_frame(const DevicePoints& points, const SeedColumnsOfSample& sample, cudaStream_t stream) {
  dispatch_type(points.type, [&](auto type) {
    seed_frame_kernel<decltype(type)><<<static_cast<int>((points.d + 63) / 64), 64, 0, stream>>>(points, sample);
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
  seed_summary_kernel<<<static_cast<int>(sum_blocks(points)), kSeedThreads, 0, stream>>>(points, rows, frame, sums);
  check_launch("summing terms of seeding");
}

void prepare_candidates(const SeedArguments& arguments, const void* raw, const SeedFrame& frame,
                        const SeedColumnsOut& out, cudaStream_t stream) {
  const int columns = arguments.tiles * kSeedTileColumns;
  if (arguments.points.type == DataType::kFloat64) {
    seed_column_kernel<<<columns, 128, 0, stream>>>(arguments, static_cast<const double*>(raw), frame, out);
  } else {
    seed_column_kernel<<<columns, 128, 0, stream>>>(arguments, static_cast<const float*>(raw), frame, out);
  }
  check_launch("preparing candidates of seeding");
}

void compare_candidates(const SeedArguments& arguments, bool screened, cudaStream_t stream) {
  const DevicePoints& points = arguments.points;
  if (screened) {
    dispatch_type(points.type, [&](auto type) {
      using T = decltype(type);
      if (arguments.tiles == 1) return launch_screen<T, 1>(arguments, stream);
      if (arguments.tiles == 2) return launch_screen<T, 2>(arguments, stream);
      launch_screen<T, 4>(arguments, stream);
    });
  } else {
    dispatch_rows(points, [&]<class T, bool kEight>() {
      seed_exact_kernel<T, kEight><<<grid_for(points.n, kSeedThreads), kSeedThreads, 0, stream>>>(arguments);
    });
  }
  check_launch("screening candidates of seeding");
}

void add_centre(const DevicePoints& points, const SeedRows& rows, const SeedFrame& frame, const SeedChosen& chosen,
                cudaStream_t stream) {
  const auto blocks = static_cast<int>((sum_blocks(points) + kSeedWarps - 1) / kSeedWarps);
  dispatch_type(points.type, [&](auto type) {
    seed_apply_kernel<decltype(type)><<<blocks, kSeedThreads, 0, stream>>>(points, rows, frame, chosen);
  });
  check_launch("adding a centre of seeding");
}

void pick_rows(const DevicePoints& points, const SeedRows& rows, const SeedTargets& targets, int64_t* picked,
               cudaStream_t stream) {
  seed_pick_kernel<<<1, kPickThreads, 0, stream>>>(points, rows, sum_blocks(points), targets, picked);
  check_launch("picking rows");
}

void sample_rows(const DevicePoints& points, const SeedRows& rows, const SeedDraw& draw, const SeedRowsFound& found,
                 cudaStream_t stream) {
  seed_sample_kernel<<<grid_for(points.n, kSeedThreads), kSeedThreads, 0, stream>>>(points, rows, draw, found);
  check_launch("sampling rows");
}

}  // namespace manymeans::cuda
