// The statistics of a block's rows that changed their labels. The rows are put in label order first. So a warp adds up
// a run of one cluster in registers, and few atomic operations go to the device's memory.
#pragma once

#include "backend/cuda/device/limbs.cuh"
#include "backend/cuda/device/point_value.cuh"
#include "backend/cuda/exact/column_terms.cuh"
#include "backend/cuda/exact/label_changes.cuh"
#include "backend/cuda/persistent/persistent_screen.cuh"

#include <cstdint>
#include <type_traits>

namespace manymeans::cuda {

constexpr int kPersistentTogether = 4;            // entries that a warp loads at once
constexpr uint32_t kPersistentLeaves = 1U << 15;  // of an entry: cluster, this, row of the block
static_assert(kMaxPersistentRows <= kPersistentLeaves && kMaxPersistentK < kNoPersistentLabel);

/// Calls body(row, from, to) for this thread's rows that changed. labels: of the model.
template <class Body>
__device__ __forceinline__ void for_changes(const PersistentBlock& here, const uint16_t* labels, const Body& body) {
#pragma unroll 1
  for (int row = static_cast<int>(threadIdx.x); row < here.rows; row += kPersistentThreads) {
    const uint16_t from = labels[row];
    const uint16_t to = here.to[row];
    if (from != to) body(row, from, to);
  }
}

/// From counts to first places, by one warp; the number of entries.
__device__ __forceinline__ uint32_t place_clusters(uint32_t* places, int clusters) {
  uint32_t before = 0;
#pragma unroll 1
  for (int c = static_cast<int>(threadIdx.x % 32); c < clusters; c += 32) {  // whole warps: a multiple of 32
    const uint32_t count = places[c];
    const uint32_t inclusive = warp_inclusive_sum(count);
    places[c] = before + inclusive - count;
    before += __shfl_sync(~0U, inclusive, 31);
  }
  return before;
}

/// Writes the entries of the rows that changed, and their labels. Begins and ends with the block synchronised.
__device__ __forceinline__ void order_changes(const PersistentTask& task, int r, bool first_pass,
                                              const PersistentBlock& here) {
  const PassRange& range = here.ranges[r];
  uint16_t* const labels = here.labels + r * task.shape.rows;
  for_changes(here, labels, [&](int, uint16_t from, uint16_t to) {
    atomicAdd(here.places + to, 1U);
    atomicAdd(here.gains + to, 1);
    if (first_pass) return;
    atomicAdd(here.places + from, 1U);
    atomicSub(here.gains + from, 1);
  });
  __syncthreads();
  if (threadIdx.x < 32) {
    const int clusters = static_cast<int>((range.k + kPersistentColumns - 1) / kPersistentColumns * kPersistentColumns);
    const uint32_t entries = place_clusters(here.places, clusters);
    if (threadIdx.x == 0) here.tally->entries = entries;
  }
  __syncthreads();
  for_changes(here, labels, [&](int row, uint16_t from, uint16_t to) {
    labels[row] = to;
    const auto entry = static_cast<uint32_t>(row);
    here.entries[atomicAdd(here.places + to, 1U)] = entry | static_cast<uint32_t>(to) << 16;
    store_label(task.sums.current, range.slot, here.first + row, to);
    if (first_pass) return;
    here.entries[atomicAdd(here.places + from, 1U)] = entry | kPersistentLeaves | static_cast<uint32_t>(from) << 16;
  });
  __syncthreads();
}

/// Adds the block's counts and the change of the label sum to the pass's counters. The last warps have most to do: the
/// first ones are needed elsewhere.
__device__ __forceinline__ void count_entries(const PersistentTask& task, const PersistentBlock& here, bool first_pass,
                                              PassCounters& counters) {
  const PersistentTally& tally = *here.tally;
  const uint32_t entries = tally.entries;
  if (threadIdx.x == kPersistentThreads - 1 && tally.resolved != 0) {
    atomicAdd(&counters.resolved, static_cast<unsigned long long>(tally.resolved));
    atomicAdd(&counters.candidates, static_cast<unsigned long long>(tally.candidates));
  }
  LabelSumWords hash;
  const int64_t first_row = task.sums.points.number + here.first;  // among the rows of all ranks
#pragma unroll 1
  for (uint32_t i = kPersistentThreads - 1 - threadIdx.x; i < entries && !first_pass; i += kPersistentThreads) {
    const uint32_t entry = here.entries[i];
    const LabelSumWords term = device_label_term(first_row + entry % kPersistentLeaves, entry >> 16);
    if ((entry & kPersistentLeaves) != 0) {
      hash.subtract(term);
    } else {
      hash.add(term);
    }
  }
  count_changes(counters, first_pass ? entries : entries / 2, hash);
}

/// Numbers of rows, and weights.
template <bool kPlain>
__device__ __forceinline__ void add_gains(const PersistentTask& task, const PassRange& range,
                                          const PersistentBlock& here, uint32_t entries) {
#pragma unroll 1
  for (int64_t c = threadIdx.x; c < range.k; c += kPersistentThreads) {
    add_to(range.counts + c, here.gains[c]);
    if (kPlain) add_to(range.weights + c, here.gains[c]);
  }
  if constexpr (!kPlain) {
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < entries; i += kPersistentThreads) {
      const uint32_t entry = here.entries[i];
      const int64_t weight = integer_weight(task.sums, here.first + entry % kPersistentLeaves);
      add_to(range.weights + (entry >> 16), (entry & kPersistentLeaves) != 0 ? -weight : weight);
    }
  }
}

