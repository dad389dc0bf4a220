#include "backend/cuda/device/point_value.cuh"
#include "backend/cuda/runtime/dependent_launch.cuh"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/tensor/matrix_screen.h"
#include "backend/cuda/tensor/pack_column.cuh"
#include "backend/cuda/tensor/tile_terms.cuh"

#include <cub/device/device_radix_sort.cuh>

#include <bit>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

constexpr int kTeam = kStepColumns / 2;  // threads a row: each has two columns of a step

__device__ __forceinline__ float frame_value(float x, const HalfFrame& frame, int64_t j, float /*as*/) {
  return __fsub_rn(__fmul_rn(x, frame.float_scale), frame.scaled_centre[j]);
}
__device__ __forceinline__ double frame_value(double x, const HalfFrame& frame, int64_t j, double /*as*/) {
  return (x - frame.centre[j]) * frame.scale;
}

template <class T, class V>
__global__ void __launch_bounds__(kThreads) rows_kernel(DevicePoints points, HalfFrame frame, PackedRows rows) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (kThreads / kTeam) + threadIdx.x / kTeam;
  if (row >= rows.padded_rows) return;
  const int lane = static_cast<int>(threadIdx.x % kTeam);
  const auto d = static_cast<int>(row < points.n ? points.d : 0);
  auto* to = static_cast<__half2*>(const_cast<void*>(rows.values)) + row * rows.padded_columns / 2;
  const int steps = rows.padded_columns / static_cast<int>(kStepColumns);
  HalfSquares<V> squares;
  for (int step = 0; step < steps; ++step) {
    V y[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int j = (step * kTeam + lane) * 2 + i;
      y[i] = j < d ? frame_value(static_cast<V>(widened(loaded<T>(points, row * points.d + j))), frame, j, V{}) : V{0};
    }
    const __half2 halves = __floats2half2_rn(static_cast<float>(y[0]), static_cast<float>(y[1]));
    to[step * kTeam + lane] = halves;
    const float2 back = __half22float2(halves);
    squares.add(y[0], back.x, static_cast<V>(steps - step));
    squares.add(y[1], back.y, static_cast<V>(steps - step));
  }
  squares.template add_up<kTeam>();
  if (lane != 0) return;
  const HalfVector found = squares.roots(points.d);
  const_cast<float*>(rows.radii)[row] = __double2float_ru(frame.radius.radius_of(found));
  const_cast<float*>(rows.norms)[row] = __double2float_ru(found.norm);
}

// A warp a column; blockIdx.y is the range.
__global__ void columns_kernel(MatrixPackTask task) {
  await_kernel_before();
  let_next_kernel_come();
  if (stopped(task.ranges)) return;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  const ColumnRange& range = task.columns.ranges[blockIdx.y];
  if (at >= range.count) return;
  int64_t k = at;
  if (task.sort.keys != nullptr) {
    k = task.sort.prototypes[range.first + at];
    if (threadIdx.x % 32 == 0 && k < task.ranges.at[blockIdx.y].k) {
      const_cast<uint32_t*>(task.columns.column_of)[range.first + k] = static_cast<uint32_t>(range.first + at);
    }
  }
  pack_column(task, blockIdx.y, at, k);
}

// A block a model of one tile, a warp a column at a time; and then the tile's terms.
constexpr int kTileThreads = 1024;
__global__ void __launch_bounds__(kTileThreads) tiles_kernel(MatrixPackTask task) {
  await_kernel_before();
  let_next_kernel_come();
  if (stopped(task.ranges)) return;
  for (int64_t at = threadIdx.x / 32; at < kOneTile; at += kTileThreads / 32) pack_column(task, blockIdx.x, at, at);
  __syncthreads();
  gather_tile(task.columns, task.columns.ranges[blockIdx.x].first / kOneTile);
}

