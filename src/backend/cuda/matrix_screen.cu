// The tensor-core screen for Hopper: all scores of all rows, the best two of each kept in registers. docs/screens.md,
// "Tensor cores", has the proof; screen.h what goes in and out.
//
// Two kernels, both persistent, with one warp that copies (TMA, a ring of barriers) and groups of four warps that
// multiply. In cycles of a multiprocessor's quarter and for 32 scores the product takes D / 16, the epilogue five
// instructions, four of them on a pipe of half rate.
//
//   narrow (D <= 128): 256 rows a block, whose fp16 values stay in registers for all columns. With 128 columns a tile
//     a group owns 128 rows as two halves of 64, and the products of one half run while it is in the epilogue of the
//     other; column tiles are read once for 256 rows, since at 128 the second cache would have to deliver 32 bytes a
//     cycle. With 64 columns, small models: four groups of 64 rows.
//   wide: 128 rows a block, 64 a group; the groups are some panels apart, so that one multiplies while the other is in
//     its epilogue. The points stay in shared memory up to D = 512; beyond, they stream in together with the columns.
//
// Rows with more possible columns than fit into a list entry are copied together and go through the same kernels once
// more, with another epilogue that notes all of them (matrix_collect.cuh).
//
// What was tried, and what limits it: bench/results/h200/tensor_screen.md.
#include <manymeans/error.h>

#include "backend/cuda/matrix_collect.cuh"
#include "backend/cuda/matrix_narrow.cuh"
#include "backend/cuda/matrix_wide.cuh"
#include "backend/cuda/screen.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <string>
#include <type_traits>

namespace manymeans::cuda {
namespace {

// One block a tile: offsets in the order of the epilogue, the largest slope and error, and the model.
__global__ void gather_terms(PackedColumns columns) {
  if (is_stopped(columns)) return;
  const int tile = static_cast<int>(blockIdx.x);
  const int column = static_cast<int>(threadIdx.x);
  const int width = columns.tile_columns;
  float* out = columns.terms + tile * tile_floats(width);
  const int64_t from = static_cast<int64_t>(tile) * width + column;
  out[offset_place(column)] = columns.offsets[from];
  reinterpret_cast<uint32_t*>(out)[width + kTermFloats + column] = columns.order[from];

  __shared__ float slopes[256];
  __shared__ float errors[256];
  slopes[column] = columns.slopes[from];
  errors[column] = columns.errors[from];
  __syncthreads();
  for (int half = width / 2; half > 0; half /= 2) {
    if (column < half) {
      slopes[column] = fmaxf(slopes[column], slopes[column + half]);
      errors[column] = fmaxf(errors[column], errors[column + half]);
    }
    __syncthreads();
  }
  if (column != 0) return;
  auto& terms = *reinterpret_cast<TileTerms*>(out + width);
  terms = TileTerms{slopes[0], errors[0], 0, 0, -1, 0, {}};
  for (int model = 0; model < columns.models; ++model) {
    const ColumnRange& range = columns.ranges[model];
    if (from < range.first || from >= range.first + range.count) continue;
    terms.slack = range.slack;
    terms.underflow = range.underflow;
    terms.slot = range.slot;
    if (from + width >= range.first + range.count) terms.range = model;
  }
}

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw Error(ErrorCode::kUnavailable, "cuda", std::string(what) + ": " + cudaGetErrorString(status));
  }
}

// The driver's function that describes a matrix to the copy engine, found at run time: nothing is linked against it.
using EncodeTiled = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                 const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                                 CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
EncodeTiled encode_tiled() {
  static const EncodeTiled function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result),
          "cuTensorMapEncodeTiled");
    if (found == nullptr) throw Error(ErrorCode::kUnavailable, "cuda", "the driver has no cuTensorMapEncodeTiled");
    return reinterpret_cast<EncodeTiled>(found);
  }();
  return function;
}

// rows x columns halves, in boxes of box_rows x 64.
CUtensorMap describe(const void* values, int64_t rows, int64_t columns, int box_rows) {
  CUtensorMap map;
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t pitch[1] = {static_cast<cuuint64_t>(columns) * 2};
  const cuuint32_t box[2] = {kPanel, static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t step[2] = {1, 1};
  const CUresult result = encode_tiled()(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<void*>(values), sizes,
                                         pitch, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                         CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw Error(ErrorCode::kUnavailable, "cuda", "cuTensorMapEncodeTiled: error " + std::to_string(result));
  }
  return map;
}

template <class Shape, class Kernel>
void launch(Kernel kernel, MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  int device = 0;
  int processors = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  constexpr int kShared = sizeof(typename Shape::Shared);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared), "cudaFuncSetAttribute");
  task.row_tiles = static_cast<int32_t>((rows.rows + Shape::kRows - 1) / Shape::kRows);
  const CUtensorMap points = describe(rows.values, rows.padded_rows, rows.padded_columns, Shape::kBoxRows);
  const CUtensorMap columns =
      describe(task.columns.values, task.columns.columns, rows.padded_columns, task.columns.tile_columns);
  const int blocks = std::min(processors, task.row_tiles);
  kernel<<<blocks, Shape::kThreads, kShared, stream>>>(task, points, columns);
  check(cudaGetLastError(), "the matrix screen");
}

// The two things that the kernels can do.
struct Prove {
  template <int kRows>
  using Work = AllRows<kRows>;
  using Epilogue = ProveRows;
};
struct Collect {
  template <int kRows>
  using Work = OpenTiles<kRows>;
  using Epilogue = CollectRows;
};

