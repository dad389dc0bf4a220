// Bound by the links between the devices, or by memory: each value is read once, sent to every other device, and read
// there. A kernel that writes into the others' memory takes one launch, where copies take one for each piece and
// device.
#include <manymeans/error.h>

#include "backend/cuda/exact/join_statistics.h"
#include "backend/cuda/runtime/device_memory.h"

#include <algorithm>
#include <cstdint>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMaxOthers = 15;

struct JoinTask {
  const unsigned long long* own[4];
  int64_t ends[4];  // of the pieces, among all values
  unsigned long long* others[kMaxOthers];
  int32_t other_count;
  unsigned long long* sums;
  int64_t values;
};

__device__ unsigned long long own_value(const JoinTask& task, int64_t i) {
  unsigned long long value = 0;
  int64_t first = 0;
#pragma unroll
  for (int piece = 0; piece < 4; ++piece) {
    if (i >= first && i < task.ends[piece]) value = task.own[piece][i - first];
    first = task.ends[piece];
  }
  return value;
}

__global__ void send_kernel(JoinTask task) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < task.values; i += step) {
    const unsigned long long value = own_value(task, i);
    for (int other = 0; other < task.other_count; ++other) task.others[other][i] = value;
  }
}

// Mod 2^64.
__global__ void join_kernel(JoinTask task) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < task.values; i += step) {
    unsigned long long sum = own_value(task, i);
    for (int other = 0; other < task.other_count; ++other) sum += task.others[other][i];
    task.sums[i] = sum;
  }
}

JoinTask task_of(const device::PassKernels::Joining& joining, const std::vector<device::Address>& others) {
  if (others.size() > kMaxOthers) {
    throw Error(ErrorCode::kUsage, "backend", "more than 16 devices cannot share the rows of a fit");
  }
  JoinTask task = {};
  for (size_t piece = 0; piece < joining.own.size(); ++piece) {
    task.own[piece] = pointer_to<const unsigned long long>(joining.own[piece].at);
    task.ends[piece] = task.values += static_cast<int64_t>(joining.own[piece].values);
  }
  for (const device::Address other : others) task.others[task.other_count++] = pointer_to<unsigned long long>(other);
  task.sums = pointer_to<unsigned long long>(joining.sums);
  return task;
}

unsigned blocks_for(const JoinTask& task, int multiprocessors) {
  return static_cast<unsigned>(
      std::clamp<int64_t>((task.values + kThreads - 1) / kThreads, 1, int64_t{8} * multiprocessors));
}

}  // namespace

void send_statistics(const device::PassKernels::Joining& joining, int multiprocessors, cudaStream_t stream) {
  const JoinTask task = task_of(joining, joining.to_others);
  send_kernel<<<blocks_for(task, multiprocessors), kThreads, 0, stream>>>(task);
  check_launch("sending the statistics to other devices");
}

void join_statistics(const device::PassKernels::Joining& joining, int multiprocessors, cudaStream_t stream) {
  const JoinTask task = task_of(joining, joining.from_others);
  join_kernel<<<blocks_for(task, multiprocessors), kThreads, 0, stream>>>(task);
  check_launch("adding up the devices' statistics");
}

}  // namespace manymeans::cuda
