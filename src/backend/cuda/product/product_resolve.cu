// Entries that the screen did not prove. A warp takes an entry: for float32 it sums once more, with the error of every
// sum kept, which leaves one entry in some ten million; those, and float64, become one long integer. Bound by the
// caches, from which the lines are read.
#include "backend/cuda/product/packed_lines.cuh"
#include "backend/cuda/product/packed_product.h"
#include "backend/cuda/runtime/dependent_launch.cuh"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/product_certify.h"
#include "core/product_sum.h"

#include <cstdint>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
constexpr unsigned kAll = ~0U;

// The lanes of a warp, each with some of the terms.
struct WarpTeam {
  __device__ int least(int mine) const { return __reduce_min_sync(kAll, mine); }
  __device__ int most(int mine) const { return __reduce_max_sync(kAll, mine); }
  __device__ bool any(bool mine) const { return __any_sync(kAll, mine) != 0; }
  __device__ int64_t sum(int64_t mine) const {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_xor_sync(kAll, mine, offset);
    return mine;
  }
};

// Calls use(a, b) for the lane's pairs of values of both lines, and for pairs of zeros behind the last; so many units
// of 16 bytes are on their way together.
template <class Value, int kTogether, class Use>
__device__ __forceinline__ void for_each_pair(const ProductBlock& block, int row, int column, const Use& use) {
  constexpr int kUnit = 16 / sizeof(Value);
  const int64_t slice = sizeof(Value) == 8 ? kValueSlices : 0;
  const std::byte* a = block.a.values + slice * block.a.slice_bytes + unit_place(block.a.chunks, row, 0);
  const std::byte* b = block.b.values + slice * block.b.slice_bytes + unit_place(block.b.chunks, column, 0);
  const int64_t units = int64_t{block.a.chunks} * 4;
  for (int64_t first = threadIdx.x % 32; first < units; first += kTogether * 32) {
    alignas(16) Value x[kTogether * kUnit], y[kTogether * kUnit];
#pragma unroll
    for (int t = 0; t < kTogether; ++t) {
      const int64_t unit = first + t * 32;
      const int64_t at = unit / 4 * kBandBytes + unit % 4 * 16;
      const bool there = unit < units;
      *reinterpret_cast<uint4*>(x + t * kUnit) = there ? *reinterpret_cast<const uint4*>(a + at) : uint4{};
      *reinterpret_cast<uint4*>(y + t * kUnit) = there ? *reinterpret_cast<const uint4*>(b + at) : uint4{};
    }
#pragma unroll
    for (int v = 0; v < kTogether * kUnit; ++v) use(static_cast<double>(x[v]), static_cast<double>(y[v]));
  }
}

// A compensated sum of exact products; all lanes say the same.
__device__ bool proves_again(const ProductBlock& block, int row, int column, float& entry) {
  SumAndRest mine = {0, 0};
  for_each_pair<float, 4>(block, row, column, [&mine](double a, double b) {
    const SumAndRest next = two_sum(mine.sum, __dmul_rn(a, b));
    mine.sum = next.sum;
    mine.rest = __dadd_rn(mine.rest, next.rest);
  });
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const double sum = __shfl_xor_sync(kAll, mine.sum, offset), rest = __shfl_xor_sync(kAll, mine.rest, offset);
    const SumAndRest next = two_sum(mine.sum, sum);
    mine.sum = next.sum;
    mine.rest = __dadd_rn(__dadd_rn(mine.rest, rest), next.rest);
  }
  const double bound = __dmul_rn(__dmul_rn(block.second_gamma, block.a.bounds[row]), block.b.bounds[column]);
  const bool proved = certify_float(__dadd_rn(mine.sum, mine.rest), bound, false, entry);
  return __all_sync(kAll, proved) != 0;
}

template <class T>
__device__ __noinline__ T exact_entry(const ProductBlock& block, int row, int column) {
  ProductSum sum;
  for_each_pair<T, 1>(block, row, column, [&sum](double a, double b) { sum.add(a, b); });
  sum.join(WarpTeam());
  return sum.rounded<T>();
}

template <class T>
__device__ void resolve(const ProductBlock& block, int row, int column) {
  T entry = 0;
  bool proved = false;
  if constexpr (sizeof(T) == 4) proved = proves_again(block, row, column, entry);
  if (!proved) entry = exact_entry<T>(block, row, column);
  if (threadIdx.x % 32 != 0) return;
  static_cast<T*>(block.out)[row * block.row_stride + column * block.column_stride] = entry;
}

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
    resolve<T>(block, static_cast<int>(place.x), static_cast<int>(place.y));
  }
  if (counted <= unproved.capacity) return;
  // A row of a cell for each warp. What the list has, and what was proved, gets the same bits again.
  const int64_t cells_down = (block.rows() + kCellEntries - 1) / kCellEntries;
  const int64_t cell_rows = cells_down * kCellEntries * unproved.cells_across;
  for (int64_t i = first; i < cell_rows; i += step) {
    const int64_t cell = i / kCellEntries;
    if (unproved.cells[cell] == 0) continue;
    const int row = static_cast<int>(cell / unproved.cells_across * kCellEntries + i % kCellEntries);
    const int column_first = static_cast<int>(cell % unproved.cells_across * kCellEntries);
    const int column_end = min(column_first + kCellEntries, block.columns());
    if (row >= block.rows()) continue;
    for (int column = column_first; column < column_end; ++column) resolve<T>(block, row, column);
  }
}

}  // namespace

void resolve_product(const ProductBlock& block, int multiprocessors, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(8 * multiprocessors);
  launch_dependent(block.wide ? resolve_kernel<double> : resolve_kernel<float>, {blocks, kThreads, 0, stream},
                   "summing entries of a product exactly", block);
}

}  // namespace manymeans::cuda
