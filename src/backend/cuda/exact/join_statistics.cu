// Bound by memory: each value is read once for every device, and written once. Integers of 64 bits, mod 2^64.
#include "backend/cuda/exact/join_statistics.h"

#include <manymeans/error.h>

#include "backend/cuda/runtime/device_memory.h"

#include <algorithm>
#include <cstdint>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMostOthers = 15;

struct JoinTask {
  const unsigned long long* own[4];
  int64_t ends[4];  // of the pieces, among all values
  const unsigned long long* others[kMostOthers];
  int32_t other_count;
  unsigned long long* to;
};

__global__ void join_kernel(JoinTask task) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < task.ends[3]; i += step) {
    unsigned long long sum = 0;
    int64_t first = 0;
#pragma unroll
    for (int piece = 0; piece < 4; ++piece) {
      if (i >= first && i < task.ends[piece]) sum = task.own[piece][i - first];
      first = task.ends[piece];
    }
    for (int other = 0; other < task.other_count; ++other) sum += task.others[other][i];
    task.to[i] = sum;
  }
}

}  // namespace

void join_statistics(const device::PassKernels::Joining& joining, int multiprocessors, cudaStream_t stream) {
  if (joining.others.size() > kMostOthers) {
    throw Error(ErrorCode::kUsage, "backend", "more than 16 devices cannot share the rows of a fit");
  }
  JoinTask task = {};
  int64_t values = 0;
  for (size_t piece = 0; piece < joining.own.size(); ++piece) {
    task.own[piece] = pointer_to<const unsigned long long>(joining.own[piece].at);
    task.ends[piece] = values += static_cast<int64_t>(joining.own[piece].values);
  }
  for (const device::Address other : joining.others) {
    task.others[task.other_count++] = pointer_to<const unsigned long long>(other);
  }
  task.to = pointer_to<unsigned long long>(joining.to);
  const int64_t blocks = std::clamp<int64_t>((values + kThreads - 1) / kThreads, 1, int64_t{8} * multiprocessors);
  join_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(task);
  check_launch("adding up the devices' statistics");
}

}  // namespace manymeans::cuda
