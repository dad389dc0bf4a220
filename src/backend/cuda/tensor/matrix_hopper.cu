// The tensor-core screen for Hopper: all scores of all rows, the best two of each kept in registers. See
// matrix_screen.cu.
//
// Two kernels, both persistent. One warp copies (TMA, a ring of barriers), and groups of four warps multiply. Costs are
// in cycles of a multiprocessor's quarter for 32 scores. The product takes D / 16. The epilogue takes five
// instructions, four of them on a pipe of half rate; with thresholds (matrix_filter.cuh) less than two.
//
//   short rows (D <= 128): 256 rows a block, four groups of 64. Their fp16 values stay on the chip for all columns: in
//     registers for tiles of 64 columns, small models, else in shared memory. Groups are independent, so products of
//     some overlap with epilogues of others. Column tiles are read once for 256 rows: at 128 the second cache would
//     have to deliver 32 bytes a cycle. Models of one tile (D <= 64, many rows): groups of two halves of 64 rows, from
//     shared memory.
//   long rows: 128 rows a block, 64 a group. The groups are some panels apart: one multiplies while the other is in its
//     epilogue. The points stay in shared memory up to D = 512; beyond, they stream in together with the columns.
//
// Trials and limits: bench/results/h200/tensor_screen.md.
#include <manymeans/error.h>

#include "backend/cuda/exact/resolve.h"
#include "backend/cuda/runtime/dependent_launch.cuh"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "backend/cuda/tensor/matrix_filter.cuh"
#include "backend/cuda/tensor/matrix_gather.cuh"
#include "backend/cuda/tensor/matrix_kernels.h"
#include "backend/cuda/tensor/matrix_long_rows.cuh"
#include "backend/cuda/tensor/matrix_one_tile.cuh"
#include "backend/cuda/tensor/matrix_short_rows.cuh"

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <string>
#include <vector>

