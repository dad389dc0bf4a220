#include "backend/cuda/device_memory.h"
#include "backend/cuda/kernel_memory.h"
#include "backend/cuda/matrix_filter.cuh"
#include "backend/cuda/matrix_kernels.h"
#include "backend/cuda/matrix_one_tile.cuh"
#include "backend/cuda/matrix_sync.cuh"

#include <algorithm>

namespace manymeans::cuda {
namespace {

template <int kColumns, class Work, class Epilogue>
void launch(MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  using Shape = Sync<kColumns>;
  const auto kernel = sync_kernel<Shape, Work, Epilogue>;
  constexpr int kShared = sizeof(typename Shape::Shared);
  int device = 0;
  int processors = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "asking for its processors");
  allow_all_shared_memory(kernel, "the matrix screen");
  task.row_tiles = static_cast<int32_t>((rows.rows + Shape::kRows - 1) / Shape::kRows);
  const int blocks = std::min(2 * processors, task.row_tiles);
  kernel<<<blocks, Shape::kThreads, kShared, stream>>>(task, rows);
  check_launch("the matrix screen");
}

template <int kColumns>
void launch_for(MatrixTask& task, const PackedRows& rows, MatrixPurpose purpose, cudaStream_t stream) {
  constexpr int kRows = Sync<kColumns>::kRows;
  switch (purpose) {
    case MatrixPurpose::kProve: return launch<kColumns, AllRows<kRows>, ProveRows<false>>(task, rows, stream);
    case MatrixPurpose::kProveOneTile:
      if constexpr (kColumns == kOneTile) return launch<kColumns, AllRows<kRows>, ProveOneTile<1>>(task, rows, stream);
      throw no_such_tiles(task);
    case MatrixPurpose::kProveCounted: return launch<kColumns, CountedRows<kRows>, ProveRows<true>>(task, rows, stream);
    case MatrixPurpose::kFilter: return launch<kColumns, AllRows<kRows>, FilterRows>(task, rows, stream);
    case MatrixPurpose::kCollect: return launch<kColumns, OpenTiles<kRows>, CollectRows>(task, rows, stream);
  }
}

}  // namespace

void sync_screen(MatrixTask task, const PackedRows& rows, MatrixPurpose purpose, cudaStream_t stream) {
  switch (task.columns.tile_columns) {
    case 64: return launch_for<64>(task, rows, purpose, stream);
    case 128: return launch_for<128>(task, rows, purpose, stream);
    default: throw no_such_tiles(task);
  }
}

}  // namespace manymeans::cuda
