// Resolves entries that their screen did not prove. A warp takes an entry. For float32 it sums once more with the error
// of every sum kept, which leaves one entry in some ten million. Left entries, and float64, become one long integer.
// Bound by the caches, from which the lines are read.
#pragma once

#include "backend/cuda/runtime/wait_point.cuh"
#include "product/cuda/packed_lines.cuh"
#include "product/cuda/packed_product.h"
#include "product/cuda/unproved.cuh"
#include "product/product_certify.h"
#include "product/product_sum.h"

#include <cstdint>

namespace manymeans::cuda {

constexpr unsigned kAllLanes = ~0U;

// The lanes of a warp, each with some of the terms.
struct WarpTeam {
  __device__ int least(int mine) const { return __reduce_min_sync(kAllLanes, mine); }
  __device__ int most(int mine) const { return __reduce_max_sync(kAllLanes, mine); }
  __device__ bool any(bool mine) const { return __any_sync(kAllLanes, mine) != 0; }
  __device__ int64_t sum(int64_t mine) const {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_xor_sync(kAllLanes, mine, offset);
    return mine;
  }
};

// Calls use(a, b) for the lane's pairs of values of both lines, and for pairs of zeros behind the last. Keeps kTogether
// units of 16 bytes in flight.
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
__device__ inline bool proves_again(const ProductBlock& block, int row, int column, float& entry) {
  SumAndRest mine = {0, 0};
  for_each_pair<float, 4>(block, row, column, [&mine](double a, double b) {
    const SumAndRest next = two_sum(mine.sum, __dmul_rn(a, b));
    mine.sum = next.sum;
    mine.rest = __dadd_rn(mine.rest, next.rest);
  });
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const double sum = __shfl_xor_sync(kAllLanes, mine.sum, offset),
                 rest = __shfl_xor_sync(kAllLanes, mine.rest, offset);
    const SumAndRest next = two_sum(mine.sum, sum);
    mine.sum = next.sum;
    mine.rest = __dadd_rn(__dadd_rn(mine.rest, rest), next.rest);
  }
  const double bound = __dmul_rn(__dmul_rn(block.second_gamma, block.a.bounds[row]), block.b.bounds[column]);
  const bool proved = certify_float(__dadd_rn(mine.sum, mine.rest), bound, false, entry);
  return __all_sync(kAllLanes, proved) != 0;
}

template <class T>
__device__ __noinline__ T exact_entry(const ProductBlock& block, int row, int column) {
  ProductSum sum;
  for_each_pair<T, 1>(block, row, column, [&sum](double a, double b) { sum.add(a, b); });
  sum.join(WarpTeam());
  return sum.rounded<T>();
}

/// By all lanes of a warp.
template <class T>
__device__ __forceinline__ void resolve_entry(const ProductBlock& block, int row, int column) {
  T entry = 0;
  bool proved = false;
  if constexpr (sizeof(T) == 4) proved = proves_again(block, row, column, entry);
  if (!proved) entry = exact_entry<T>(block, row, column);
  if (threadIdx.x % 32 != 0) return;
  static_cast<T*>(block.out)[row * block.row_stride + column * block.column_stride] = entry;
}

/// Resolves a warp's float32 entries, given as to leave_unproved(), after the lanes have written all of theirs. If they
/// are few, all lanes resolve them now, one by one; else they are left to the list.
template <class Row, class Column>
__device__ __forceinline__ void resolve_few(const ProductBlock& block, uint64_t failed, const Row& row,
                                            const Column& column) {
  constexpr int kFew = 8;  // the warp waits for each entry here, while other warps share a list's entries
  unsigned lanes = __ballot_sync(kAllLanes, failed != 0);
  if (lanes == 0) return;
  const int count = __reduce_add_sync(kAllLanes, __popcll(static_cast<long long>(failed)));
  if (count > kFew) return leave_unproved(block.unproved, failed, row, column);
  const int own = static_cast<int>(threadIdx.x) % 32;
  if (own == 0) atomicAdd(block.unproved.settled, static_cast<unsigned long long>(count));
  __syncwarp();  // writes of such entries by other lanes come first
  for (; lanes != 0; lanes = __ballot_sync(kAllLanes, failed != 0)) {
    const int lane = __ffs(static_cast<int>(lanes)) - 1;
    const int e = __ffsll(static_cast<long long>(failed)) - 1;
    const int i = __shfl_sync(kAllLanes, row(e), lane), j = __shfl_sync(kAllLanes, column(e), lane);
    if (own == lane) failed &= failed - 1;
    resolve_entry<float>(block, i, j);
  }
}

/// The last statement of a kernel whose warps called resolve_few(), for all threads: the last block tells the host.
__device__ __forceinline__ void report_unproved(const Unproved& unproved) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  wait_point();
  __threadfence();
  const unsigned long long before = atomicAdd(unproved.blocks_done, 1ULL);
  __threadfence();
  wait_point();
  if (before + 1 < gridDim.x) return;
  unproved.found[0] = atomicAdd(unproved.counted, 0ULL);
  unproved.found[1] = atomicAdd(unproved.settled, 0ULL);
}

}  // namespace manymeans::cuda
