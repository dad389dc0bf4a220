// A block a cluster solves its model in exact numbers; then, if all have, models and what they were change places.
//
// Bound: latency. A model of 16 features takes some 10^5 operations of integers, which is nothing, in a chain of some
// thousand steps; 64 of them take as long as one.
#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/linear/solve_models.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "prototype/word_solve.h"

#include <cstddef>

namespace manymeans::cuda {
namespace {

constexpr int kFewPairs = 64;  // two for each thread of a warp; up to here more warps do not pay
constexpr int kThreads = 128;
constexpr int kSwapThreads = 256;

using FewWords = WordSolveSpace<4, 8>;
using ManyWords = WordSolveSpace<7, 14>;

struct BlockTeam {
  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  __device__ void sync() const { __syncthreads(); }
};

__device__ __forceinline__ void store_value(void* to, bool float64, int64_t at, double value) {
  if (float64) {
    static_cast<double*>(to)[at] = __dadd_rn(value, 0.0);  // + 0: no negative zeros
  } else {
    static_cast<float*>(to)[at] = __fadd_rn(__double2float_rn(value), 0.0F);
  }
}

// The x index of a block is the cluster, y is the range. The solution goes to PassRange::before.
template <class Space>
__global__ void __launch_bounds__(kThreads) solve_kernel(const __grid_constant__ ModelSolveTask task) {
  extern __shared__ uint64_t memory[];
  if (stopped(task.ranges)) return;
  const PassRange range = task.ranges.at[blockIdx.y];
  const int64_t k = blockIdx.x;
  if (k >= range.k) return;
  const int64_t first = k * task.d;
  const long long weight = range.weights[k];
  Space space;
  const size_t used = space.lay_out(reinterpret_cast<std::byte*>(memory), task.d);
  auto* const model = reinterpret_cast<double*>(reinterpret_cast<std::byte*>(memory) + used);
  const int64_t of_cluster = 2 * ValuePair::count(task.d) * task.formats[0].limbs;
  const WordSolveTask common{task.d, task.formats, task.weight_shift, task.linear};
  const WordSolveSums sums{reinterpret_cast<const int64_t*>(range.sums) + k * of_cluster, weight};
  const BlockTeam team;
  if (!WordSolve<Space, BlockTeam>(team, common, sums, space).solve(model)) {
    if (threadIdx.x == 0) atomicExch(&task.ranges.control->unsolved, 1U);
    return;
  }
  for (int j = team.rank(); j < task.d; j += team.size()) {
    store_value(range.before, task.ranges.float64, first + j, model[j]);
  }
}

template <class T>
__device__ double swap_values(const PassRange& range, int64_t first, int count) {
  T* const before = static_cast<T*>(range.before) + first;
  T* const now = static_cast<T*>(const_cast<void*>(range.prototypes)) + first;
  double d2 = 0;
  for (int j = static_cast<int>(threadIdx.x) % 32; j < count; j += 32) {
    const T solved = before[j];
    const double shift = __dsub_rn(static_cast<double>(solved), static_cast<double>(now[j]));
    d2 += __dmul_rn(shift, shift);
    before[j] = now[j];
    now[j] = solved;
  }
  return warp_sum(d2);
}

// A warp a cluster; blockIdx.y is the range.
__global__ void __launch_bounds__(kSwapThreads) swap_kernel(PassRanges ranges, int32_t d) {
  if (stopped(ranges)) return;
  if (*reinterpret_cast<const volatile uint32_t*>(&ranges.control->unsolved) != 0) {
    // A block that sees that the batch has stopped does not do more.
    if (threadIdx.x == 0) ranges.control->stopped = device::kByPass;
    return;
  }
  const PassRange range = ranges.at[blockIdx.y];
  const int64_t k = static_cast<int64_t>(blockIdx.x) * (kSwapThreads / 32) + threadIdx.x / 32;
  if (k >= range.k) return;
  const double d2 = ranges.float64 ? swap_values<double>(range, k * d, d) : swap_values<float>(range, k * d, d);
  if (threadIdx.x % 32 == 0) count_shift(ranges.control->shifts, d2, ranges.counters[blockIdx.y]);
}

template <class Space>
void launch(const ModelSolveTask& task, cudaStream_t stream) {
  const int64_t pairs = int64_t{task.d} * (task.d + 1) / 2;
  const dim3 grid(static_cast<unsigned>(task.ranges.max_clusters), static_cast<unsigned>(task.ranges.count));
  const size_t bytes = solve_bytes(task.words, task.d);
  allow_all_shared_memory(solve_kernel<Space>, "solving for models");
  solve_kernel<Space><<<grid, pairs <= kFewPairs ? 32 : kThreads, bytes, stream>>>(task);
  check_launch("solving for models");
}

}  // namespace

size_t solve_bytes(SolveWords words, int64_t d) {
  const auto columns = static_cast<int>(d);
  const size_t space = words == SolveWords::kFew ? FewWords::bytes(columns) : ManyWords::bytes(columns);
  return space + static_cast<size_t>(d) * sizeof(double);
}

void solve_models(const ModelSolveTask& task, cudaStream_t stream) {
  if (task.words == SolveWords::kFew) {
    launch<FewWords>(task, stream);
  } else {
    launch<ManyWords>(task, stream);
  }
  constexpr int64_t kClusters = kSwapThreads / 32;  // of a block
  const dim3 grid(static_cast<unsigned>((task.ranges.max_clusters + kClusters - 1) / kClusters),
                  static_cast<unsigned>(task.ranges.count));
  swap_kernel<<<grid, kSwapThreads, 0, stream>>>(task.ranges, task.d);
  check_launch("exchanging models");
}

}  // namespace manymeans::cuda
