// Rows for the empty clusters of a model, by one block: docs/developer/contract.md, "Empty clusters".
#pragma once

#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/exact/nearest.cuh"

#include <cstdint>

namespace manymeans::cuda {

/// A model whose rows are numbered from 0.
struct RowsOfModel {
  DevicePoints points;  ///< all; the model's begin at first_row
  int64_t first_row, rows;
  LabelRows labels;  ///< of all models; the model's begin at first_label
  int64_t first_label;
  PassRange range;
  bool float64;  ///< the prototypes' type
};

/// A row of a model and its distance to the prototype of its cluster.
struct AssignedRow {
  double d2;
  int32_t row;
  uint32_t label;

  __device__ bool is_farther(const AssignedRow& other) const {
    return d2 != other.d2 ? d2 > other.d2 : row < other.row;
  }
};

constexpr int kMaxRelocated = 32;          ///< rows of one update
constexpr int kMaxRelocationRows = 65536;  ///< of a model; more would take one block too long

/// The empty clusters of a model and the rows that they get; in shared memory.
struct Relocation {
  int count;
  uint32_t empty[kMaxRelocated];
  AssignedRow donors[kMaxRelocated];
  AssignedRow of_warps[32];
};

/// The row behind `last` in the order of DistantRow::is_farther(); row -1: none whose distance is above 0. All threads
/// of the block call it, and get it.
__device__ inline AssignedRow next_farthest(const RowsOfModel& model, const AssignedRow& last, Relocation& shared) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const unsigned mask = 0xffU << (threadIdx.x % 32 / kLanes * kLanes);
  constexpr int kAtOnce = 4;  // rows of a team, whose loads are under way together
  const int64_t d = model.points.d;
  AssignedRow best{0, -1, 0};
  for (int64_t first = threadIdx.x / kLanes; first < model.rows; first += kAtOnce * (blockDim.x / kLanes)) {
    int64_t rows[kAtOnce];
    uint32_t labels[kAtOnce];
    double d2[kAtOnce] = {};
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      rows[u] = min(first + u * (blockDim.x / kLanes), model.rows - 1);
      labels[u] = load_label(model.labels, 0, model.first_label + rows[u]);
    }
    with_values(model.points, [&](const auto* values) {
      for (int64_t j = lane; j < d; j += kLanes) {
#pragma unroll
        for (int u = 0; u < kAtOnce; ++u) {
          const double x = widened(values[(model.first_row + rows[u]) * d + j]);
          d2[u] = squared_step(x, prototype_value(model.range, model.float64, labels[u] * d + j), d2[u]);
        }
      }
    });
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const AssignedRow here{fold_eight(d2[u], mask), static_cast<int32_t>(rows[u]), labels[u]};
      if (last.is_farther(here) && here.is_farther(best)) best = here;
    }
  }
  __syncwarp();
  for (int step = 16; step >= kLanes; step /= 2) {
    const AssignedRow other{__shfl_xor_sync(~0U, best.d2, step), __shfl_xor_sync(~0U, best.row, step),
                            __shfl_xor_sync(~0U, best.label, step)};
    if (other.is_farther(best)) best = other;
  }
  if (threadIdx.x % 32 == 0) shared.of_warps[threadIdx.x / 32] = best;
  __syncthreads();
  for (unsigned w = 0; w < blockDim.x / 32; ++w) {
    if (shared.of_warps[w].is_farther(best)) best = shared.of_warps[w];
  }
  __syncthreads();  // it may be written again
  return best;
}

/// Finds a row for each empty cluster, in the order of clusters. Returns whether there is one for each, and the work is
/// a block's; else the engine does it. All threads of the block call it.
__device__ inline bool find_donors(const RowsOfModel& model, Relocation& shared) {
  if (threadIdx.x == 0) {
    shared.count = 0;
    for (int32_t k = 0; k < model.range.k; ++k) {
      if (model.range.weights[k] != 0) continue;
      if (shared.count < kMaxRelocated) shared.empty[shared.count] = static_cast<uint32_t>(k);
      ++shared.count;
    }
  }
  __syncthreads();
  if (shared.count > kMaxRelocated || model.rows > kMaxRelocationRows) return false;
  AssignedRow last{INFINITY, -1, 0};
  int found = 0;
  for (int looks = 0; found < shared.count; ++looks) {
    if (looks == 2 * kMaxRelocated) return false;
    last = next_farthest(model, last, shared);
    if (last.row < 0) return false;
    long long left = model.range.weights[last.label];
    for (int i = 0; i < found; ++i) left -= shared.donors[i].label == last.label ? 1 : 0;
    if (left == 1) continue;
    if (threadIdx.x == 0) shared.donors[found] = last;
    ++found;
  }
  __syncthreads();
  return true;
}

}  // namespace manymeans::cuda
