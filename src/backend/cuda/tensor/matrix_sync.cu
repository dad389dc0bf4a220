#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "backend/cuda/tensor/matrix_filter.cuh"
#include "backend/cuda/tensor/matrix_kernels.h"
#include "backend/cuda/tensor/matrix_one_tile.cuh"
#include "backend/cuda/tensor/matrix_sync.cuh"

#include <algorithm>
#include <vector>

namespace manymeans::cuda {
namespace {

template <int kColumns, class Work, class Epilogue>
void launch(MatrixTask& task, const PackedRows& rows, cudaStream_t stream) {
  using Shape = Sync<kColumns>;
  const auto kernel = sync_kernel<Shape, Work, Epilogue>;
  constexpr int kShared = sizeof(typename Shape::Shared);
  allow_all_shared_memory(kernel, "the matrix screen");
  task.row_tiles = static_cast<int32_t>((rows.rows + Shape::kRows - 1) / Shape::kRows);
  const int blocks = std::min(2 * multiprocessors_here(), task.row_tiles);
  kernel<<<blocks, Shape::kThreads, kShared, stream>>>(task, rows);
  check_launch("the matrix screen");
}

using Instances = std::vector<MatrixInstance>;

template <int kColumns, template <int> class Work, class Epilogue>
void add(Instances& to, MatrixPurpose purpose) {
  using Rows = Work<Sync<kColumns>::kRows>;
  to.push_back({purpose, kColumns, 1, kMaxColumns, 0, sizeof(typename Sync<kColumns>::Shared),
                reinterpret_cast<const void*>(sync_kernel<Sync<kColumns>, Rows, Epilogue>),
                launch<kColumns, Rows, Epilogue>});
}

template <int kColumns>
void add_tiles(Instances& to) {
  add<kColumns, AllRows, ProveRows<false>>(to, MatrixPurpose::kProve);
  add<kColumns, CountedRows, ProveRows<true>>(to, MatrixPurpose::kProveCounted);
  add<kColumns, AllRows, FilterRows>(to, MatrixPurpose::kFilter);
  add<kColumns, OverflowTiles, GatherCandidates>(to, MatrixPurpose::kGather);
}

Instances make_instances() {
  Instances all;
  add_tiles<64>(all);
  add_tiles<128>(all);
  add<kOneTile, AllRows, ProveOneTile<1>>(all, MatrixPurpose::kProveOneTile);
  return all;
}

}  // namespace

std::span<const MatrixInstance> sync_instances() {
  static const Instances all = make_instances();
  return all;
}

}  // namespace manymeans::cuda
