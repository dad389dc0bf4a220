// Small problems. A pass of them is over before a kernel has started, so a batch is one kernel. Its blocks wait for
// each other twice a pass: when the prototypes are ready, and when the statistics are. A block keeps its rows in shared
// memory for the whole batch, in fp16. It reads the rows themselves from the second cache if something is not proved or
// has changed.
//
// Cost: with 10^4 rows, 64 columns and 100 prototypes products take 0.3 microseconds and the two waits 3. The rest is a
// chain of loads that wait for each other (bench/results/h200).
#include "backend/cuda/exact/nearest.cuh"
#include "backend/cuda/exact/solve.cuh"
#include "backend/cuda/persistent/persistent_passes.h"
#include "backend/cuda/persistent/persistent_screen.cuh"
#include "backend/cuda/persistent/persistent_sums.cuh"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "backend/cuda/runtime/wait_point.cuh"
#include "backend/cuda/tensor/pack_column.cuh"

#include <cooperative_groups.h>

#include <algorithm>

namespace manymeans::cuda {
namespace {

// This block's share of a model's prototypes, solved from the last pass's statistics if there are any, and rounded for
// the screen; some warps a prototype. All blocks must have ended the last pass, in whose counters the shifts go.
template <bool kPlain, int kLimbs>
__device__ void prepare_prototypes(const PersistentTask& task, const PersistentBlock& here, int r,
                                   PassCounters* last_pass) {
  __shared__ double squares_of_warps[kPersistentWarps][4];
  const PassRange& range = here.ranges[r];
  const int64_t d = task.sums.points.d;
  PassRanges ranges = task.sums.ranges;
  if (kPlain) ranges.float64 = false;  // as it is: so the compiler knows
  const SolveTask solving{ranges, d, kLimbs, task.sums.terms.bits, task.solve_shifts};
  const int64_t first = range.k * blockIdx.x / gridDim.x;
  const int64_t last = range.k * (blockIdx.x + 1) / gridDim.x;
  if (first == last) return;
  const int warp = static_cast<int>(threadIdx.x / 32);
  const int together = static_cast<int>(min(last - first, static_cast<int64_t>(kPersistentWarps)));
  const int warps = min(kPersistentWarps / together, (task.points.padded_columns + 31) / 32);
  const int lane = static_cast<int>(threadIdx.x) - warp / warps * (32 * warps);
#pragma unroll 1
  for (int64_t start = first; start < last; start += together) {
    const int64_t k = start + warp / warps;
    const bool here_too = warp / warps < together && k < last;
    const int64_t column = here.columns_of[r].first + k;
    HalfSquares<double> squares;
    double shift = 0;
#pragma unroll 1
    for (int64_t j = lane; here_too && j < task.points.padded_columns; j += 32 * warps) {
      double z = 0;
      if (j < d) {
        SolvedValue value;
        if (last_pass != nullptr) {
          value = solve_value(solving, range, k, j);
          shift += value.squared_shift();
        } else {
          value.after = prototype_value(range, ranges.float64, k * d + j);
        }
        z = half_frame_value(task.columns, value.after, j);
      }
      auto* values = static_cast<__half*>(const_cast<void*>(task.columns.columns.values));
      values[column * task.points.padded_columns + j] = rounded_value(z, j, d, squares);
    }
    squares.add_up<32>();
    shift = warp_sum(shift);
    if (threadIdx.x % 32 == 0) {
      squares_of_warps[warp][0] = squares.norm;
      squares_of_warps[warp][1] = squares.rest;
      squares_of_warps[warp][2] = squares.growth;
      squares_of_warps[warp][3] = shift;
    }
    __syncthreads();
    if (lane == 0 && here_too) {
#pragma unroll 1
      for (int w = 1; w < warps; ++w) {
        squares.norm += squares_of_warps[warp + w][0];
        squares.rest += squares_of_warps[warp + w][1];
        squares.growth += squares_of_warps[warp + w][2];
        shift += squares_of_warps[warp + w][3];
      }
      if (last_pass != nullptr) count_shift(ranges.control->shifts, shift, *last_pass);
      store_bounds(task.columns, column, true, squares);
    }
    __syncthreads();  // squares_of_warps may be written again
  }
}

// Labels of the unproved rows by canonical distances, a warp a row.
template <bool kPlain>
__device__ void resolve_unproved(const PersistentTask& task, const PassRange& range, const PersistentBlock& here) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const unsigned mask = 0xffU << (lane / kLanes * kLanes);
  const uint32_t count = here.tally->unproved;
#pragma unroll 1
  for (uint32_t i = threadIdx.x / 32; i < count; i += kPersistentWarps) {
    const UnprovedRow& entry = here.unproved[i];
    const bool all = entry.count > kMaxCandidates;
    const int candidates = all ? static_cast<int>(range.k) : static_cast<int>(entry.count);
    Nearest nearest{INFINITY, range.k};
#pragma unroll 1
    for (int c = lane / kLanes; c < candidates; c += 32 / kLanes) {
      const int64_t k = all ? c : entry.candidates[c];
      nearest.take(
          distance_by_lanes<kPlain>(task.sums.points, {range, task.sums.ranges.float64, here.first + entry.row, k},
                                    lane % kLanes, mask),
          k);
    }
    __syncwarp();
    nearest = warp_nearest(nearest);
    if (lane != 0) continue;
    here.to[entry.row] = static_cast<uint16_t>(nearest.k);
    atomicAdd(&here.tally->resolved, 1U);
    atomicAdd(&here.tally->candidates, static_cast<uint32_t>(candidates));
  }
}

// A pass of one model over the block's rows. kPlain: see add_entries().
template <bool kPlain, int kLimbs>
__device__ void pass_over_rows(const PersistentTask& task, int r, bool first_of_batch, const PersistentBlock& here,
                               PassCounters& counters) {
  const PassRange& range = here.ranges[r];
  if (threadIdx.x == 0) {
    here.tally->unproved = 0;
    here.tally->resolved = here.tally->candidates = 0;
  }
  PersistentModel model{here.columns_of[r], static_cast<int>(range.k), task.points.padded_columns};
  model.far = load_columns(task, model, here);
  screen_rows(here, model);
  __syncthreads();
  resolve_unproved<kPlain>(task, range, here);
  __syncthreads();
  add_changes<kPlain, kLimbs>(task, r, first_of_batch && range.first_pass != 0, here, counters);
  __syncthreads();
}

// Returns true if the engine must judge after this pass; every block finds the same. All must have done the pass.
__device__ bool must_judge(const PersistentBlock& here, const PassRanges& ranges, const PassCounters* counters,
                           bool first_of_batch) {
  bool judge = false;
#pragma unroll 1
  for (int r = 0; r < ranges.count; ++r) {
    const PassRange& range = here.ranges[r];
    judge |= changed_few(counters[r], *ranges.control, first_of_batch && range.first_pass != 0);
#pragma unroll 1
    for (int64_t k = threadIdx.x; k < range.k; k += kPersistentThreads) judge |= range.weights[k] == 0;
  }
  return __syncthreads_or(judge) != 0;
}

// Returns true if the update after that pass may be the last one of a model; every block finds the same. All of them
// must have done it.
__device__ bool must_judge_update(const PersistentBlock& here, const PassRanges& ranges, const PassCounters* counters) {
  bool judge = false;
#pragma unroll 1
  for (int r = 0; r < ranges.count; ++r) judge |= may_be_last(ranges.control->shifts, counters[r], here.ranges[r].k);
  return judge;
}

__device__ void end_batch(const PassRanges& ranges, int passes, device::Stopped stopped) {
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  ranges.control->passes = static_cast<uint32_t>(passes);
  ranges.control->stopped = stopped;
}

__device__ __forceinline__ void await_all(const cooperative_groups::grid_group& grid) {
  wait_point();
  grid.sync();
  wait_point();
}

template <bool kPlain, int kLimbs>
__global__ void __launch_bounds__(kPersistentThreads, 1)
    persistent_kernel(const __grid_constant__ PersistentTask task) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ PersistentTally tally;
  const PersistentBlock here = lay_out(task, memory, tally);
  const PassRanges& ranges = task.sums.ranges;
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  load_points(task, here);
  load_models(task, here);
  for (int pass = 0;; ++pass) {
    PassCounters* const counters = ranges.counters + static_cast<int64_t>(pass) * ranges.count;
#pragma unroll 1
    for (int r = 0; r < ranges.count; ++r) {
      prepare_prototypes<kPlain, kLimbs>(task, here, r, pass > 0 ? counters - ranges.count + r : nullptr);
    }
    await_all(grid);
    if (pass > 0 && must_judge_update(here, ranges, counters - ranges.count)) {
      return end_batch(ranges, pass, device::kByUpdate);
    }
#pragma unroll 1
    for (int r = 0; r < ranges.count; ++r) {
      pass_over_rows<kPlain, kLimbs>(task, r, pass == 0, here, counters[r]);
    }
    await_all(grid);
    const bool judge = must_judge(here, ranges, counters, pass == 0);
    if (judge) return end_batch(ranges, pass + 1, device::kByPass);
    if (pass + 1 == task.passes) return end_batch(ranges, pass + 1, device::kGoesOn);
  }
}

