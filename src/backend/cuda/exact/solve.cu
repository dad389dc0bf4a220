#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/exact/solve.cuh"
#include "backend/cuda/runtime/dependent_launch.cuh"

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;

// A thread a value.
__global__ void solve_kernel(SolveTask task) {
  await_kernel_before();
  let_next_kernel_come();
  if (stopped(task.ranges)) return;
  const PassRange range = task.ranges.at[blockIdx.y];
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at < range.k * task.d) solve_value(task, range, at / task.d, at % task.d);
}

}  // namespace

void solve(const SolveTask& task, cudaStream_t stream) {
  const int64_t values = task.ranges.most_clusters * task.d;
  const dim3 grid(static_cast<unsigned>((values + kThreads - 1) / kThreads), static_cast<unsigned>(task.ranges.count));
  launch_dependent(solve_kernel, {grid, kThreads, 0, stream}, "solving for prototypes", task);
}

}  // namespace manymeans::cuda
