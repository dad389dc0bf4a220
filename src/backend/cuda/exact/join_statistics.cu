// The kernel reads each value from every device once, and writes its sum to every device. The links between the devices
// bound it, or memory. bench/device_exchange.cu compares this with other ways.
#include <manymeans/error.h>

#include "backend/cuda/exact/join_statistics.h"
#include "backend/cuda/runtime/device_memory.h"

#include <algorithm>
#include <cstdint>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMaxMembers = 16;

struct JoinTask {
  int64_t ends[4];  // of the pieces, among all values
  const unsigned long long* own[kMaxMembers][4];
  unsigned long long* sums[kMaxMembers];
  int32_t members;
  int64_t first, last;
};

// Mod 2^64.
__global__ void join_kernel(JoinTask task) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = task.first + static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < task.last; i += step) {
    int piece = 0;
    int64_t begin = 0;
    while (i >= task.ends[piece]) begin = task.ends[piece++];
    unsigned long long sum = 0;
    for (int member = 0; member < task.members; ++member) sum += task.own[member][piece][i - begin];
    for (int member = 0; member < task.members; ++member) task.sums[member][i] = sum;
  }
}

}  // namespace

void join_statistics(const device::PassKernels::Joining& joining, int multiprocessors, cudaStream_t stream) {
  if (joining.members.size() > kMaxMembers) {
    throw Error(ErrorCode::kUsage, "backend", "more than 16 devices cannot share the rows of a fit");
  }
  if (joining.first == joining.last) return;
  JoinTask task = {};
  int64_t values = 0;
  for (size_t piece = 0; piece < joining.values.size(); ++piece) {
    task.ends[piece] = values += static_cast<int64_t>(joining.values[piece]);
  }
  for (const auto& member : joining.members) {
    for (size_t piece = 0; piece < member.own.size(); ++piece) {
      task.own[task.members][piece] = pointer_to<const unsigned long long>(member.own[piece]);
    }
    task.sums[task.members++] = pointer_to<unsigned long long>(member.sums);
  }
  task.first = static_cast<int64_t>(joining.first);
  task.last = static_cast<int64_t>(joining.last);
  const auto blocks =
      std::clamp<int64_t>((task.last - task.first + kThreads - 1) / kThreads, 1, int64_t{8} * multiprocessors);
  join_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(task);
  check_launch("adding up the devices' statistics");
}

}  // namespace manymeans::cuda