template <bool kPlain>
const void* kernel_of(int limbs) {
  switch (limbs) {
    case 1: return reinterpret_cast<const void*>(persistent_kernel<kPlain, 1>);
    case 2: return reinterpret_cast<const void*>(persistent_kernel<kPlain, 2>);
    default: return reinterpret_cast<const void*>(persistent_kernel<kPlain, 3>);
  }
}
static_assert(kMaxPersistentLimbs == 3);

}  // namespace

int64_t PersistentShape::bytes() const {
  const int64_t row = 2 * static_cast<int64_t>(stride);
  return rows * (row + kPersistentRowBytes + models * static_cast<int64_t>(sizeof(uint16_t))) +
         columns * (row + kPersistentColumnBytes) + kPersistentModelBytes;
}

PersistentDevice PersistentDevice::of(int device) {
  const auto ask = [&](cudaDeviceAttr what) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, what, device), "asking for the device's properties");
    return value;
  };
  PersistentDevice found;
  found.multiprocessors = ask(cudaDevAttrMultiProcessorCount);
  found.shared_bytes = ask(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  found.cooperative = ask(cudaDevAttrCooperativeLaunch) != 0;
  return found;
}

PersistentShape persistent_shape(const PersistentProblem& problem, const PersistentDevice& device) {
  const auto& [rows, padded_columns, max_clusters, models, limbs] = problem;
  const bool possible = device.cooperative && max_clusters <= kMaxPersistentK && models <= kMaxPersistentModels &&
                        limbs <= kMaxPersistentLimbs;
  const int64_t tiles = (rows + kPersistentTile - 1) / kPersistentTile;
  if (!possible || tiles > kMaxPersistentRows / kPersistentTile * device.multiprocessors) return {};
  PersistentShape shape;
  // A block for every tile or prototype, as long as all can be there at once.
  const int64_t blocks = std::clamp<int64_t>(std::max(tiles, max_clusters), 1, device.multiprocessors);
  shape.rows = static_cast<int32_t>((tiles + blocks - 1) / blocks * kPersistentTile);
  shape.columns =
      static_cast<int32_t>((max_clusters + kPersistentColumns - 1) / kPersistentColumns * kPersistentColumns);
  shape.stride = padded_columns + 8;
  shape.models = models;
  constexpr int64_t kStatic = 2048;  // other shared memory of the kernel
  if (shape.bytes() + kStatic > device.shared_bytes) return {};
  shape.blocks = static_cast<int32_t>(blocks);
  return shape;
}

bool persistent_passes(const PersistentTask& task, cudaStream_t stream) {
  const int limbs = task.sums.terms.limbs;
  const void* kernel = task.sums.plain_floats() ? kernel_of<true>(limbs) : kernel_of<false>(limbs);
  const auto bytes = static_cast<size_t>(task.shape.bytes());
  allow_all_shared_memory(kernel, "sizing the shared memory of a batch");
  PersistentTask given = task;
  void* arguments[] = {&given};
  const cudaError_t status = cudaLaunchCooperativeKernel(kernel, dim3(static_cast<unsigned>(task.shape.blocks)),
                                                         dim3(kPersistentThreads), arguments, bytes, stream);
  if (status == cudaErrorCooperativeLaunchTooLarge) {
    cudaGetLastError();
    return false;
  }
  check(status, "starting a batch of passes");
  return true;
}

}  // namespace manymeans::cuda
