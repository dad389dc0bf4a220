// Replaces the CUDA backend where it is not built.
#include <manymeans/error.h>

#include "backend/backend.h"
#include "backend/devices.h"

namespace manymeans {

std::unique_ptr<Backend> make_cuda_backend(const BackendOptions&) {
  throw Error(ErrorCode::kUnavailable, "backend cuda", missing_cuda() + "; use --backend cpu");
}

std::vector<std::string> cuda_devices() {
  return {};
}

int cuda_device_count() {
  return 0;
}

}  // namespace manymeans
