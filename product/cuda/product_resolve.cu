// The entries that screens have left in the list, or in its cells.
#include "backend/cuda/runtime/dependent_launch.cuh"
#include "backend/cuda/runtime/device_memory.h"
#include "product/cuda/packed_product.h"
#include "product/cuda/resolve_entry.cuh"

#include <cstdint>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;

template <class T>
__global__ void __launch_bounds__(kThreads) resolve_kernel(const __grid_constant__ ProductBlock block) {
  await_kernel_before();
  const Unproved& unproved = block.unproved;
  const unsigned long long counted = *unproved.counted;
  if (blockIdx.x == 0 && threadIdx.x == 0) *unproved.found = counted;
  if (counted > unproved.most) return;
  const int64_t first = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32, step = int64_t{gridDim.x} * kWarps;
  const auto listed = static_cast<int64_t>(min(counted, static_cast<unsigned long long>(unproved.capacity)));
  for (int64_t i = first; i < listed; i += step) {
    const uint2 place = unproved.list[i];
    resolve_entry<T>(block, static_cast<int>(place.x), static_cast<int>(place.y));
  }
  if (counted <= unproved.capacity) return;
  // A warp takes a row of a cell. Listed and proved entries get the same bits again.
  const int64_t cells_down = (block.rows() + kCellEntries - 1) / kCellEntries;
  const int64_t cell_rows = cells_down * kCellEntries * unproved.cells_across;
  for (int64_t i = first; i < cell_rows; i += step) {
    const int64_t cell = i / kCellEntries;
    if (unproved.cells[cell] == 0) continue;
    const int row = static_cast<int>(cell / unproved.cells_across * kCellEntries + i % kCellEntries);
    const int column_first = static_cast<int>(cell % unproved.cells_across * kCellEntries);
    const int column_end = min(column_first + kCellEntries, block.columns());
    if (row >= block.rows()) continue;
    for (int column = column_first; column < column_end; ++column) resolve_entry<T>(block, row, column);
  }
}

}  // namespace

void resolve_product(const ProductBlock& block, int multiprocessors, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(8 * multiprocessors);
  launch_dependent(block.wide ? resolve_kernel<double> : resolve_kernel<float>, {blocks, kThreads, 0, stream},
                   "summing entries of a product exactly", block);
}

}  // namespace manymeans::cuda