/// Some entries, and 32 columns of their rows.
struct EntryRun {
  uint32_t begin, end;
  int first_column;
};

/// Adds up a run, by a warp. kPlain: AccumulateTask::plain_floats(). Then some rows at a time are split, while the next
/// are loaded, and only then added.
template <bool kPlain, int kLimbs>
__device__ __forceinline__ void add_entries(const AccumulateTask& task, const PassRange& range,
                                            const PersistentBlock& here, const EntryRun& run) {
  const uint32_t end = run.end;
  constexpr int kTogether = kPlain ? kPersistentTogether : 1;
  using Value = std::conditional_t<kPlain, float, double>;
  const DevicePoints& points = task.points;
  const int64_t j = run.first_column + static_cast<int>(threadIdx.x % 32);
  const int64_t column = min(j, points.d - 1);  // beyond the last one: read, and not stored
  const double factor = kPlain ? factor_of<float>(task.terms, column) : top_of(task.terms, column);
  int64_t sums[kLimbs] = {};
  uint32_t cluster = here.entries[run.begin] >> 16;
  const auto store = [&] {
#pragma unroll
    for (int g = 0; g < kLimbs; ++g) {
      if (j < points.d) add_to(range.sums + (cluster * static_cast<int64_t>(kLimbs) + g) * points.d + j, sums[g]);
      sums[g] = 0;
    }
  };
  const auto load = [&](uint32_t i, Value(&values)[kTogether]) {
#pragma unroll
    for (int e = 0; e < kTogether; ++e) {
      const int64_t row = here.first + here.entries[min(i + e, end - 1)] % kPersistentLeaves;
      if constexpr (kPlain) {
        values[e] = static_cast<const float*>(points.data)[row * points.d + column];
      } else {
        values[e] = load_double(points, row * points.d + column);
        if (points.weights != nullptr) values[e] = __dmul_rn(points.weights[row], values[e]);
      }
    }
  };
  Value values[kTogether];
  load(run.begin, values);
#pragma unroll 1
  for (uint32_t i = run.begin; i < end; i += kTogether) {
    int64_t parts[kTogether][kLimbs];
    Value next[kTogether];
    load(i + kTogether, next);
#pragma unroll
    for (int e = 0; e < kTogether; ++e) {
      const auto keep = [&](int g, int64_t part) { parts[e][g] = part; };
      if constexpr (kPlain) {
        split_rounded<kLimbs>(task.terms, narrowed(values[e], 0), factor, keep);
      } else {
        split_term<kLimbs>(task.terms, scaled_term(task.terms, values[e], factor, column), keep);
      }
      values[e] = next[e];
    }
#pragma unroll
    for (int e = 0; e < kTogether; ++e) {
      if (i + e >= end) continue;
      const uint32_t entry = here.entries[i + e];
      if (entry >> 16 != cluster) {
        store();
        cluster = entry >> 16;
      }
      // -y has the parts of y with the other sign.
#pragma unroll
      for (int g = 0; g < kLimbs; ++g) sums[g] += (entry & kPersistentLeaves) != 0 ? -parts[e][g] : parts[e][g];
    }
  }
  store();
}

/// Adds the rows that changed to the range's statistics and the counters, and brings the labels up to date. Begins with
/// the block synchronised.
template <bool kPlain, int kLimbs>
__device__ __forceinline__ void add_changes(const PersistentTask& task, int r, bool first_pass,
                                            const PersistentBlock& here, PassCounters& counters) {
  order_changes(task, r, first_pass, here);
  const uint32_t entries = here.tally->entries;
  count_entries(task, here, first_pass, counters);
  add_gains<kPlain>(task, here.ranges[r], here, entries);
  const auto groups = static_cast<uint32_t>((task.sums.points.d + 31) / 32);
  // Short runs where there are few entries, so that all warps have some.
  const uint32_t share = (entries * groups + kPersistentWarps - 1) / kPersistentWarps;
  const uint32_t run = min((share + 3) / 4 * 4, 32U);
  const uint32_t items = entries == 0 ? 0 : (entries + run - 1) / run * groups;
#pragma unroll 1
  for (uint32_t item = threadIdx.x / 32; item < items; item += kPersistentWarps) {
    const uint32_t begin = item / groups * run;
    add_entries<kPlain, kLimbs>(task.sums, here.ranges[r], here,
                                {begin, min(begin + run, entries), static_cast<int>(item % groups) * 32});
  }
}

}  // namespace manymeans::cuda
