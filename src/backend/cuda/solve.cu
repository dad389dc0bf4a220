#include "backend/cuda/device_memory.h"
#include "backend/cuda/limbs.cuh"
#include "backend/cuda/pass_device.cuh"
#include "backend/cuda/solve.h"

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;

// v * 2^e, rounded once: v is 0 or at least 2^-64, so the first product is exact.
__device__ double scaled_once(double v, int e) {
  if (e < -1000) {
    v = scaled_by_power(v, e + 1000);
    e = -1000;
  }
  return scaled_by_power(v, e);
}

// A thread a value.
__global__ void solve_kernel(SolveTask task) {
  if (stopped(task.ranges)) return;
  const PassRange range = task.ranges.at[blockIdx.y];
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= range.k * task.d) return;
  const int64_t k = at / task.d;
  const int64_t j = at - k * task.d;
  const long long weight = range.weights[k];
  if (weight == 0) return;
  const auto* sums = reinterpret_cast<const int64_t*>(range.sums) + k * task.limbs * task.d + j;
  const double sum = device_rounded_sum(sums, task.limbs, task.bits, task.d);
  const double value = scaled_once(__ddiv_rn(sum, __ll2double_rn(weight)), task.shifts[j]);
  auto* prototypes = const_cast<void*>(range.prototypes);
  // + 0: no negative zeros.
  if (task.ranges.float64) {
    static_cast<double*>(prototypes)[at] = __dadd_rn(value, 0.0);
  } else {
    static_cast<float*>(prototypes)[at] = __fadd_rn(__double2float_rn(value), 0.0F);
  }
}

}  // namespace

void solve(const SolveTask& task, cudaStream_t stream) {
  const int64_t values = task.ranges.most_clusters * task.d;
  const dim3 grid(static_cast<unsigned>((values + kThreads - 1) / kThreads), static_cast<unsigned>(task.ranges.count));
  solve_kernel<<<grid, kThreads, 0, stream>>>(task);
  check_launch("solving for prototypes");
}

}  // namespace manymeans::cuda
