// The tensor-core screen for Hopper: all scores of all rows, the best two of each kept in registers. See
// matrix_screen.cu.
//
// Two kernels, both persistent, with one warp that copies (TMA, a ring of barriers) and groups of four warps that
// multiply. In cycles of a multiprocessor's quarter and for 32 scores the product takes D / 16, the epilogue five
// instructions, four of them on a pipe of half rate; with floors (matrix_filter.cuh) less than two.
//
//   narrow (D <= 128): 256 rows a block, four groups of 64, whose fp16 values stay on the chip for all columns: in
//     registers for tiles of 64 columns, small models, else in shared memory. Groups know nothing of each other, so
//     that the products of some run beside the epilogues of others; column tiles are read once for 256 rows, since at
//     128 the second cache would have to deliver 32 bytes a cycle. Models of one tile (D <= 64, many rows): groups of
//     two halves of 64 rows, from shared memory.
//   wide: 128 rows a block, 64 a group; the groups are some panels apart, so that one multiplies while the other is in
//     its epilogue. The points stay in shared memory up to D = 512; beyond, they stream in together with the columns.
//
// What was tried, and what limits it: bench/results/h200/tensor_screen.md.
#include <manymeans/error.h>

#include "backend/cuda/chained_launch.cuh"
#include "backend/cuda/device_memory.h"
#include "backend/cuda/kernel_memory.h"
#include "backend/cuda/matrix_collect.cuh"
#include "backend/cuda/matrix_filter.cuh"
#include "backend/cuda/matrix_kernels.h"
#include "backend/cuda/matrix_narrow.cuh"
#include "backend/cuda/matrix_one_tile.cuh"
#include "backend/cuda/matrix_wide.cuh"

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <string>

namespace manymeans::cuda {
namespace {

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
  allow_all_shared_memory(kernel, "the matrix screen");
  task.row_tiles = static_cast<int32_t>((rows.rows + Shape::kRows - 1) / Shape::kRows);
  const CUtensorMap points = describe(rows.values, rows.padded_rows, rows.padded_columns, Shape::kBoxRows);
  const CUtensorMap columns =
      describe(task.columns.values, task.columns.columns, rows.padded_columns, task.columns.tile_columns);
  const int blocks = std::min(processors, task.row_tiles);
  launch_chained(kernel, dim3(static_cast<unsigned>(blocks)), Shape::kThreads, kShared, stream, "the matrix screen",
                 task, points, columns);
}

// A purpose's shares of the work and what it does with the scores.
struct Prove {
  template <int kRows>
  using Work = AllRows<kRows>;
  using Epilogue = ProveRows<false>;
};
template <int kHalves>
struct ProveTile {
  template <int kRows>
  using Work = AllRows<kRows>;
  using Epilogue = ProveOneTile<kHalves>;
};
struct ProveCounted {
  template <int kRows>
  using Work = CountedRows<kRows>;
  using Epilogue = ProveRows<true>;
};
struct Filter {
  template <int kRows>
  using Work = AllRows<kRows>;
  using Epilogue = FilterRows;
};
struct Collect {
  template <int kRows>
  using Work = OpenTiles<kRows>;
  using Epilogue = CollectRows;
};

template <class Purpose, int kSteps, int kColumns, int kHalves = 1>
void launch_steps(MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  using Shape = Narrow<kSteps, kColumns, kHalves>;
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

// Models of one tile. Two halves a group where both sides of the products fit into shared memory twice and every
// multiprocessor has some tiles of so many rows.
void launch_one_tile(MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  constexpr int64_t kFewestRows = 1 << 17;  // two tiles of 512 on each of 128 multiprocessors
  const int steps = task.points.padded_columns / 16;
  if (task.points.padded_columns > kNarrowColumns) return launch_wide<ProveTile<1>, kOneTile>(task, rows, stream);
  if (steps > 4 || rows.rows < kFewestRows) return launch_narrow<ProveTile<1>, kOneTile>(task, rows, stream);
  if (steps <= 1) return launch_steps<ProveTile<2>, 1, kOneTile, 2>(task, rows, stream);
  if (steps <= 2) return launch_steps<ProveTile<2>, 2, kOneTile, 2>(task, rows, stream);
  launch_steps<ProveTile<2>, 4, kOneTile, 2>(task, rows, stream);
}

template <class Purpose>
void screen_for(MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  const bool narrow = task.points.padded_columns <= kNarrowColumns;
  switch (task.columns.tile_columns) {
    case 64:
      return narrow ? launch_narrow<Purpose, 64>(task, rows, stream) : launch_wide<Purpose, 64>(task, rows, stream);
    case 128:
      return narrow ? launch_narrow<Purpose, 128>(task, rows, stream) : launch_wide<Purpose, 128>(task, rows, stream);
    case 256:
      if (!narrow) return launch_wide<Purpose, 256>(task, rows, stream);
      break;
    default: break;
  }
  throw no_such_tiles(task);
}

}  // namespace

void hopper_screen(MatrixTask task, const PackedRows& rows, MatrixPurpose purpose, cudaStream_t stream) {
  switch (purpose) {
    case MatrixPurpose::kProve: return screen_for<Prove>(task, rows, stream);
    case MatrixPurpose::kProveOneTile: return launch_one_tile(task, rows, stream);
    case MatrixPurpose::kProveCounted: return screen_for<ProveCounted>(task, rows, stream);
    case MatrixPurpose::kFilter: return screen_for<Filter>(task, rows, stream);
    case MatrixPurpose::kCollect: return screen_for<Collect>(task, rows, stream);
  }
}

}  // namespace manymeans::cuda
