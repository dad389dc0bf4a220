// Finding the rows of a chunk whose labels a pass changed, and counting them.
#pragma once

#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/device/philox.cuh"
#include "backend/cuda/exact/accumulate.h"

#include <cstdint>

namespace manymeans::cuda {

constexpr int kChangeThreads = 512;                            // of the blocks that look for changes
constexpr int kRowsTogether = 4;                               // labels that a thread loads at once
constexpr int kMaxChunk = 2 * kChangeThreads * kRowsTogether;  // rows that a block looks at together
constexpr uint32_t kNoLabel = ~0U;

// The rows of a chunk whose labels changed.
struct Changes {
  int count;
  uint16_t place[kMaxChunk];
};

// Four neighbouring labels in one load; `row` is a multiple of four.
__device__ __forceinline__ void load_four(const LabelRows& labels, int32_t slot, int64_t row, uint32_t (&four)[4]) {
  const int64_t at = slot * labels.stride + row;
  if (labels.width == 1) {
    const uchar4 v = *reinterpret_cast<const uchar4*>(static_cast<const uint8_t*>(labels.base) + at);
    four[0] = v.x, four[1] = v.y, four[2] = v.z, four[3] = v.w;
  } else if (labels.width == 2) {
    const ushort4 v = *reinterpret_cast<const ushort4*>(static_cast<const uint16_t*>(labels.base) + at);
    four[0] = v.x, four[1] = v.y, four[2] = v.z, four[3] = v.w;
  } else {
    const uint4 v = *reinterpret_cast<const uint4*>(static_cast<const uint32_t*>(labels.base) + at);
    four[0] = v.x, four[1] = v.y, four[2] = v.z, four[3] = v.w;
  }
}

// Lists the changes of task.chunk rows from `first` on. All threads of the block call it, and are done with `changes`.
__device__ inline void list_changes(const AccumulateTask& task, const PassRange& range, bool first_pass, int64_t first,
                                    Changes& changes) {
  if (threadIdx.x == 0) changes.count = 0;
  __syncthreads();
  for (int i = threadIdx.x * kRowsTogether; i < task.chunk; i += kChangeThreads * kRowsTogether) {
    if (first + i >= task.points.n) continue;
    uint32_t to[kRowsTogether];
    uint32_t from[kRowsTogether] = {kNoLabel, kNoLabel, kNoLabel, kNoLabel};
    load_four(task.next, range.slot, first + i, to);
    if (!first_pass) load_four(task.current, range.slot, first + i, from);
#pragma unroll
    for (int r = 0; r < kRowsTogether; ++r) {
      if (from[r] == to[r] || first + i + r >= task.points.n) continue;
      changes.place[atomicAdd(&changes.count, 1)] = static_cast<uint16_t>(i + r);
    }
  }
  __syncthreads();
}

// The label of a row before the pass.
__device__ __forceinline__ uint32_t label_before(const AccumulateTask& task, const PassRange& range, bool first_pass,
                                                 int64_t row) {
  return first_pass ? kNoLabel : load_label(task.current, range.slot, row);
}

// The sum over the warp.
__device__ inline LabelSumWords warp_sum(LabelSumWords hash) {
#pragma unroll 1
  for (int step = 16; step > 0; step /= 2) {
    hash.add({__shfl_xor_sync(~0U, hash.low, step), __shfl_xor_sync(~0U, hash.high, step)});
  }
  return hash;
}

// Adds to a sum, a weight or a count of a cluster, if there is anything to add.
__device__ __forceinline__ void add_to(long long* to, int64_t value) {
  if (value != 0) atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

// Adds to the pass's counters: `hash` of every thread, `changed` of the block's first.
__device__ inline void count_changes(PassCounters& counters, unsigned long long changed, LabelSumWords hash) {
  hash = warp_sum(hash);
  if (threadIdx.x % 32 == 0 && (hash.low != 0 || hash.high != 0)) {
    atomic_add_128(&counters.hash_low, &counters.hash_high, hash.low, hash.high);
  }
  if (threadIdx.x == 0 && changed != 0) atomicAdd(&counters.changed, changed);
}

}  // namespace manymeans::cuda
