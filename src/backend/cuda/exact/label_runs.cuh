// Reading the entries of a label order (label_order.h), run by run of one cluster.
#pragma once

#include "backend/cuda/device/pass_ranges.h"
#include "backend/cuda/exact/accumulate.h"

#include <cstdint>

namespace manymeans::cuda {

constexpr int kEntriesTogether = 4;     // rows that a warp loads at once
constexpr uint32_t kLeaves = 1U << 31;  // of an entry; the rest is the row, from the slice's first on

// The range that a cluster belongs to; clusters are numbered over all ranges.
__device__ __forceinline__ PassRange range_of_cluster(const PassRanges& ranges, int64_t cluster) {
  int low = 0;
  int high = ranges.count - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (ranges.at[middle].first <= cluster) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return ranges.at[low];
}

// The cluster of an entry: the last one of `from` and those after it that does not start behind the entry.
__device__ __forceinline__ int64_t cluster_of_entry(const LabelOrder& order, int64_t clusters, int64_t from,
                                                    uint32_t entry) {
  if (order.first[from + 1] > entry) return from;
  int64_t low = from + 1;
  int64_t high = clusters - 1;
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (order.first[middle] <= entry) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// The entries that a warp takes at once. Few entries give small shares, so that all warps have some. Many entries give
// large shares, so that sums are stored seldom.
__device__ __forceinline__ uint32_t entries_at_once(uint32_t count, uint32_t warps) {
  const uint32_t share = (count + warps - 1) / warps;
  return min(max((share + kEntriesTogether - 1) / kEntriesTogether * kEntriesTogether, 16U), 256U);
}

}  // namespace manymeans::cuda
