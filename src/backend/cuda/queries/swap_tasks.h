// Arguments of the kernels that score swaps (device_swap_scores.h). Everything is in device memory; names are as in the
// contract, "Search".
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/runtime/device_memory.h"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace manymeans::cuda {

/// Rows, or centres, of a tile: distances are computed for tiles of both.
constexpr int kSwapTile = 64;

/// A model, and what is known of the rows under it.
struct SwapModel {
  DevicePoints points;  ///< all rows, fewer than 2^31
  const double* centroids = nullptr;
  int32_t k = 0;

  // Of each row.
  double* least = nullptr;         ///< d1
  double* second_least = nullptr;  ///< d2
  uint32_t* nearest = nullptr;     ///< l1
  uint32_t* second = nullptr;      ///< l2
  double* products = nullptr;      ///< w' d1
  double* bonuses = nullptr;       ///< what the rows of its l1 and l2 gain by an update; 0 but for the first of these
  uint64_t* keys = nullptr;        ///< l1 and l2
  const uint32_t* numbers = nullptr;
  int key_bits = 0;  ///< of either

  // Rows in another order, ascending where equal.
  uint64_t* sorted_keys = nullptr;  ///< of by_pair
  uint32_t* by_cluster = nullptr;   ///< by l1
  uint32_t* by_pair = nullptr;      ///< by l1 and l2
  uint32_t* pairs = nullptr;        ///< where each pair of clusters begins in by_pair, in any order
  uint32_t* pair_count = nullptr;
  void* scratch = nullptr;  ///< of sorting
  size_t scratch_bytes = 0;

  // Of each cluster; the places have one more for the end.
  uint32_t* first = nullptr;       ///< of its rows in by_cluster
  uint32_t* first_tile = nullptr;  ///< the same in tiles, of which none has rows of two clusters
  double* weights = nullptr;       ///< n_a
  double* reaches = nullptr;       ///< the largest sqrt(d1) + sqrt(d2)
  double* raw_costs = nullptr;
  double* costs = nullptr;

  int64_t max_tiles() const { return points.n / kSwapTile + k; }
};

/// The result of a candidate.
struct FoundSwap {
  double change;
  uint32_t removed;
  uint32_t cluster;
};

/// Some candidates.
struct SwapCandidates {
  const uint32_t* rows = nullptr;
  int32_t count = 0;
  double* points = nullptr;             ///< count x D
  uint32_t* listed = nullptr;           ///< by cluster: room for `count` candidates that reach it
  uint32_t* lengths = nullptr;          ///< of these lists
  unsigned long long* marks = nullptr;  ///< of each candidate and tile: the rows with e < d2
  int64_t mark_stride = 0;
  uint8_t* touched = nullptr;    ///< of each candidate and cluster: whether any is marked
  double* removals = nullptr;    ///< likewise: what the removal costs then
  double* recoveries = nullptr;  ///< of each candidate: the rec_a, clusters ascending
  FoundSwap* found = nullptr;
};

/// Bytes of scratch for sorting n rows.
size_t swap_scratch_bytes(int64_t n);

// All functions below are asynchronous.

/// 0 .. n - 1.
void number_rows(uint32_t* numbers, int64_t n, cudaStream_t stream);
/// l1, d1, l2, d2 and products.
void find_two_nearest(const SwapModel& model, cudaStream_t stream);
/// The orders of the rows, and everything of each cluster.
void find_removal_costs(const SwapModel& model, cudaStream_t stream);
/// The best swap of each candidate. `marks`, `touched` and `lengths` must be zero.
void find_best_swaps(const SwapModel& model, const SwapCandidates& candidates, cudaStream_t stream);

}  // namespace manymeans::cuda
