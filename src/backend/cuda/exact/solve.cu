#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/exact/solve.cuh"
#include "backend/cuda/runtime/dependent_launch.cuh"

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

// The sum over the threads of a warp, or of the block, for the first of them.
template <int kTeam>
__device__ double team_sum(double v) {
  static_assert(kTeam == 32 || kTeam == kThreads);
  v = warp_sum(v);
  if constexpr (kTeam == kThreads) {
    __shared__ double of_warps[kWarps];
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) v += of_warps[warp];
  }
  return v;
}

// A team of threads a cluster: a warp, or a block for many columns.
template <int kTeam>
__global__ void solve_kernel(SolveTask task) {
  await_kernel_before();
  let_next_kernel_come();
  if (stopped(task.ranges)) return;
  const PassRange range = task.ranges.at[blockIdx.y];
  const int64_t k = static_cast<int64_t>(blockIdx.x) * (kThreads / kTeam) + threadIdx.x / kTeam;
  if (k >= range.k) return;  // all of a team
  double d2 = 0;
  for (int64_t j = threadIdx.x % kTeam; j < task.d; j += kTeam) d2 += solve_value(task, range, k, j).squared_shift();
  d2 = team_sum<kTeam>(d2);
  if (threadIdx.x % kTeam == 0) count_shift(task.ranges.control->shifts, d2, task.ranges.counters[blockIdx.y]);
}

// One block, after the updates of all models.
__global__ void judge_update_kernel(PassRanges ranges) {
  await_kernel_before();
  let_next_kernel_come();
  if (stopped(ranges)) return;
  bool last = false;
  for (int r = threadIdx.x; r < ranges.count; r += kThreads) {
    last |= may_be_last(ranges.control->shifts, ranges.counters[r], ranges.at[r].k);
  }
  if (__syncthreads_or(last) != 0 && threadIdx.x == 0) ranges.control->stopped = device::kByUpdate;
}

template <int kTeam>
void launch_solve(const SolveTask& task, cudaStream_t stream) {
  constexpr int64_t kClusters = kThreads / kTeam;  // of a block
  const int64_t blocks = (task.ranges.max_clusters + kClusters - 1) / kClusters;
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(task.ranges.count));
  launch_dependent(solve_kernel<kTeam>, {grid, kThreads, 0, stream}, "solving for prototypes", task);
}

}  // namespace

void solve(const SolveTask& task, cudaStream_t stream) {
  if (task.d < kThreads) {
    launch_solve<32>(task, stream);
  } else {
    launch_solve<kThreads>(task, stream);
  }
}

void judge_update(const PassRanges& ranges, cudaStream_t stream) {
  launch_dependent(judge_update_kernel, {dim3(1), kThreads, 0, stream}, "judging an update", ranges);
}

}  // namespace manymeans::cuda
