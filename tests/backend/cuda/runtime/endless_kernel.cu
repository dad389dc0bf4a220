#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/endless_kernel.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace manymeans::cuda {
namespace {

__device__ uint64_t nanoseconds() {
  uint64_t now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// Sleeps, so that it does not heat the device.
__global__ void endless_kernel(uint64_t max_nanoseconds) {
  const uint64_t begin = nanoseconds();
  while (nanoseconds() - begin < max_nanoseconds) __nanosleep(10000);
}

// All later calls for the device fail.
__global__ void failing_kernel() {
  __trap();
}

struct Hang {
  std::string place;
  int count = 0;
  uint64_t nanoseconds = ~uint64_t{0};  // 584 years
  bool fails = false;
};

// PLACE:COUNT[:SECONDS], or PLACE:COUNT:lost.
Hang asked_for() {
  Hang hang;
  const char* set = std::getenv("MANYMEANS_TEST_HANG");
  if (set == nullptr) return hang;
  const std::string text = set;
  const size_t count = text.find(':');
  const size_t seconds = text.find(':', count + 1);
  if (count == std::string::npos) return hang;
  hang.place = text.substr(0, count);
  hang.count = std::atoi(text.c_str() + count + 1);
  if (seconds == std::string::npos) return hang;
  hang.fails = text.substr(seconds + 1) == "lost";
  hang.nanoseconds = std::strtoull(text.c_str() + seconds + 1, nullptr, 10) * 1000000000;
  return hang;
}

}  // namespace

void hang_if_asked(std::string_view place, cudaStream_t stream) {
  static const Hang hang = asked_for();
  static std::atomic<int> calls{0};
  if (place != hang.place || ++calls != hang.count) return;
  if (hang.fails) {
    failing_kernel<<<1, 1, 0, stream>>>();
  } else {
    endless_kernel<<<1, 1, 0, stream>>>(hang.nanoseconds);
  }
  check_launch("starting a kernel that hangs");
}

device::Patience::Seconds min_patience() {
  const char* set = std::getenv("MANYMEANS_TEST_PATIENCE");
  return set == nullptr ? Patience::kMin : Patience::Seconds(std::atof(set));
}

}  // namespace manymeans::cuda
