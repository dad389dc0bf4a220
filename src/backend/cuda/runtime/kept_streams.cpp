#include "backend/cuda/runtime/kept_streams.h"

#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace manymeans::cuda {
namespace {

// Lives until the process ends, as what the driver has of it does.
struct KeptStreams {
  static constexpr size_t kMax = 16;  // of a device

  std::mutex mutex;
  std::map<int, std::vector<cudaStream_t>> of_devices;

  cudaStream_t take(int device) {
    const std::lock_guard lock(mutex);
    const auto found = of_devices.find(device);
    if (found == of_devices.end() || found->second.empty()) return nullptr;
    const cudaStream_t stream = found->second.back();
    found->second.pop_back();
    return stream;
  }
  bool keep(int device, cudaStream_t stream) noexcept {
    const std::lock_guard lock(mutex);
    try {
      std::vector<cudaStream_t>& streams = of_devices[device];
      if (streams.size() >= kMax) return false;
      streams.push_back(stream);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
};

KeptStreams& kept_streams() {
  static auto* const kept = new KeptStreams;
  return *kept;
}

}  // namespace

cudaError_t take_stream(int device, cudaStream_t* stream) {
  *stream = kept_streams().take(device);
  return *stream != nullptr ? cudaSuccess : cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}

// One that has not ended well is not for the next one.
bool keep_done_stream(int device, cudaStream_t stream) noexcept {
  const bool well = cudaStreamQuery(stream) == cudaSuccess;
  if (!well) cudaGetLastError();
  return well && kept_streams().keep(device, stream);
}

}  // namespace manymeans::cuda