namespace manymeans::cuda {
namespace {

// The driver's function that describes a matrix to the copy engine, found at run time: nothing is linked against it.
using EncodeTiled = decltype(&cuTensorMapEncodeTiled);
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
  constexpr int kShared = sizeof(typename Shape::Shared);
  allow_all_shared_memory(kernel, "the matrix screen");
  task.row_tiles = static_cast<int32_t>((rows.rows + Shape::kRows - 1) / Shape::kRows);
  const CUtensorMap points = describe(rows.values, rows.padded_rows, rows.padded_columns, Shape::kBoxRows);
  const CUtensorMap columns =
      describe(task.columns.values, task.columns.columns, rows.padded_columns, task.columns.tile_columns);
  const int blocks = std::min(multiprocessors_here(), task.row_tiles);
  launch_dependent(kernel, {dim3(static_cast<unsigned>(blocks)), Shape::kThreads, kShared, stream}, "the matrix screen",
                   task, points, columns);
}

// A purpose's shares of the work and what it does with the scores.
struct Prove {
  static constexpr MatrixPurpose kPurpose = MatrixPurpose::kProve;
  template <int kRows>
  using Work = AllRows<kRows>;
  using Epilogue = ProveRows<false>;
};
template <int kHalves>
struct ProveTile {
  static constexpr MatrixPurpose kPurpose = MatrixPurpose::kProveOneTile;
  template <int kRows>
  using Work = AllRows<kRows>;
  using Epilogue = ProveOneTile<kHalves>;
};
struct ProveCounted {
  static constexpr MatrixPurpose kPurpose = MatrixPurpose::kProveCounted;
  template <int kRows>
  using Work = CountedRows<kRows>;
  using Epilogue = ProveRows<true>;
};
struct Filter {
  static constexpr MatrixPurpose kPurpose = MatrixPurpose::kFilter;
  template <int kRows>
  using Work = AllRows<kRows>;
  using Epilogue = FilterRows;
};
struct Gather {
  static constexpr MatrixPurpose kPurpose = MatrixPurpose::kGather;
  template <int kRows>
  using Work = OverflowTiles<kRows>;
  using Epilogue = GatherCandidates;
};

template <class Purpose, class Shape>
constexpr auto kShortKernel =
    short_screen<Shape, typename Purpose::template Work<Shape::kRows>, typename Purpose::Epilogue>;

template <class Purpose, class Shape>
constexpr auto kLongKernel = long_screen<Shape::kColumns, Shape::kResident,
                                         typename Purpose::template Work<Shape::kRows>, typename Purpose::Epilogue>;

template <class Purpose, class Shape>
void launch_short(MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  launch<Shape>(kShortKernel<Purpose, Shape>, task, rows, stream);
}

template <class Purpose, class Shape>
void launch_long(MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  task.lag = meeting_lag(task.panels, Shape::kStages);
  launch<Shape>(kLongKernel<Purpose, Shape>, task, rows, stream);
}

using Instances = std::vector<MatrixInstance>;

// Each begins where the one before it ends.
template <class Purpose, int kFirstColumns, int kSteps, int kColumns, int kHalves = 1>
void add_short(Instances& to, int64_t min_rows = 0) {
  using Shape = ShortRows<kSteps, kColumns, kHalves>;
  to.push_back({Purpose::kPurpose, kColumns, kFirstColumns, kSteps * kDepthBlock, min_rows,
                sizeof(typename Shape::Shared), reinterpret_cast<const void*>(kShortKernel<Purpose, Shape>),
                launch_short<Purpose, Shape>});
}

template <class Purpose, int kColumns>
void add_all_short(Instances& to) {
  add_short<Purpose, 1, 1, kColumns>(to);
  add_short<Purpose, 17, 2, kColumns>(to);
  add_short<Purpose, 33, 4, kColumns>(to);
  add_short<Purpose, 65, 6, kColumns>(to);
  add_short<Purpose, 97, 8, kColumns>(to);
}

template <class Purpose, int kColumns, int kResident>
void add_long(Instances& to) {
  using Shape = LongRows<kColumns, kResident>;
  constexpr LongRing kRing = Shape::kRing;
  static_assert(meetings_hold(kRing));
  to.push_back({Purpose::kPurpose, kColumns, (kRing.first_panels - 1) * kPanel + 1,
                static_cast<int32_t>(std::min<int64_t>(kMaxColumns, int64_t{kRing.last_panels} * kPanel)), 0,
                sizeof(typename Shape::Shared), reinterpret_cast<const void*>(kLongKernel<Purpose, Shape>),
                launch_long<Purpose, Shape>});
}

template <class Purpose, int kColumns>
void add_all_long(Instances& to) {
  static_assert(kLongResident == std::array{4, 8, 0});
  add_long<Purpose, kColumns, 4>(to);
  add_long<Purpose, kColumns, 8>(to);
  add_long<Purpose, kColumns, 0>(to);
}

template <class Purpose>
void add_purpose(Instances& to) {
  static_assert(kLongTiles == std::array{64, 128, 256});
  add_all_short<Purpose, 64>(to);
  add_all_short<Purpose, 128>(to);
  add_all_long<Purpose, 64>(to);
  add_all_long<Purpose, 128>(to);
  add_all_long<Purpose, 256>(to);
}

// Models of one tile. A group has two halves if both sides of the products fit into shared memory twice, and every
// multiprocessor has some tiles of such rows.
void add_one_tile(Instances& to) {
  constexpr int64_t kMinRows = 1 << 17;  // two tiles of 512 on each of 128 multiprocessors
  add_short<ProveTile<2>, 1, 1, kOneTile, 2>(to, kMinRows);
  add_short<ProveTile<2>, 17, 2, kOneTile, 2>(to, kMinRows);
  add_short<ProveTile<2>, 33, 4, kOneTile, 2>(to, kMinRows);
  add_all_short<ProveTile<1>, kOneTile>(to);
  add_all_long<ProveTile<1>, kOneTile>(to);
}

// Of models of one tile the overflow rows are looked at once more where rows are long only.
void add_gather(Instances& to) {
  static_assert(kOneTile * long_ring(kOneTile, 4).last_panels * kPanel <= kDirectValues);
  add_long<Gather, kOneTile, 8>(to);
  add_long<Gather, kOneTile, 0>(to);
  add_all_short<Gather, 128>(to);
  add_all_long<Gather, 128>(to);
  add_all_long<Gather, 256>(to);
}

Instances make_instances() {
  Instances all;
  add_purpose<Prove>(all);
  add_one_tile(all);
  add_purpose<ProveCounted>(all);
  add_purpose<Filter>(all);
  add_gather(all);
  return all;
}

}  // namespace

std::span<const MatrixInstance> hopper_instances() {
  static const Instances all = make_instances();
  return all;
}

}  // namespace manymeans::cuda
