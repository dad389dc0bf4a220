#include "backend/cuda/given_up.h"

#include <manymeans/fit.h>

#include <atomic>
#include <mutex>
#include <vector>

namespace manymeans {
namespace cuda {
namespace {

struct GivenUp {
  GivenUp() { streams.reserve(1024); }  // more would be more sessions than a device takes

  std::mutex mutex;
  std::vector<cudaStream_t> streams;
  std::atomic<bool> any{false};
};

// Never destroyed: memory is freed until the process ends.
GivenUp& given_up() {
  static auto* const kept = new GivenUp;
  return *kept;
}

// Whether it has ended, in whatever way: a device that was reset answers with an error.
bool has_ended(cudaStream_t stream) {
  const cudaError_t status = cudaStreamQuery(stream);
  cudaGetLastError();
  return status != cudaErrorNotReady;
}

}  // namespace

void give_up(cudaStream_t stream) noexcept {
  GivenUp& all = given_up();
  const std::lock_guard lock(all.mutex);
  all.streams.push_back(stream);
  all.any = true;
}

bool devices_answer() noexcept {
  return !given_up().any;
}

bool devices_answer_now() noexcept {
  GivenUp& all = given_up();
  if (!all.any) return true;
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.streams, has_ended);
  all.any = !all.streams.empty();
  return all.streams.empty();
}

}  // namespace cuda

bool devices_answer() {
  return cuda::devices_answer();
}

}  // namespace manymeans