template <class Purpose, int kSteps, int kColumns>
void launch_steps(MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  // 64 columns are little work for the tensor cores: more groups hide the latencies of the rest.
  using Shape = std::conditional_t<kColumns == 64, Narrow<kSteps, 64, 4, 1>, Narrow<kSteps, kColumns, 2, 2>>;
  using Work = typename Purpose::template Work<Shape::kRows>;
  launch<Shape>(narrow_screen<Shape, Work, typename Purpose::Epilogue>, task, rows, stream);
}

template <class Purpose, int kColumns>
void launch_narrow(MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  const int steps = task.points.padded_columns / 16;
  if (steps <= 1) return launch_steps<Purpose, 1, kColumns>(task, rows, stream);
  if (steps <= 2) return launch_steps<Purpose, 2, kColumns>(task, rows, stream);
  if (steps <= 4) return launch_steps<Purpose, 4, kColumns>(task, rows, stream);
  if (steps <= 6) return launch_steps<Purpose, 6, kColumns>(task, rows, stream);
  launch_steps<Purpose, 8, kColumns>(task, rows, stream);
}

template <class Purpose, int kColumns, int kResident>
void launch_resident(MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  using Shape = Wide<kColumns, kResident>;
  using Work = typename Purpose::template Work<Shape::kRows>;
  launch<Shape>(wide_screen<kColumns, kResident, Work, typename Purpose::Epilogue>, task, rows, stream);
}

template <class Purpose, int kColumns>
void launch_wide(MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  if (task.panels <= 4) return launch_resident<Purpose, kColumns, 4>(task, rows, stream);
  if (task.panels <= 8) return launch_resident<Purpose, kColumns, 8>(task, rows, stream);
  launch_resident<Purpose, kColumns, 0>(task, rows, stream);
}

constexpr int kNarrowColumns = 128;  // of points

// `rows`: what is read through the copy engine; `points` those whose numbers the epilogue knows.
template <class Purpose>
void screen_for(const PackedRows& points, const PackedRows& rows, const PackedColumns& columns,
                const ScreenOutput& output, cudaStream_t stream) {
  MatrixTask task{};
  task.points = points;
  task.columns = columns;
  task.output = output;
  task.tiles = columns.columns / columns.tile_columns;
  task.panels = (points.padded_columns + kPanel - 1) / kPanel;
  task.place_mask = ~static_cast<uint32_t>(columns.tile_columns / 4 - 1);
  if (rows.rows == 0 || task.tiles == 0) return;
  const bool narrow = points.padded_columns <= kNarrowColumns;
  switch (columns.tile_columns) {
    case 64:
      return narrow ? launch_narrow<Purpose, 64>(task, rows, stream) : launch_wide<Purpose, 64>(task, rows, stream);
    case 128:
      return narrow ? launch_narrow<Purpose, 128>(task, rows, stream) : launch_wide<Purpose, 128>(task, rows, stream);
    case 256:
      if (!narrow) return launch_wide<Purpose, 256>(task, rows, stream);
      break;
    default: break;
  }
  throw Error(ErrorCode::kInternal, "cuda",
              "the matrix screen has no tiles of " + std::to_string(columns.tile_columns) + " columns for " +
                  std::to_string(points.padded_columns) + " values a row");
}

// A warp an open row; blockIdx.y is the range.
__global__ void gather_rows(PackedRows points, PackedColumns columns, OpenRows open) {
  if (is_stopped(columns)) return;
  const uint32_t count = min(open.counts[blockIdx.y], open.capacity);
  const int pieces = points.padded_columns / 8;  // of 16 bytes
  const uint32_t warps = blockDim.x / 32;
  for (uint32_t i = blockIdx.x * warps + threadIdx.x / 32; i < count; i += gridDim.x * warps) {
    const int64_t place = static_cast<int64_t>(blockIdx.y) * open.capacity + i;
    const auto* from = static_cast<const uint4*>(points.values) + static_cast<int64_t>(open.rows[place].row) * pieces;
    auto* to = static_cast<uint4*>(open.values) + place * pieces;
    for (int piece = static_cast<int>(threadIdx.x % 32); piece < pieces; piece += 32) to[piece] = from[piece];
    if (threadIdx.x % 32 == 0) open.found[place] = 0;
  }
}

}  // namespace

int matrix_tile_columns(int32_t padded_columns, int64_t largest_model) {
  if (largest_model <= 64) return 64;
  if (padded_columns <= kNarrowColumns || largest_model <= 128) return 128;
  return 256;
}

int64_t matrix_terms(int64_t columns, int tile_columns) {
  return columns / tile_columns * tile_floats(tile_columns);
}

bool matrix_screen_available(int device) {
  int major = 0;
  return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major == 9;
}

void matrix_screen(const PackedRows& points, const PackedColumns& columns, const ScreenOutput& output,
                   cudaStream_t stream) {
  if (points.rows == 0 || columns.columns == 0) return;
  gather_terms<<<static_cast<unsigned>(columns.columns / columns.tile_columns),
                 static_cast<unsigned>(columns.tile_columns), 0, stream>>>(columns);
  check(cudaGetLastError(), "gather_terms");
  screen_for<Prove>(points, points, columns, output, stream);
}

void matrix_collect(const PackedRows& points, const PackedColumns& columns, const OpenRows& open, cudaStream_t stream) {
  if (open.capacity == 0 || columns.columns == 0) return;
  gather_rows<<<dim3(256, static_cast<unsigned>(columns.models)), 256, 0, stream>>>(points, columns, open);
  check(cudaGetLastError(), "gathering open rows");
  PackedRows gathered = points;
  gathered.values = open.values;
  gathered.rows = gathered.padded_rows = static_cast<int64_t>(columns.models) * open.capacity;
  ScreenOutput output;
  output.open = open;
  screen_for<Collect>(points, gathered, columns, output, stream);
}

}  // namespace manymeans::cuda