// A warp a prototype or padding; blockIdx.y is the range. Keys: range, then the square of the norm as a float32, whose
// bits have the order of its values. `order` has the prototypes before they are sorted. And how far they moved.
__global__ void keys_kernel(MatrixPackTask task) {
  const int64_t k = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  const ColumnRange& columns = task.columns.ranges[blockIdx.y];
  if (k >= columns.count) return;
  const PassRange range = task.ranges.at[blockIdx.y];
  const auto skipped = static_cast<const char*>(range.prototypes) - static_cast<const char*>(task.shifts.prototypes);
  float* before = task.shifts.before + skipped / (task.ranges.float64 ? 8 : 4);
  double square = 0;
  float shift = 0;
  for (int64_t j = threadIdx.x % 32; k < range.k && j < task.d; j += 32) {
    const double z = half_frame_value(task, prototype_value(range, task.ranges.float64, k * task.d + j), j);
    const auto off = static_cast<float>(z) - before[k * task.d + j];
    before[k * task.d + j] = static_cast<float>(z);
    square = fma(z, z, square);
    shift = fmaf(off, off, shift);
  }
  square = warp_sum(square);
  shift = warp_sum(shift);
  if (threadIdx.x % 32 != 0) return;
  task.shifts.shifts[columns.first + k] = sqrtf(shift);
  const uint32_t norm = k < range.k ? __float_as_uint(__double2float_rn(square)) : ~0U;
  task.sort.keys[columns.first + k] = static_cast<uint64_t>(blockIdx.y) << 32 | norm;
  const_cast<uint32_t*>(task.columns.order)[columns.first + k] = static_cast<uint32_t>(k);
}

// Eight bits of a mantissa tell norms apart well enough.
constexpr int kFirstKeyBit = 15;

void sort_columns(const MatrixPackTask& task, dim3 grid, cudaStream_t stream) {
  keys_kernel<<<grid, kThreads, 0, stream>>>(task);
  check_launch("norms of prototypes");
  const int bits = 32 + std::bit_width(static_cast<unsigned>(task.ranges.count - 1));
  size_t bytes = task.sort.scratch_bytes;
  check(cub::DeviceRadixSort::SortPairs(task.sort.scratch, bytes, task.sort.keys, task.sort.sorted_keys,
                                        task.columns.order, task.sort.prototypes, task.columns.columns, kFirstKeyBit,
                                        bits, stream),
        "sorting prototypes by their norms");
}

}  // namespace

size_t ColumnSort::bytes_for(int64_t columns) {
  size_t bytes = 0;
  const uint64_t* keys = nullptr;
  const uint32_t* values = nullptr;
  check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, static_cast<uint64_t*>(nullptr), values,
                                        static_cast<uint32_t*>(nullptr), static_cast<int>(columns), kFirstKeyBit, 64),
        "sorting prototypes by their norms");
  return bytes;
}

void pack_rows(const DevicePoints& points, const HalfFrame& frame, const PackedRows& rows, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((rows.padded_rows * kTeam + kThreads - 1) / kThreads);
  const auto launch = [&]<class T, class V>(T, V) {
    rows_kernel<T, V><<<blocks, kThreads, 0, stream>>>(points, frame, rows);
  };
  if (!frame.in_float) {
    launch(AnyType(), double{});
  } else {
    dispatch_type(points.type, [&]<class T>(T value) {
      if constexpr (sizeof(T) < sizeof(double)) launch(value, float{});
    });
  }
  check_launch("packing the points");
}

void pack_matrix_columns(const MatrixPackTask& task, cudaStream_t stream) {
  if (one_tile_each(task.columns) && task.sort.keys == nullptr) {
    const dim3 models(static_cast<unsigned>(task.ranges.count));
    return launch_dependent(tiles_kernel, {models, kTileThreads, 0, stream}, "packing prototypes", task);
  }
  const int64_t most = task.ranges.max_clusters + task.columns.tile_columns;
  const dim3 grid(static_cast<unsigned>((most + kWarps - 1) / kWarps), static_cast<unsigned>(task.ranges.count));
  if (task.sort.keys != nullptr) sort_columns(task, grid, stream);
  launch_dependent(columns_kernel, {grid, kThreads, 0, stream}, "packing prototypes", task);
  gather_tile_terms(task.columns, stream);
}

}  // namespace manymeans::cuda
